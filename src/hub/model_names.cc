// SPDX-License-Identifier: Apache-2.0
#include "hub/model_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace whinchat {
namespace {

// Words that say how a model is stored or served, not which one it is.
constexpr std::array<std::string_view, 19> kStorageWords = {"gguf",
                                                            "int8",
                                                            "int4",
                                                            "bf16",
                                                            "f16",
                                                            "fp16",
                                                            "f32",
                                                            "fp32",
                                                            "fp8",
                                                            "gptq",
                                                            "awq",
                                                            "mlx",
                                                            "w4",
                                                            "w8",
                                                            "instruct",
                                                            "chat",
                                                            "it",
                                                            "latest",
                                                            "safetensors"};

bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "q4_k_m", "iq4_xs", "q8_0" as the part of a name before it is split at '_'.
bool IsGgufQuantization(std::string_view word) {
  if (!word.empty() && word.front() == 'i') {
    word.remove_prefix(1);
  }
  return word.size() >= 2 && word[0] == 'q' && IsDigit(word[1]) &&
         (word.size() == 2 || word[2] == '_');
}

bool IsStorageWord(std::string_view word) {
  return IsGgufQuantization(word) ||
         std::find(kStorageWords.begin(), kStorageWords.end(), word) != kStorageWords.end();
}

std::string LowerBaseName(std::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  if (lower.ends_with(".gguf")) {
    lower.resize(lower.size() - 5);
  }
  return lower;
}

// "0_6b" is "0.6b"; a '.' that is not between digits separates words ("instruct.q4_1").
void NormalizeDots(std::string* name) {
  for (size_t i = 0; i < name->size(); ++i) {
    const bool is_between_digits =
        i > 0 && i + 1 < name->size() && IsDigit((*name)[i - 1]) && IsDigit((*name)[i + 1]);
    if ((*name)[i] == '_' && is_between_digits) {
      const size_t start = name->find_last_of("-:. ", i);
      const std::string_view word =
          std::string_view(*name).substr(start == std::string::npos ? 0 : start + 1);
      (*name)[i] = IsGgufQuantization(word) ? '_' : '.';
    } else if ((*name)[i] == '.' && !is_between_digits) {
      (*name)[i] = '-';
    }
  }
}

// Whether `word` is `family` with a version after it: "qwen" and "qwen3", "llama" and "llama3.2".
bool IsFamilyOf(std::string_view family, std::string_view word) {
  return family.size() < word.size() && word.starts_with(family) && !IsDigit(family.back()) &&
         IsDigit(word[family.size()]);
}

}  // namespace

std::vector<std::string> ModelNameWords(std::string_view name) {
  std::string text = LowerBaseName(name);
  NormalizeDots(&text);
  std::vector<std::string> words;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find_first_of("-: ", start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!word.empty() && !IsStorageWord(word)) {
      words.push_back(word);
    }
    start = end + 1;
  }
  return words;
}

bool ModelNameMatches(std::string_view requested, std::string_view available) {
  if (LowerBaseName(requested) == LowerBaseName(available)) {
    return true;
  }
  const std::vector<std::string> wanted = ModelNameWords(requested);
  const std::vector<std::string> words = ModelNameWords(available);
  const auto is_known = [&](const std::string& want) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word == want || IsFamilyOf(want, word);
    });
  };
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), is_known);
}

}  // namespace whinchat
