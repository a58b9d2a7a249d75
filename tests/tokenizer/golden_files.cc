// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/golden_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "base/mapped_file.h"
#include "checkpoint/gguf.h"
#include "tokenizer/vocab_arrays.h"

namespace whinchat::golden {
namespace {

// Reads little-endian values one after another; throws at the end of the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::string_view Take(size_t num_bytes) {
    if (num_bytes > bytes_.size()) {
      throw std::runtime_error("a golden file is cut");
    }
    const std::string_view taken = bytes_.substr(0, num_bytes);
    bytes_.remove_prefix(num_bytes);
    return taken;
  }
  template <typename Value>
  Value Read() {
    Value value;
    std::memcpy(&value, Take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  void Expect(std::string_view magic) {
    if (Take(magic.size()) != magic) {
      throw std::runtime_error("a golden file is of another kind");
    }
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("can't open " + path.string());
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path GoldenPath(std::string_view file_name) {
  return std::filesystem::path(WHINCHAT_TEST_DATA_DIR "/golden/tokenizer") / file_name;
}

std::filesystem::path TestModelPath(std::string_view file_name) {
  return std::filesystem::path(WHINCHAT_TEST_MODELS_DIR) / file_name;
}

const std::vector<std::string>& Strings() {
  static const std::vector<std::string> strings = [] {
    const std::string bytes = ReadFile(GoldenPath("strings.bin"));
    ByteReader reader(bytes);
    reader.Expect("WTC1");
    std::vector<std::string> result(reader.Read<uint32_t>());
    for (std::string& text : result) {
      const auto count = reader.Read<uint32_t>();
      const std::string_view unit = reader.Take(reader.Read<uint32_t>());
      for (uint32_t i = 0; i < count; ++i) {
        text.append(unit);
      }
    }
    return result;
  }();
  return strings;
}

Hashes ReadHashes(std::string_view file_name) {
  const std::string bytes = ReadFile(GoldenPath(file_name));
  ByteReader reader(bytes);
  reader.Expect("WTH1");
  Hashes hashes;
  for (std::vector<uint64_t>* list : {&hashes.plain, &hashes.as_text}) {
    list->resize(reader.Read<uint32_t>());
    for (uint64_t& hash : *list) {
      hash = reader.Read<uint64_t>();
    }
  }
  return hashes;
}

uint64_t HashIds(std::span<const TokenId> ids) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a over words
  for (const TokenId id : ids) {
    hash = (hash ^ static_cast<uint32_t>(id)) * 0x100000001B3;
  }
  return hash;
}

std::vector<std::string_view> CutDocuments(std::string_view text) {
  constexpr size_t kMinBytes = 4096;
  constexpr size_t kMaxBytes = 65536;
  std::vector<std::string_view> documents;
  size_t size = kMinBytes;
  while (!text.empty()) {
    const size_t line_end = text.find('\n', size);
    documents.push_back(
        text.substr(0, line_end == std::string_view::npos ? line_end : line_end + 1));
    text.remove_prefix(documents.back().size());
    size = size == kMaxBytes ? kMinBytes : size * 2;
  }
  return documents;
}

Tokenizer LoadSmallTokenizer(std::string_view name) {
  const std::string file_name = std::string(name) + ".json";
  return Tokenizer(ParseTokenizerJson(ReadFile(GoldenPath(file_name)), file_name));
}

std::optional<Tokenizer> LoadQwen3() {
  const std::filesystem::path path = TestModelPath("qwen3/tokenizer.json");
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  return Tokenizer(ParseTokenizerJson(ReadFile(path), path.string()));
}

std::optional<Tokenizer> LoadSmolLm2() {
  const std::filesystem::path path = TestModelPath("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  const std::unique_ptr<GgufCheckpoint> file = OpenGguf(path);
  const nlohmann::json& config = file->config();
  return Tokenizer(MakeTokenizerSpec({
      .tokens = file->StringArray("tokenizer.ggml.tokens"),
      .token_type = file->IntArray("tokenizer.ggml.token_type"),
      .merges = file->StringArray("tokenizer.ggml.merges"),
      .model = config.at("tokenizer.ggml.model").get_ref<const std::string&>(),
      .pre = config.at("tokenizer.ggml.pre").get_ref<const std::string&>(),
      .bos_token_id = config.at("tokenizer.ggml.bos_token_id").get<int64_t>(),
      .eos_token_id = config.at("tokenizer.ggml.eos_token_id").get<int64_t>(),
      .add_bos_token = config.at("tokenizer.ggml.add_bos_token").get<bool>(),
  }));
}

}  // namespace whinchat::golden
