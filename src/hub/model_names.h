// SPDX-License-Identifier: Apache-2.0
// One model, many spellings: "Qwen/Qwen3-0.6B", "qwen3:0.6b", "Qwen-0.6B" and "qwen3-0_6b-int8" all
// mean a folder or file called Qwen3-0.6B, whatever its quantization.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace whinchat {

// The words that tell models apart, in lower case: owner, file suffix, quantization and words like
// "instruct" dropped. "Qwen/Qwen3-0.6B-Q4_K_M.gguf" -> {"qwen3", "0.6b"}.
std::vector<std::string> ModelNameWords(std::string_view name);

// Whether `requested` may mean the model called `available`: each of its words is a word of it, a
// family without its version too ("qwen" for "qwen3"). Equal spellings in any case always match.
bool ModelNameMatches(std::string_view requested, std::string_view available);

}  // namespace whinchat
