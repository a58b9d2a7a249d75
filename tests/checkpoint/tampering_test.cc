// SPDX-License-Identifier: Apache-2.0
// Small files of each format, cut at every length and with every byte of their head changed: each
// must open or throw an Error, and never crash. What opens is read to its last byte, so that a view
// that leaves the file shows under AddressSanitizer: the bytes stand in a buffer of their own size.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/gguf_bytes.h"
#include "checkpoint/gguf_parser.h"
#include "checkpoint/packed_format.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/scratch_folder.h"

namespace whinchat {
namespace {

constexpr const char* kGolden = WHINCHAT_TEST_DATA_DIR "/golden/";

using Parser = std::function<uint64_t(std::span<const std::byte>)>;

uint64_t SumBytes(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const std::byte byte : bytes) {
    sum += static_cast<uint64_t>(byte);
  }
  return sum;
}

uint64_t ReadGguf(std::span<const std::byte> bytes) {
  const GgufContents contents = ParseGguf(bytes, "model.gguf");
  uint64_t sum = contents.config.dump().size();
  for (const TensorView& tensor : contents.tensors) {
    sum += SumBytes(tensor.bytes);
  }
  for (const GgufArray& array : contents.arrays) {
    sum += SumBytes(array.bytes);
  }
  return sum;
}

uint64_t ReadSafetensors(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const TensorView& tensor : ParseSafetensors(bytes, "model.safetensors")) {
    sum += SumBytes(tensor.bytes);
  }
  return sum;
}

uint64_t ReadPacked(std::span<const std::byte> bytes) {
  const PackedContents contents = ParsePackedFile(bytes, "model.packed");
  uint64_t sum = contents.config.dump().size();
  for (const PackedTensor& tensor : contents.tensors) {
    sum += SumBytes(tensor.bytes);
  }
  return sum;
}

struct Outcome {
  int num_opened = 0;
  int num_refused = 0;
};

// Any exception but Error fails the test by leaving it.
void Try(const Parser& parse, const std::string& bytes, Outcome& outcome) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), copy.get());
  try {
    parse({copy.get(), bytes.size()});
    ++outcome.num_opened;
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    ++outcome.num_refused;
  }
}

Outcome CutEverywhere(const Parser& parse, const std::string& bytes) {
  Outcome outcome;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Try(parse, bytes.substr(0, size), outcome);
  }
  return outcome;
}

Outcome ChangeEveryByte(const Parser& parse, const std::string& bytes, size_t num_head_bytes) {
  Outcome outcome;
  for (size_t i = 0; i < num_head_bytes; ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ mask);
      Try(parse, changed, outcome);
    }
  }
  return outcome;
}

// One of everything, in little room: each tamper copies the file.
std::string SmallGguf() {
  GgufBytes bytes;
  bytes.AddString("general.architecture", "llama");
  bytes.Add("general.alignment", GgufValueType::kUint32, uint32_t{32});
  bytes.Add("a", GgufValueType::kBool, uint8_t{1});
  bytes.Add("b", GgufValueType::kFloat64, 0.5);
  bytes.Add("c", GgufValueType::kInt16, int16_t{-3});
  bytes.AddArray(
      "tokens", GgufValueType::kString, 3, GgufString("one") + GgufString("") + GgufString("\xff"));
  bytes.AddArray("ints", GgufValueType::kInt32, 2, LittleEndian<int64_t>(7));
  bytes.AddArray("nested",
                 GgufValueType::kArray,
                 2,
                 LittleEndian<uint32_t>(0) + LittleEndian<uint64_t>(2) + "xy" +
                     LittleEndian<uint32_t>(8) + LittleEndian<uint64_t>(1) + GgufString("z"));
  bytes.AddTensor("matrix", {8, 2}, /*type=*/0, 0);
  bytes.AddTensor("blocks", {32, 2}, /*type=*/2, 64);
  return bytes.SetData(std::string(64 + 36, 'd')).Make();
}

TEST(Tampering, CutOrChangedGgufNeverCrashes) {
  const std::string bytes = SmallGguf();
  Outcome whole;
  Try(ReadGguf, bytes, whole);
  ASSERT_EQ(whole.num_opened, 1);
  EXPECT_EQ(CutEverywhere(ReadGguf, bytes).num_opened, 0);
  const Outcome changed = ChangeEveryByte(ReadGguf, bytes, bytes.size() - 100);
  EXPECT_GT(changed.num_refused, 500);
  EXPECT_GT(changed.num_opened, 100);  // a changed name or value is a right file
}

TEST(Tampering, CutGgufOfThePackageNeverCrashes) {
  const std::string bytes = ReadWholeFile(std::string(kGolden) + "gguf/small.gguf");
  Outcome outcome;
  for (size_t size = 0; size < bytes.size(); size += 61) {
    Try(ReadGguf, bytes.substr(0, size), outcome);
  }
  EXPECT_EQ(outcome.num_opened, 0);
  EXPECT_GT(outcome.num_refused, 700);
}

TEST(Tampering, CutOrChangedSafetensorsNeverCrashes) {
  const std::string bytes =
      ReadWholeFile(std::string(kGolden) + "safetensors/single/model.safetensors");
  Outcome whole;
  Try(ReadSafetensors, bytes, whole);
  ASSERT_EQ(whole.num_opened, 1);
  EXPECT_EQ(CutEverywhere(ReadSafetensors, bytes).num_opened, 0);
  const size_t header_bytes =
      8 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  ASSERT_LT(header_bytes, bytes.size());
  const Outcome changed = ChangeEveryByte(ReadSafetensors, bytes, header_bytes);
  EXPECT_GT(changed.num_refused, 1000);
}

TEST(Tampering, ChangedPackedFileUnderARightChecksumNeverCrashes) {
  const ScratchFolder folder;
  const PackedTensorPlan plan = {
      .name = "w", .type = PackedType::kW8G32, .n = 16, .k = 32, .bytes = 64 + 512};
  WritePackedFile(
      folder.path() / "p", "f", {{"a", {1, 2}}}, {plan}, [](size_t, std::span<std::byte>) {});
  const std::string bytes = ReadWholeFile(folder.path() / "p");
  PackedHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  Outcome outcome;
  for (size_t i = 0; i < header.json_bytes; ++i) {
    std::string changed = bytes;
    changed[sizeof(header) + i] = static_cast<char>(changed[sizeof(header) + i] ^ 1);
    const auto text = std::as_bytes(std::span(changed)).subspan(sizeof(header), header.json_bytes);
    const uint64_t checksum = Checksum(text);
    std::memcpy(
        changed.data() + offsetof(PackedHeader, json_checksum), &checksum, sizeof(checksum));
    Try(ReadPacked, changed, outcome);
  }
  EXPECT_GT(outcome.num_refused, 50);
  EXPECT_GT(outcome.num_opened, 10);
}

}  // namespace
}  // namespace whinchat
