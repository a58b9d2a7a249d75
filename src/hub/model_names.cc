// SPDX-License-Identifier: Apache-2.0
#include "hub/model_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace whinchat {
namespace {

// Words that say how the weights are stored, not which model they are.
constexpr std::array kStorageWords = {
    "int8", "int4", "w8",  "w4",   "fp16", "f16",    "fp32",    "f32",         "bf16",
    "gguf", "gptq", "awq", "8bit", "4bit", "q2",     "q3",      "q4",          "q5",
    "q6",   "q8",   "iq4", "k",    "s",    "m",      "l",       "safetensors", "packed",
    "xs",   "nl",   "0",   "1",    "hf",   "latest", "whinchat"};
// Words that say which tuning: the short name of a model leaves them out.
constexpr std::array kTuningWords = {"instruct", "chat", "it"};
// After these a word of kStorageWords such as "k", "m" or "0" belongs to the storage.
constexpr std::array kFormatWords = {"q2", "q3", "q4", "q5", "q6", "q8", "iq4"};

bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

template <typename Words>
bool IsOneOf(std::string_view word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '-') {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) {
    if (!word.empty()) {
      joined += joined.empty() ? word : "-" + word;
    }
  }
  return joined;
}

// "0_6b" and "0.6b" are one number; every other mark between words is one separator.
std::string Normalize(std::string_view name) {
  std::string text(name);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_between_digits =
        i > 0 && i + 1 < text.size() && IsDigit(text[i - 1]) && IsDigit(text[i + 1]);
    if (c == '.' || c == '_') {
      text[i] = is_between_digits ? '.' : '-';
    } else if (c == ':' || c == ' ') {
      text[i] = '-';
    } else {
      text[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return text;
}

// Which number of trailing words names the storage: "q4-k-m", "int8", "q8.0", "gptq-int8".
size_t CountStorageWords(const std::vector<std::string>& words) {
  size_t num_accepted = 0;
  for (size_t n = 1; n < words.size(); ++n) {
    const std::string& word = words[words.size() - n];
    const std::string stem = word.substr(0, word.find('.'));
    if (!IsOneOf(stem, kStorageWords)) {
      break;
    }
    // "k", "m", "0" alone name nothing; they wait for the "q4" before them.
    if (stem.size() > 2 || IsOneOf(stem, kFormatWords) || stem == "w8" || stem == "w4" ||
        stem == "hf") {
      num_accepted = n;
    }
  }
  return num_accepted;
}

std::string WithoutTuning(const std::string& canonical) {
  std::vector<std::string> words = SplitWords(canonical);
  while (words.size() > 1 && IsOneOf(words.back(), kTuningWords)) {
    words.pop_back();
  }
  return JoinWords(words);
}

// "qwen3-0.6b" -> "qwen-0.6b": people leave the version out.
std::string WithoutVersion(const std::string& canonical) {
  std::vector<std::string> words = SplitWords(canonical);
  std::string& family = words.front();
  const size_t letters =
      static_cast<size_t>(std::find_if(family.begin(), family.end(), IsDigit) - family.begin());
  if (letters == 0 || words.size() < 2) {
    return canonical;
  }
  family.resize(letters);
  return JoinWords(words);
}

}  // namespace

std::string CanonicalModelName(std::string_view name) {
  const size_t slash = name.find_last_of('/');
  if (slash != std::string_view::npos && slash + 1 < name.size()) {
    name.remove_prefix(slash + 1);
  }
  std::vector<std::string> words = SplitWords(Normalize(name));
  words.resize(words.size() - CountStorageWords(words));
  return JoinWords(words);
}

std::set<std::string, std::less<>> ModelNameSpellings(std::string_view name) {
  const std::string canonical = CanonicalModelName(name);
  const std::string short_name = WithoutTuning(canonical);
  return {canonical, short_name, WithoutVersion(canonical), WithoutVersion(short_name)};
}

bool ModelNameMatches(std::string_view requested, std::string_view available) {
  return !requested.empty() &&
         ModelNameSpellings(available).contains(CanonicalModelName(requested));
}

}  // namespace whinchat
