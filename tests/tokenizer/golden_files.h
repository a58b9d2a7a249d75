// SPDX-License-Identifier: Apache-2.0
// Reads the files that python/golden/make_tokenizer_golden.py writes, and what
// tools/fetch_test_models.py fetches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/tokenizer.h"

namespace whinchat::golden {

// Sanitizers are ten times as slow: there only every eighth document and range of code points is
// compared. The counts that the tests print are of what was compared.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr size_t kStride = 8;
#else
inline constexpr size_t kStride = 1;
#endif

std::string ReadFile(const std::filesystem::path& path);
std::filesystem::path GoldenPath(std::string_view file_name);
std::filesystem::path TestModelPath(std::string_view file_name);

// The strings the tokenizers are compared on, repetitions written out.
const std::vector<std::string>& Strings();

struct Hashes {
  std::vector<uint64_t> plain;    // special tokens parsed, none added
  std::vector<uint64_t> as_text;  // special tokens left as text, BOS and EOS added
};
Hashes ReadHashes(std::string_view file_name);

uint64_t HashIds(std::span<const TokenId> ids);

// The documents of text/django.txt: 4 KB to 64 KB each, cut behind a line's end.
std::vector<std::string_view> CutDocuments(std::string_view text);

// One of the small tokenizers that are committed.
Tokenizer LoadSmallTokenizer(std::string_view name);
// Qwen3's tokenizer.json and SmolLM2's GGUF; nothing if they were not fetched.
std::optional<Tokenizer> LoadQwen3();
std::optional<Tokenizer> LoadSmolLm2();

}  // namespace whinchat::golden
