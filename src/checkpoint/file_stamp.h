// SPDX-License-Identifier: Apache-2.0
// What tells that a file may have changed, without reading it.
#pragma once

#include <filesystem>
#include <string>

namespace whinchat {

// "<name>:<bytes>:<mtime in ns>". Throws Error{kNotFound or kIo} if the system refuses.
std::string FileStamp(const std::filesystem::path& path);

}  // namespace whinchat
