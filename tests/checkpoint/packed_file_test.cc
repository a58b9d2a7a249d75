// SPDX-License-Identifier: Apache-2.0
// Packed files: round trip, every contradiction a damaged file can have, and what is left on disk
// when writing fails or the process is killed.
#include "checkpoint/packed_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/expect_error.h"
#include "checkpoint/packed_format.h"
#include "checkpoint/scratch_folder.h"

namespace whinchat {
namespace {

using nlohmann::json;

PackedTensorPlan Plan(const std::string& name, PackedType type, int n, int k) {
  PackedTensorPlan plan = {.name = name, .type = type, .is_vector = false, .n = n, .k = k};
  plan.bytes = PackedTensorBytes(plan).value_or(0);
  return plan;
}

PackedTensorPlan VectorPlan(const std::string& name, int k) {
  return {.name = name,
          .type = PackedType::kF32,
          .is_vector = true,
          .n = 1,
          .k = k,
          .bytes = static_cast<size_t>(k) * sizeof(float)};
}

std::vector<PackedTensorPlan> SmallPlans() {
  return {VectorPlan("norm", 40),
          Plan("w8", PackedType::kW8G32, 20, 64),
          Plan("w4_min", PackedType::kW4G32Min, 16, 32),
          Plan("w4", PackedType::kW4, 17, 96),
          Plan("f32", PackedType::kF32, 3, 5)};
}

void FillWithIndex(size_t tensor_idx, std::span<std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(tensor_idx * 31 + i * 7);
  }
}

void WriteSmallFile(const std::filesystem::path& path) {
  WritePackedFile(path, "fingerprint 1", {{"hidden_size", 64}}, SmallPlans(), FillWithIndex);
}

size_t CountFiles(const std::filesystem::path& folder) {
  size_t num_files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++num_files;
  }
  return num_files;
}

void ExpectDamaged(const std::string& bytes, const std::vector<std::string>& words) {
  ExpectError(ErrorCode::kCorruptFile, words, [&] {
    ParsePackedFile(std::as_bytes(std::span(bytes)), "model.packed");
  });
}

// A packed file around any JSON, with the checksum and sizes it should have.
std::string PackedBytes(const std::string& text, size_t data_bytes) {
  PackedHeader header;
  std::memcpy(header.magic, kPackedMagic, sizeof(kPackedMagic));
  header.version = kPackedVersion;
  header.json_bytes = text.size();
  header.json_checksum = Checksum(std::as_bytes(std::span(text)));
  header.data_offset = RoundUp(sizeof(header) + text.size(), kPackedDataAlignment);
  header.data_bytes = data_bytes;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += text;
  bytes.resize(static_cast<size_t>(header.data_offset) + data_bytes);
  return bytes;
}

json TensorJson(const std::string& name, uint64_t offset) {
  return {{"name", name},
          {"type", 0},
          {"vector", true},
          {"n", 1},
          {"k", 16},
          {"bytes", 64},
          {"offset", offset},
          {"xxh3", "0000000000000000"}};
}

// The contents of a file of 128 bytes of data and one tensor, after `change` has changed the entry.
template <typename Change>
std::string FileWithTensor(Change change) {
  json tensor = TensorJson("norm", 0);
  change(tensor);
  const json contents = {
      {"fingerprint", "x"}, {"config", json::object()}, {"tensors", json::array({tensor})}};
  return PackedBytes(contents.dump(), 128);
}

TEST(PackedFile, GivesBackWhatWasWritten) {
  const ScratchFolder folder;
  const auto path = folder.path() / "new folder" / "model.packed";
  WriteSmallFile(path);
  const PackedFile file(path);
  EXPECT_EQ(file.fingerprint(), "fingerprint 1");
  EXPECT_EQ(file.config(), json({{"hidden_size", 64}}));
  const std::vector<PackedTensorPlan> plans = SmallPlans();
  ASSERT_EQ(file.tensors().size(), plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    const PackedTensor& tensor = file.tensors()[i];
    EXPECT_EQ(tensor.name, plans[i].name);
    EXPECT_EQ(tensor.type, plans[i].type);
    EXPECT_EQ(tensor.is_vector, plans[i].is_vector);
    EXPECT_EQ(tensor.n, plans[i].n);
    EXPECT_EQ(tensor.k, plans[i].k);
    ASSERT_EQ(tensor.bytes.size(), plans[i].bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % kLineBytes, 0u);
    std::vector<std::byte> expected(plans[i].bytes);
    FillWithIndex(i, expected);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), tensor.bytes.begin()));
  }
  EXPECT_EQ(file.FindTensor("w8"), &file.tensors()[1]);
  EXPECT_EQ(file.FindTensor("w9"), nullptr);
  EXPECT_NO_THROW(VerifyPackedFile(file));
  EXPECT_EQ(CountFiles(path.parent_path()), 1u);
}

TEST(PackedFile, IsTheSameWheneverWritten) {
  const ScratchFolder folder;
  WriteSmallFile(folder.path() / "a");
  WriteSmallFile(folder.path() / "b");
  EXPECT_EQ(ReadWholeFile(folder.path() / "a"), ReadWholeFile(folder.path() / "b"));
}

TEST(PackedFile, GivesZeroedAlignedBuffers) {
  const ScratchFolder folder;
  const auto fill = [](size_t /*tensor_idx*/, std::span<std::byte> bytes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kLineBytes, 0u);
    EXPECT_TRUE(
        std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
  };
  WritePackedFile(folder.path() / "model.packed", "", {}, SmallPlans(), fill);
}

TEST(PackedFile, TakesInvalidUtf8InConfigs) {
  const ScratchFolder folder;
  WritePackedFile(folder.path() / "model.packed", "x", {{"author", "Ren\xe9"}}, {}, FillWithIndex);
  EXPECT_EQ(PackedFile(folder.path() / "model.packed").config()["author"], "Ren\xef\xbf\xbd");
}

TEST(PackedFile, KnowsWhichTensorsCanBe) {
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kW8G32, .n = 17, .k = 32}),
            2 * (64 + 32 * kPanelRows));
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kW8G32, .n = 16, .k = 33}), std::nullopt);
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kW8, .n = 16, .k = 65536}), 16 * 65536u + 64u);
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kW8, .n = 16, .k = 65568}), std::nullopt);
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kF32, .n = 0, .k = 32}), std::nullopt);
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kF32, .n = 16, .k = -1}), std::nullopt);
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kBF16, .is_vector = true, .n = 1, .k = 8}),
            std::nullopt);
  EXPECT_EQ(PackedTensorBytes({.type = PackedType::kF32, .is_vector = true, .n = 2, .k = 8}),
            std::nullopt);
}

TEST(PackedFile, FindsEveryFlippedBit) {
  const ScratchFolder folder;
  const auto path = folder.path() / "model.packed";
  WriteSmallFile(path);
  const std::string bytes = ReadWholeFile(path);
  PackedHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  size_t num_refused_at_start = 0;
  for (size_t i = 0; i < sizeof(header) + header.json_bytes; ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_THROW(ParsePackedFile(std::as_bytes(std::span(damaged)), "model.packed"), Error)
        << "byte " << i;
    ++num_refused_at_start;
  }
  EXPECT_GT(num_refused_at_start, 400u);
  const PackedFile whole(path);
  for (const PackedTensor& tensor : whole.tensors()) {
    const auto offset = static_cast<size_t>(tensor.bytes.data() - whole.file().bytes().data()) + 5;
    std::string damaged = bytes;
    damaged[offset] = static_cast<char>(damaged[offset] ^ 16);
    const PackedFile file(folder.Write("damaged.packed", damaged));
    ExpectError(ErrorCode::kCorruptFile,
                {"damaged.packed", "'" + tensor.name + "'", "checksum"},
                [&] { VerifyPackedFile(file); });
  }
}

TEST(PackedFile, RefusesEveryTruncation) {
  const ScratchFolder folder;
  const auto path = folder.path() / "model.packed";
  WriteSmallFile(path);
  const std::string bytes = ReadWholeFile(path);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_THROW(ParsePackedFile(std::as_bytes(std::span(bytes.data(), size)), "model.packed"),
                 Error)
        << "cut at " << size;
  }
  ExpectDamaged(bytes + "x", {"model.packed", "delete it"});
}

TEST(PackedFile, SaysWhenAnotherVersionMadeIt) {
  std::string bytes = PackedBytes("{}", 0);
  const uint32_t version = kPackedVersion + 1;
  std::memcpy(bytes.data() + offsetof(PackedHeader, version), &version, sizeof(version));
  ExpectError(ErrorCode::kUnsupported, {"model.packed", "another version", "made again"}, [&] {
    ParsePackedFile(std::as_bytes(std::span(bytes)), "model.packed");
  });
}

TEST(PackedFile, RefusesContradictionsUnderARightChecksum) {
  const auto whole = FileWithTensor([](json&) {});
  EXPECT_NO_THROW(ParsePackedFile(std::as_bytes(std::span(whole)), "model.packed"));
  ExpectDamaged(PackedBytes("{", 0), {"not valid JSON"});
  ExpectDamaged(PackedBytes("[]", 0), {"no 'fingerprint'"});
  ExpectDamaged(PackedBytes(R"({"fingerprint":1})", 0), {"'fingerprint'", "not a string"});
  ExpectDamaged(PackedBytes(R"({"fingerprint":"","tensors":{}})", 0), {"'tensors'", "not a list"});
  ExpectDamaged(PackedBytes(R"({"fingerprint":"","tensors":[]})", 0), {"no 'config'"});
  ExpectDamaged(PackedBytes(R"({"fingerprint":"","tensors":[7]})", 0), {"no 'name'"});
  ExpectDamaged(FileWithTensor([](json& t) { t["offset"] = 32; }), {"'norm'", "aligned"});
  ExpectDamaged(FileWithTensor([](json& t) { t["offset"] = 128; }), {"'norm'", "beyond"});
  ExpectDamaged(FileWithTensor([](json& t) { t["offset"] = ~uint64_t{63}; }), {"'norm'", "beyond"});
  ExpectDamaged(FileWithTensor([](json& t) { t["bytes"] = 128; }), {"'norm'", "can't have 128"});
  ExpectDamaged(FileWithTensor([](json& t) { t["k"] = 17; }), {"'norm' [1, 17]", "f32"});
  ExpectDamaged(FileWithTensor([](json& t) { t["k"] = uint64_t{1} << 40; }), {"'k'"});
  ExpectDamaged(FileWithTensor([](json& t) { t["n"] = -1; }), {"'n'"});
  ExpectDamaged(FileWithTensor([](json& t) { t["type"] = 8; }), {"'norm'", "unknown type"});
  ExpectDamaged(FileWithTensor([](json& t) { t["type"] = 2; }), {"'norm'", "w8_g32"});
  ExpectDamaged(FileWithTensor([](json& t) { t["vector"] = 1; }), {"'norm'", "unknown type"});
  ExpectDamaged(FileWithTensor([](json& t) { t["xxh3"] = "12"; }), {"16 hexadecimal digits"});
  ExpectDamaged(FileWithTensor([](json& t) { t["xxh3"] = "00000000000000zz"; }), {"16 hex"});
}

TEST(PackedFile, RefusesTensorsThatOverlapOrComeTwice) {
  const auto file = [](const json& first, const json& second) {
    const json contents = {
        {"fingerprint", "x"}, {"config", {}}, {"tensors", json::array({first, second})}};
    return PackedBytes(contents.dump(), 128);
  };
  ExpectDamaged(file(TensorJson("a", 0), TensorJson("b", 0)), {"'b'", "overlaps"});
  ExpectDamaged(file(TensorJson("a", 64), TensorJson("b", 0)), {"'b'", "overlaps"});
  ExpectDamaged(file(TensorJson("a", 0), TensorJson("a", 64)), {"'a' twice"});
  const std::string good = file(TensorJson("a", 0), TensorJson("b", 64));
  EXPECT_EQ(ParsePackedFile(std::as_bytes(std::span(good)), "x").tensors.size(), 2u);
}

TEST(WritePackedFile, LeavesTheOldFileWhenFillingFails) {
  const ScratchFolder folder;
  const auto path = folder.path() / "model.packed";
  WriteSmallFile(path);
  const std::string before = ReadWholeFile(path);
  const auto fill = [](size_t tensor_idx, std::span<std::byte>) {
    if (tensor_idx == 1) {
      ThrowError(ErrorCode::kCorruptFile, "tensor 'w8' holds NaN");
    }
  };
  ExpectError(ErrorCode::kCorruptFile, {"holds NaN"}, [&] {
    WritePackedFile(path, "x", {}, SmallPlans(), fill);
  });
  EXPECT_EQ(ReadWholeFile(path), before);
  EXPECT_EQ(CountFiles(folder.path()), 1u);
}

TEST(WritePackedFile, LeavesNothingWhenTheFileMayNotGrow) {
  const ScratchFolder folder;
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limited = before;
  limited.rlim_cur = 6000;  // inside the data
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  ExpectError(ErrorCode::kIo, {"model.packed", "File too large"}, [&] {
    WriteSmallFile(folder.path() / "model.packed");
  });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(CountFiles(folder.path()), 0u);
}

TEST(WritePackedFile, SaysHowMuchSpaceIsMissingBeforeWriting) {
  const ScratchFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a tiny tmpfs is not allowed here: " << std::strerror(errno);
  }
  bool is_filled = false;
  const auto fill = [&](size_t, std::span<std::byte>) { is_filled = true; };
  ExpectError(ErrorCode::kIo, {"model.packed", "free"}, [&] {
    WritePackedFile(
        folder.path() / "model.packed", "x", {}, {Plan("w", PackedType::kW8G32, 160, 1024)}, fill);
  });
  EXPECT_FALSE(is_filled);
  EXPECT_EQ(CountFiles(folder.path()), 0u);
  // The disk fills up after the check.
  const auto fill_disk = [&](size_t, std::span<std::byte>) {
    folder.Write("other", std::string(200'000, 'x'));
  };
  ExpectError(ErrorCode::kIo, {"model.packed", "No space left on device"}, [&] {
    WritePackedFile(folder.path() / "model.packed",
                    "x",
                    {},
                    {Plan("w", PackedType::kW8G32, 16, 512)},
                    fill_disk);
  });
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "model.packed"));
  EXPECT_EQ(CountFiles(folder.path()), 1u);
  ASSERT_EQ(::umount(folder.path().c_str()), 0);
}

TEST(WritePackedFile, NamesTheFolderItMayNotWrite) {
  const ScratchFolder folder;
  folder.Write("file", "");
  ExpectError(ErrorCode::kIo, {"can't make the folder", "file"}, [&] {
    WriteSmallFile(folder.path() / "file" / "model.packed");
  });
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
    ExpectError(ErrorCode::kIo, {"model.packed", "Permission denied"}, [&] {
      WriteSmallFile(folder.path() / "model.packed");
    });
    ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
    return;
  }
  // Root may write anywhere, so a child gives up its rights first.
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setuid(65534) != 0) {
      ::_exit(2);
    }
    try {
      WriteSmallFile(folder.path() / "model.packed");
    } catch (const Error& error) {
      const bool is_clear = error.code() == ErrorCode::kIo &&
                            error.message().find("Permission denied") != std::string::npos;
      ::_exit(is_clear ? 0 : 3);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Starts a child that is killed inside the fill of its third tensor; returns when it is dead.
void WriteInChildThatIsKilled(const std::filesystem::path& path) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    WritePackedFile(path, "x", {}, SmallPlans(), [](size_t tensor_idx, std::span<std::byte>) {
      if (tensor_idx == 2) {
        ::kill(::getpid(), SIGKILL);
      }
    });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(WritePackedFile, KilledInTheMiddleNeverShowsUnderTheFinalName) {
  const ScratchFolder folder;
  const auto path = folder.path() / "model.packed";
  WriteInChildThatIsKilled(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(CountFiles(folder.path()), 1u);  // what the child left behind
  folder.Write("model.packed2.partial-1", "another file's");
  WriteSmallFile(path);
  EXPECT_NO_THROW(VerifyPackedFile(PackedFile(path)));
  EXPECT_EQ(CountFiles(folder.path()), 2u);  // the leftover is gone
  const std::string before = ReadWholeFile(path);
  WriteInChildThatIsKilled(path);
  EXPECT_EQ(ReadWholeFile(path), before);
}

TEST(WritePackedFile, TwoWritersDoNotDisturbEachOther) {
  const ScratchFolder folder;
  const auto path = folder.path() / "model.packed";
  // The second writer starts and ends while the first one is filling.
  const auto fill = [&](size_t tensor_idx, std::span<std::byte> bytes) {
    if (tensor_idx == 1) {
      WriteSmallFile(path);
      EXPECT_EQ(PackedFile(path).fingerprint(), "fingerprint 1");
    }
    FillWithIndex(tensor_idx, bytes);
  };
  WritePackedFile(path, "fingerprint 2", {}, SmallPlans(), fill);
  EXPECT_EQ(PackedFile(path).fingerprint(), "fingerprint 2");
  EXPECT_NO_THROW(VerifyPackedFile(PackedFile(path)));
  EXPECT_EQ(CountFiles(folder.path()), 1u);
}

}  // namespace
}  // namespace whinchat
