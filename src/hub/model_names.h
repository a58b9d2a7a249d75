// SPDX-License-Identifier: Apache-2.0
// One model, many spellings: "Qwen/Qwen3-0.6B", "qwen3:0.6b", "Qwen-0.6B" and "qwen3-0_6b-int8" all
// mean a folder or file called Qwen3-0.6B, whatever its quantization.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace whinchat {

// Lower case; no owner, no file extension, no suffix that names a quantization; one separator:
// "Qwen/Qwen3-0.6B-GGUF" -> "qwen3-0.6b", "qwen3:0_6b-int8" -> "qwen3-0.6b".
std::string CanonicalModelName(std::string_view name);

// The canonical names a model answers to: its own, without "instruct" and its like, without the
// family's version ("qwen-0.6b").
std::set<std::string, std::less<>> ModelNameSpellings(std::string_view name);

// Whether `requested` is a spelling of the model called `available`. An empty name is none.
bool ModelNameMatches(std::string_view requested, std::string_view available);

}  // namespace whinchat
