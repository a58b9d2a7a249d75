// SPDX-License-Identifier: Apache-2.0
// The GGUF reader on a file of the gguf package, and on wrong files of every kind.
#include "checkpoint/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/expect_error.h"
#include "checkpoint/gguf_bytes.h"
#include "checkpoint/gguf_parser.h"
#include "checkpoint/scratch_folder.h"

namespace whinchat {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGoldenFolder = WHINCHAT_TEST_DATA_DIR "/golden/gguf/";

GgufContents Parse(const std::string& bytes) {
  return ParseGguf(std::as_bytes(std::span(bytes)), "model.gguf");
}

void ExpectCorrupt(const GgufBytes& bytes, const std::vector<std::string>& words) {
  ExpectError(ErrorCode::kCorruptFile, words, [&] { Parse(bytes.Make()); });
}

void ExpectUnsupported(const GgufBytes& bytes, const std::vector<std::string>& words) {
  ExpectError(ErrorCode::kUnsupported, words, [&] { Parse(bytes.Make()); });
}

uint64_t Fnv1a(std::span<const std::byte> bytes) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    digest = (digest ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  }
  return digest;
}

// A file with one tensor of 32 fp32 zeros.
GgufBytes MakeSmallFile() {
  GgufBytes bytes;
  bytes.AddString("general.architecture", "llama");
  bytes.AddTensor("weight", {8, 4}, /*type=*/0, /*offset=*/0).SetData(std::string(128, '\0'));
  return bytes;
}

TEST(Gguf, ReadsEveryValueTypeAsThePackageWroteIt) {
  const auto checkpoint = OpenGguf(std::string(kGoldenFolder) + "small.gguf");
  const json expected = json::parse(ReadWholeFile(std::string(kGoldenFolder) + "small.json"));
  ASSERT_GE(expected["config"].size(), 17u);
  for (const auto& [key, value] : expected["config"].items()) {
    ASSERT_TRUE(checkpoint->config().contains(key)) << key;
    EXPECT_EQ(checkpoint->config()[key], value) << key;
  }
  EXPECT_EQ(checkpoint->config()["general.architecture"], "llama");
  EXPECT_EQ(checkpoint->format(), CheckpointFormat::kGguf);
  EXPECT_EQ(checkpoint->ReadSideFile("tokenizer.json"), std::nullopt);
}

TEST(Gguf, ViewsTensorsInPyTorchOrder) {
  const auto checkpoint = OpenGguf(std::string(kGoldenFolder) + "small.gguf");
  const json expected = json::parse(ReadWholeFile(std::string(kGoldenFolder) + "small.json"));
  ASSERT_EQ(checkpoint->tensors().size(), expected["tensors"].size());
  ASSERT_EQ(checkpoint->tensors().size(), 16u);
  for (const json& tensor : expected["tensors"]) {
    const TensorView* view = checkpoint->FindTensor(tensor["name"].get<std::string>());
    ASSERT_NE(view, nullptr) << tensor["name"];
    EXPECT_EQ(view->shape, tensor["shape"].get<std::vector<int64_t>>()) << tensor["name"];
    EXPECT_EQ(DTypeName(view->dtype), tensor["dtype"].get<std::string>());
    EXPECT_EQ(Fnv1a(view->bytes), tensor["fnv1a"].get<uint64_t>()) << tensor["name"];
  }
  EXPECT_EQ(checkpoint->FindTensor("matrix"), nullptr);
}

TEST(Gguf, KeepsLargeArraysOutOfTheConfigAndGivesThemAsViews) {
  const auto checkpoint = OpenGguf(std::string(kGoldenFolder) + "small.gguf");
  EXPECT_FALSE(checkpoint->config().contains("tokenizer.ggml.tokens"));
  const auto tokens = checkpoint->StringArray("tokenizer.ggml.tokens");
  ASSERT_EQ(tokens.size(), 1500u);
  EXPECT_EQ(tokens[0], "token0");
  EXPECT_EQ(tokens[1499], "token1499");
  const auto scores = checkpoint->FloatArray("tokenizer.ggml.scores");
  ASSERT_EQ(scores.size(), 1500u);
  EXPECT_EQ(scores[1499], -1499.0f);
  const auto types = checkpoint->IntArray("tokenizer.ggml.token_type");
  ASSERT_EQ(types.size(), 1500u);
  EXPECT_EQ(types[13], 6);
}

TEST(Gguf, GivesSmallArraysTooAndNothingForAnotherType) {
  const auto checkpoint = OpenGguf(std::string(kGoldenFolder) + "small.gguf");
  EXPECT_THAT(checkpoint->StringArray("test.strings"), ElementsAre("a", "", "漢字"));
  EXPECT_THAT(checkpoint->IntArray("test.ints"), ElementsAre(1, -2, 3));
  EXPECT_THAT(checkpoint->FloatArray("test.floats"), ElementsAre(0.5f, -0.25f));
  EXPECT_THAT(checkpoint->StringArray("test.ints"), IsEmpty());
  EXPECT_THAT(checkpoint->IntArray("test.strings"), IsEmpty());
  EXPECT_THAT(checkpoint->FloatArray("test.bools"), IsEmpty());
  EXPECT_THAT(checkpoint->IntArray("test.string"), IsEmpty());
  EXPECT_THAT(checkpoint->IntArray("no such key"), IsEmpty());
}

TEST(Gguf, FingerprintChangesWithSizeAndTime) {
  const ScratchFolder folder;
  const auto path = folder.Write("model.gguf", MakeSmallFile().Make());
  const std::string before = OpenGguf(path)->Fingerprint();
  EXPECT_EQ(OpenGguf(path)->Fingerprint(), before);
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(2));
  EXPECT_NE(OpenGguf(path)->Fingerprint(), before);
}

TEST(Gguf, ReadsVersion2) {
  GgufBytes bytes = MakeSmallFile();
  bytes.version = 2;
  const std::string file = bytes.Make();
  const GgufContents contents = Parse(file);
  ASSERT_EQ(contents.tensors.size(), 1u);
  EXPECT_THAT(contents.tensors[0].shape, ElementsAre(4, 8));
  EXPECT_EQ(contents.tensors[0].bytes.size(), 128u);
}

TEST(Gguf, HonoursTheAlignmentKey) {
  GgufBytes bytes;
  bytes.alignment = 256;
  bytes.Add("general.alignment", GgufValueType::kUint32, uint32_t{256});
  bytes.AddTensor("a", {1}, 0, 0).AddTensor("b", {1}, 0, 256);
  bytes.SetData(std::string(256, 'a') + "bbbb");
  const std::string file = bytes.Make();
  const GgufContents contents = Parse(file);
  ASSERT_EQ(contents.tensors.size(), 2u);
  EXPECT_EQ(contents.tensors[0].bytes[0], std::byte{'a'});
  EXPECT_EQ(contents.tensors[1].bytes[0], std::byte{'b'});
}

TEST(Gguf, RefusesWrongAlignments) {
  for (const uint32_t alignment : {0u, 4u, 24u, 1u << 25}) {
    GgufBytes bytes = MakeSmallFile();
    bytes.Add("general.alignment", GgufValueType::kUint32, alignment);
    ExpectCorrupt(bytes, {"model.gguf", "general.alignment", "power of two"});
  }
}

TEST(Gguf, OpensAFileWithoutTensors) {
  GgufBytes bytes;
  bytes.AddString("general.architecture", "llama");
  const std::string file = bytes.Make();
  EXPECT_THAT(Parse(file).tensors, IsEmpty());
}

TEST(Gguf, ReplacesInvalidUtf8InTheConfigOnly) {
  GgufBytes bytes;
  bytes.AddString("general.author", "Ren\xe9");
  bytes.AddArray("tokens", GgufValueType::kString, 1, GgufString("\xff"));
  const ScratchFolder folder;
  const auto checkpoint = OpenGguf(folder.Write("model.gguf", bytes.Make()));
  EXPECT_EQ(checkpoint->config()["general.author"], "Ren\xef\xbf\xbd");
  EXPECT_THAT(checkpoint->StringArray("tokens"), ElementsAre("\xff"));
  EXPECT_NO_THROW((void)checkpoint->config().dump());
}

TEST(Gguf, SaysWhatAForeignFileIs) {
  const auto expect = [](const std::string& bytes, const std::string& words) {
    ExpectError(ErrorCode::kCorruptFile, {"model.gguf", words}, [&] { Parse(bytes); });
  };
  expect("", "empty");
  expect("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer");
  expect("<!DOCTYPE html><html></html>", "HTML page");
  expect("\n  <HTML lang=en>", "HTML page");
  expect("{\"error\":\"Repository not found\"}", "server's error message");
  expect(LittleEndian<uint64_t>(2) + "{}  ", "safetensors");
  expect("tjgg\1\0\0\0", "before GGUF");
  expect("PK\3\4....", "zip archive");
  expect(std::string(4096, '\0'), "filled with zeros");
  expect("WHINCHAT", "packed file");
  expect("something else", "not a GGUF file");
}

TEST(Gguf, RefusesOtherVersions) {
  GgufBytes bytes = MakeSmallFile();
  bytes.version = 1;
  ExpectUnsupported(bytes, {"model.gguf", "GGUF version 1"});
  bytes.version = 4;
  ExpectUnsupported(bytes, {"GGUF version 4"});
  bytes.version = 0x03000000;
  ExpectUnsupported(bytes, {"big-endian"});
}

TEST(Gguf, RefusesOnePartOfASplitFile) {
  GgufBytes bytes = MakeSmallFile();
  bytes.Add("split.count", GgufValueType::kUint16, uint16_t{3});
  ExpectUnsupported(bytes, {"3 parts", "--merge"});
  GgufBytes whole = MakeSmallFile();
  whole.Add("split.count", GgufValueType::kUint16, uint16_t{1});
  EXPECT_NO_THROW(Parse(whole.Make()));
}

TEST(Gguf, NamesTensorTypesItDoesNotSupport) {
  GgufBytes bytes;
  bytes.AddTensor("blk.0.attn_q.weight", {256}, /*type=*/16, 0).SetData(std::string(66, '\0'));
  ExpectUnsupported(bytes, {"model.gguf", "blk.0.attn_q.weight", "IQ2_XXS", "not supported"});
  GgufBytes unknown;
  unknown.AddTensor("weight", {256}, /*type=*/99, 0);
  ExpectUnsupported(unknown, {"weight", "unknown ggml type 99"});
}

TEST(Gguf, RefusesCountsTheFileCannotHold) {
  GgufBytes bytes = MakeSmallFile();
  bytes.extra_tensors = int64_t{1} << 60;
  ExpectCorrupt(bytes, {"model.gguf", "tensors", "truncated or damaged"});
  bytes.extra_tensors = 0;
  bytes.extra_pairs = std::numeric_limits<int64_t>::max() - 8;
  ExpectCorrupt(bytes, {"metadata keys"});
}

TEST(Gguf, RefusesLengthsBeyondTheFile) {
  GgufBytes bytes;
  bytes.AddRaw("name", GgufValueType::kString, LittleEndian(~uint64_t{0}) + "x");
  ExpectCorrupt(bytes, {"ends inside", "'name'"});
  for (const uint64_t count : {~uint64_t{0}, uint64_t{1} << 61, uint64_t{1000}}) {
    GgufBytes array;
    array.AddArray("list", GgufValueType::kUint64, count, "12345678");
    ExpectCorrupt(array, {"ends inside", "'list'"});
    GgufBytes strings;
    strings.AddArray("list", GgufValueType::kString, count, GgufString("one"));
    ExpectCorrupt(strings, {"ends inside", "'list'"});
  }
}

TEST(Gguf, RefusesWrongMetadata) {
  ExpectCorrupt(MakeSmallFile().AddString("general.architecture", "qwen3"),
                {"general.architecture", "twice"});
  ExpectCorrupt(GgufBytes().AddString("", "value"), {"metadata key 0", "0 bytes"});
  ExpectCorrupt(GgufBytes().AddString(std::string(70000, 'k'), "value"), {"70000 bytes"});
  ExpectCorrupt(GgufBytes().Add("flag", GgufValueType::kBool, uint8_t{2}), {"'flag'", "bool of 2"});
  ExpectCorrupt(GgufBytes().AddRaw("key", static_cast<GgufValueType>(13), "x"),
                {"'key'", "unknown type 13"});
  ExpectCorrupt(GgufBytes().AddString("k\xffy", "value"), {"metadata key 0 ('k?y')", "not UTF-8"});
  std::string nested;
  for (int i = 0; i < 20; ++i) {
    nested += LittleEndian(uint32_t{9}) + LittleEndian(uint64_t{1});
  }
  ExpectCorrupt(GgufBytes().AddRaw("deep", GgufValueType::kArray, nested),
                {"'deep'", "nested deeper than 8"});
}

TEST(Gguf, RefusesWrongTensorTables) {
  ExpectCorrupt(MakeSmallFile().AddTensor("weight", {8}, 0, 128), {"tensor 'weight' twice"});
  ExpectCorrupt(GgufBytes().AddTensor("", {8}, 0, 0), {"name has 0 bytes"});
  ExpectCorrupt(GgufBytes().AddTensor("w", {1, 1, 1, 1, 1}, 0, 0), {"'w'", "5 dimensions"});
  ExpectCorrupt(GgufBytes().AddTensor("w", {-4}, 0, 0), {"'w'", "impossible shape [-4]"});
  const int64_t huge = int64_t{1} << 40;
  ExpectCorrupt(GgufBytes().AddTensor("w", {huge, huge}, 0, 0), {"'w'", "impossible shape"});
  ExpectCorrupt(GgufBytes().AddTensor("w", {huge << 22}, 0, 0), {"'w'", "impossible shape"});
  ExpectCorrupt(GgufBytes().AddTensor("w", {33}, /*type=*/2, 0),
                {"'w'", "Q4_0", "33 elements", "multiple of 32"});
  ExpectCorrupt(GgufBytes().AddTensor("w", {1}, 0, 8).SetData(std::string(64, '\0')),
                {"'w'", "offset 8", "alignment 32"});
}

TEST(Gguf, RefusesDataBeyondTheFileOrTwice) {
  ExpectCorrupt(MakeSmallFile().SetData(std::string(127, '\0')),
                {"'weight'", "[4, 8]", "128 bytes", "truncated"});
  ExpectCorrupt(MakeSmallFile().AddTensor("other", {1}, 0, 1u << 20), {"'other'", "1048576"});
  ExpectCorrupt(MakeSmallFile().AddTensor("other", {1}, 0, ~uint64_t{31}), {"'other'"});
  ExpectCorrupt(MakeSmallFile().AddTensor("other", {1}, 0, 96), {"'weight'", "'other'", "overlap"});
}

TEST(Gguf, KeepsControlCharactersOutOfMessages) {
  ExpectCorrupt(GgufBytes().AddTensor("\x1b[31mred\n", {33}, 2, 0), {"'?[31mred?'"});
}

TEST(Gguf, SaysWhenThereIsNoFile) {
  ExpectError(
      ErrorCode::kNotFound, {"/no/such/model.gguf"}, [] { OpenGguf("/no/such/model.gguf"); });
}

}  // namespace
}  // namespace whinchat
