// SPDX-License-Identifier: Apache-2.0
// Encoding speed on given texts, whole and in strings of 200 characters, and the time to load.
//   tokenizer_bench TOKENIZER_JSON TEXT... [google-benchmark flags]
// compare_tokenizers.py fetches the texts and sets other tokenizers beside it.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

constexpr size_t kShortCharacters = 200;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("can't open " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string_view> CutIntoStrings(std::string_view text) {
  std::vector<std::string_view> strings;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    for (size_t i = 0; i < kShortCharacters && end < text.size(); ++i) {
      end += static_cast<size_t>(DecodeUtf8Character(text.substr(end)).num_bytes);
    }
    strings.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return strings;
}

void EncodeStrings(benchmark::State& state,
                   const Tokenizer& tokenizer,
                   const std::vector<std::string_view>& strings) {
  int64_t num_bytes = 0;
  int64_t num_tokens = 0;
  for (auto _ : state) {
    for (const std::string_view text : strings) {
      num_tokens += static_cast<int64_t>(tokenizer.Encode(text).size());
      num_bytes += static_cast<int64_t>(text.size());
    }
  }
  state.SetBytesProcessed(num_bytes);
  state.SetItemsProcessed(num_tokens);
}

void LoadTokenizer(benchmark::State& state, const std::string& json) {
  for (auto _ : state) {
    const Tokenizer tokenizer(ParseTokenizerJson(json, "tokenizer.json"));
    benchmark::DoNotOptimize(tokenizer.vocab_size());
  }
}

int Run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s TOKENIZER_JSON TEXT...\n", argv[0]);
    return 2;
  }
  const std::string json = ReadFile(argv[1]);
  const Tokenizer tokenizer(ParseTokenizerJson(json, argv[1]));
  std::vector<std::string> texts;
  for (int i = 2; i < argc; ++i) {
    texts.push_back(ReadFile(argv[i]));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = std::filesystem::path(argv[i + 2]).stem().string();
    benchmark::RegisterBenchmark((name + "/document").c_str(),
                                 EncodeStrings,
                                 std::cref(tokenizer),
                                 std::vector<std::string_view>{texts[i]});
    benchmark::RegisterBenchmark(
        (name + "/strings").c_str(), EncodeStrings, std::cref(tokenizer), CutIntoStrings(texts[i]));
  }
  benchmark::RegisterBenchmark("load", LoadTokenizer, std::cref(json))
      ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace whinchat

int main(int argc, char** argv) {
  try {
    return whinchat::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenizer_bench: %s\n", error.what());
    return 1;
  }
}
