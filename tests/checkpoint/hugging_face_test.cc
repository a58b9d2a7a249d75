// SPDX-License-Identifier: Apache-2.0
// Hugging Face folders: those the safetensors package wrote, and folders with something missing,
// contradictory or hostile in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/expect_error.h"
#include "checkpoint/gguf_bytes.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/scratch_folder.h"

namespace whinchat {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGoldenFolder = WHINCHAT_TEST_DATA_DIR "/golden/safetensors/";

uint64_t Fnv1a(std::span<const std::byte> bytes) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    digest = (digest ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  }
  return digest;
}

DType DTypeOfTorch(const std::string& name) {
  if (name == "bfloat16") {
    return DType::kBF16;
  }
  if (name == "float16") {
    return DType::kF16;
  }
  if (name == "int8") {
    return DType::kI8;
  }
  if (name == "int32") {
    return DType::kI32;
  }
  return name == "int64" ? DType::kI64 : DType::kF32;
}

std::string Safetensors(const std::string& header, size_t data_bytes) {
  return LittleEndian<uint64_t>(header.size()) + header + std::string(data_bytes, '\x01');
}

// A file with one fp32 tensor [2] of the given name.
std::string SmallFile(const std::string& tensor) {
  return Safetensors(R"({")" + tensor + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                     8);
}

void ExpectRefused(ErrorCode code,
                   const std::string& bytes,
                   const std::vector<std::string>& words) {
  ExpectError(
      code, words, [&] { ParseSafetensors(std::as_bytes(std::span(bytes)), "model.safetensors"); });
}

void ExpectCorruptHeader(const std::string& header,
                         const std::vector<std::string>& words,
                         size_t data_bytes = 8) {
  ExpectRefused(ErrorCode::kCorruptFile, Safetensors(header, data_bytes), words);
}

void ExpectRefusedFolder(ErrorCode code,
                         const std::filesystem::path& path,
                         const std::vector<std::string>& words) {
  ExpectError(code, words, [&] { OpenCheckpoint(path); });
}

class GoldenFolders : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All,
                         GoldenFolders,
                         testing::Values("single",
                                         "single/config.json",
                                         "single/model.safetensors",
                                         "sharded",
                                         "sharded/model.safetensors.index.json",
                                         "sharded/model-00002-of-00002.safetensors"));

TEST_P(GoldenFolders, HoldWhatThePackageWrote) {
  const auto checkpoint = OpenCheckpoint(std::string(kGoldenFolder) + GetParam());
  const json golden = json::parse(ReadWholeFile(std::string(kGoldenFolder) + "contents.json"));
  EXPECT_EQ(checkpoint->format(), CheckpointFormat::kHuggingFace);
  EXPECT_EQ(checkpoint->config()["hidden_size"], 8);
  ASSERT_EQ(checkpoint->tensors().size(), golden["tensors"].size());
  for (const json& expected : golden["tensors"]) {
    const TensorView* tensor = checkpoint->FindTensor(expected["name"].get<std::string>());
    ASSERT_NE(tensor, nullptr) << expected["name"];
    EXPECT_EQ(tensor->dtype, DTypeOfTorch(expected["dtype"])) << expected["name"];
    EXPECT_EQ(tensor->shape, expected["shape"].get<std::vector<int64_t>>()) << expected["name"];
    EXPECT_EQ(Fnv1a(tensor->bytes), expected["fnv1a"].get<uint64_t>()) << expected["name"];
  }
}

TEST(HuggingFace, ReadsSideFilesOfItsOwnFolderOnly) {
  const ScratchFolder folder;
  folder.Write("outside.json", "secret");
  folder.Write("model/config.json", "{}");
  folder.Write("model/model.safetensors", SmallFile("w"));
  folder.Write("model/tokenizer.json", "{\"version\":\"1.0\"}");
  folder.Write("model/chat_template.jinja", "version https://git-lfs.github.com/spec/v1\n");
  const auto checkpoint = OpenCheckpoint(folder.path() / "model");
  EXPECT_EQ(checkpoint->ReadSideFile("tokenizer.json"), "{\"version\":\"1.0\"}");
  EXPECT_EQ(checkpoint->ReadSideFile("generation_config.json"), std::nullopt);
  EXPECT_EQ(checkpoint->ReadSideFile("../outside.json"), std::nullopt);
  EXPECT_EQ(checkpoint->ReadSideFile(""), std::nullopt);
  EXPECT_EQ(checkpoint->ReadSideFile(".."), std::nullopt);
  ExpectError(ErrorCode::kCorruptFile, {"chat_template.jinja", "Git LFS pointer"}, [&] {
    (void)checkpoint->ReadSideFile("chat_template.jinja");
  });
}

TEST(HuggingFace, FingerprintChangesWithEachFile) {
  const ScratchFolder folder;
  const auto config = folder.Write("config.json", "{}");
  const auto weights = folder.Write("model.safetensors", SmallFile("w"));
  const std::string before = OpenCheckpoint(folder.path())->Fingerprint();
  EXPECT_EQ(OpenCheckpoint(folder.path())->Fingerprint(), before);
  folder.Write("config.json", "{} ");
  const std::string after_config = OpenCheckpoint(folder.path())->Fingerprint();
  EXPECT_NE(after_config, before);
  std::filesystem::last_write_time(
      weights, std::filesystem::last_write_time(weights) + std::chrono::seconds(2));
  EXPECT_NE(OpenCheckpoint(folder.path())->Fingerprint(), after_config);
}

TEST(HuggingFace, TakesTheOnlySafetensorsFileWhateverItsName) {
  const ScratchFolder folder;
  folder.Write("config.json", "{}");
  folder.Write("model-00001-of-00001.safetensors", SmallFile("w"));
  EXPECT_EQ(OpenCheckpoint(folder.path())->tensors().size(), 1u);
  const auto other = folder.Write("other.safetensors", SmallFile("v"));
  ExpectRefusedFolder(
      ErrorCode::kNotFound, folder.path(), {"2 safetensors files", "model.safetensors.index.json"});
  EXPECT_EQ(OpenCheckpoint(other)->tensors()[0].name, "v");
}

TEST(HuggingFace, NamesWhatIsMissing) {
  const ScratchFolder folder;
  ExpectRefusedFolder(ErrorCode::kNotFound, folder.path() / "none", {"none", "no model"});
  ExpectRefusedFolder(ErrorCode::kNotFound, folder.path(), {"no config.json"});
  folder.Write("config.json", "{}");
  ExpectRefusedFolder(ErrorCode::kNotFound, folder.path(), {"no weights", "model.safetensors"});
  folder.Write("pytorch_model.bin", "PK\3\4");
  ExpectRefusedFolder(
      ErrorCode::kUnsupported, folder.path(), {"pytorch_model.bin", "save_pretrained"});
  folder.Write("model.safetensors.index.json",
               R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  folder.Write("one.safetensors", SmallFile("a"));
  ExpectRefusedFolder(ErrorCode::kNotFound, folder.path(), {"two.safetensors' is missing", "'b'"});
  folder.Write("two.safetensors", SmallFile("c"));
  ExpectRefusedFolder(ErrorCode::kCorruptFile, folder.path(), {"two.safetensors", "no tensor 'b'"});
  folder.Write("two.safetensors", SmallFile("a"));
  ExpectRefusedFolder(ErrorCode::kCorruptFile, folder.path(), {"'a'", "another file"});
  folder.Write("two.safetensors", SmallFile("b"));
  EXPECT_EQ(OpenCheckpoint(folder.path())->tensors().size(), 2u);
}

TEST(HuggingFace, RefusesWrongIndexes) {
  const ScratchFolder folder;
  folder.Write("config.json", "{}");
  const auto expect = [&](const std::string& index, const std::vector<std::string>& words) {
    folder.Write("model.safetensors.index.json", index);
    ExpectRefusedFolder(ErrorCode::kCorruptFile, folder.path(), words);
  };
  expect(R"({"weight_map":{"a":"../../etc/passwd"}})", {"index.json", "no file of its own folder"});
  expect(R"({"weight_map":{"a":"/etc/passwd"}})", {"no file of its own folder"});
  expect(R"({"weight_map":{"a":3}})", {"'a'"});
  expect(R"({"weight_map":{"a":"x","a":"y"}})", {"'a' twice"});
  expect(R"({"weight_map":{}})", {"weight_map"});
  expect("[]", {"weight_map"});
  expect("{", {"index.json", "not valid JSON", "line 1"});
}

TEST(HuggingFace, RefusesWrongConfigs) {
  const ScratchFolder folder;
  folder.Write("model.safetensors", SmallFile("w"));
  const auto expect = [&](const std::string& config, const std::vector<std::string>& words) {
    folder.Write("config.json", config);
    ExpectRefusedFolder(ErrorCode::kCorruptFile, folder.path(), words);
  };
  expect("", {"config.json", "empty"});
  expect("{\"a\": 1,\n}", {"config.json", "not valid JSON", "line 2"});
  expect("[1]", {"one JSON object"});
  expect("{\"a\":\"\xff\"}", {"not valid JSON"});
  expect("{\"a\":1e999}", {"not valid JSON"});
  expect("version https://git-lfs.github.com/spec/v1\n", {"Git LFS pointer"});
  expect("<!DOCTYPE html>", {"HTML page"});
  expect("{\"a\":" + std::string(100'000, '['), {"deeper than 64"});
  folder.Write("config.json", R"({"a":1,"a":2})");
  EXPECT_EQ(OpenCheckpoint(folder.path())->config()["a"], 2);
}

TEST(HuggingFace, OpensAFolderWithOneGgufFile) {
  const ScratchFolder folder;
  const std::string gguf = GgufBytes().AddString("general.architecture", "llama").Make();
  folder.Write("a.gguf", gguf);
  EXPECT_EQ(OpenCheckpoint(folder.path())->format(), CheckpointFormat::kGguf);
  folder.Write("b.GGUF", gguf);
  ExpectRefusedFolder(ErrorCode::kInvalidArgument, folder.path(), {"2 GGUF files", "a.gguf"});
  EXPECT_EQ(OpenCheckpoint(folder.path() / "b.GGUF")->format(), CheckpointFormat::kGguf);
  EXPECT_EQ(OpenCheckpoint(folder.Write("sha256-1234", gguf))->format(), CheckpointFormat::kGguf);
}

TEST(HuggingFace, SaysWhatAForeignFileIs) {
  const ScratchFolder folder;
  ExpectRefusedFolder(
      ErrorCode::kUnsupported, folder.Write("model.bin", "PK\3\4"), {"model.bin", "zip archive"});
  ExpectRefusedFolder(ErrorCode::kUnsupported,
                      folder.Write("notes.txt", "hello"),
                      {"notes.txt", "not a model file"});
}

TEST(Safetensors, ViewsTensorsInTheOrderOfTheirData) {
  const std::string bytes = Safetensors(
      R"({"b":{"dtype":"I8","shape":[3],"data_offsets":[4,7]},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  )",
      7);
  const auto tensors = ParseSafetensors(std::as_bytes(std::span(bytes)), "model.safetensors");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_THAT(tensors[0].shape, IsEmpty());
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_THAT(tensors[1].shape, ElementsAre(3));
}

TEST(Safetensors, RefusesWrongHeaders) {
  ExpectRefused(ErrorCode::kCorruptFile, "", {"model.safetensors", "empty"});
  ExpectRefused(ErrorCode::kCorruptFile, "version https://git-lfs", {"Git LFS pointer"});
  ExpectRefused(ErrorCode::kCorruptFile, "GGUF\3\0\0\0........", {"a GGUF file"});
  ExpectRefused(ErrorCode::kCorruptFile,
                LittleEndian<uint64_t>(~uint64_t{0}) + "{}",
                {"18446744073709551615 bytes", "at most 100000000"});
  ExpectRefused(ErrorCode::kCorruptFile,
                LittleEndian<uint64_t>(1000) + "{}",
                {"ends inside the safetensors header"});
  ExpectCorruptHeader("{", {"not valid JSON"});
  ExpectCorruptHeader("{}x", {"not valid JSON"});
  ExpectCorruptHeader("{\"w\":" + std::string(1000, '['), {"'w'", "list"});
  ExpectCorruptHeader(R"({"w":null})", {"'w'", "null"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[2]}})", {"'w'", "data_offsets"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
                      {"two data_offsets"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})",
                      {"unexpected number"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
                      {"'w'", "negative"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", {"fraction"});
  ExpectCorruptHeader(R"({"w":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})",
                      {"unexpected number"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","size":[2],"data_offsets":[0,8]}})",
                      {"unknown key 'size'"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}})",
                      {"'dtype' twice"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                      R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                      {"tensor 'w' twice"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})",
                      {"impossible shape"});
}

TEST(Safetensors, RefusesDataThatDoNotFit) {
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
                      {"'w' [3]", "F32", "8 bytes"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
                      {"'w' [4]", "end at 16", "truncated"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      {"must start at 0"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
                      {"must start at 0"});
  ExpectCorruptHeader(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                      {"8 bytes of data", "fill 4"});
  ExpectCorruptHeader(R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                      R"("w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      {"'w'", "must start at 8"});
  ExpectCorruptHeader(
      R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
      {"'w'", "does not fill"});
  ExpectCorruptHeader(
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})",
      {"'w'", "truncated"});
}

TEST(Safetensors, NamesDTypesItDoesNotSupport) {
  ExpectRefused(ErrorCode::kUnsupported,
                Safetensors(R"({"w":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", 8),
                {"model.safetensors", "'w'", "F8_E4M3"});
}

}  // namespace
}  // namespace whinchat
