// SPDX-License-Identifier: Apache-2.0
// Words for bytes that are not what a file's name promises: the download that turned out to be a
// web page, a Git LFS pointer or another format. Used in the error messages of every reader.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace whinchat {

// What `bytes` are and what to do, to follow "is": "an HTML page, not a model: download the file
// itself". "not a <expected> file" if they are nothing known.
std::string DescribeForeignBytes(std::span<const std::byte> bytes, std::string_view expected);

// A name out of a file, fit for a message: control characters become '?', long names are cut.
std::string PrintableName(std::string_view name);

}  // namespace whinchat
