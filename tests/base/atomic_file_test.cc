// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace whinchat {
namespace {

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() : folder_(testing::TempDir() + "atomic_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~AtomicFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
  }
  ptrdiff_t CountFiles() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  std::filesystem::path folder_;
};

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_F(AtomicFileTest, ShowsNothingBeforeCommitAndAllAfterIt) {
  Write("file", "old");
  AtomicFile file(folder_ / "file");
  file.Write(4, BytesOf("tail"));
  file.Write(0, BytesOf("head"));
  EXPECT_EQ(Read("file"), "old");
  EXPECT_EQ(CountFiles(), 2);
  file.Commit();
  EXPECT_EQ(Read("file"), "headtail");
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(AtomicFileTest, LeavesNothingWhenNotCommitted) {
  Write("file", "old");
  {
    AtomicFile(folder_ / "file").Write(0, BytesOf("new"));
  }
  EXPECT_EQ(Read("file"), "old");
  EXPECT_EQ(CountFiles(), 1);
}

TEST_F(AtomicFileTest, RemovesWhatDeadWritersLeftAndNothingElse) {
  Write("file.partial-00000001", "left by a dead writer");
  Write("file.partial-00000002", "still being written");
  Write("other.partial-00000001", "another file's");
  const int fd = ::open((folder_ / "file.partial-00000002").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  {
    const AtomicFile file(folder_ / "file");
  }
  ::close(fd);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file.partial-00000001"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "file.partial-00000002"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "other.partial-00000001"));
}

TEST_F(AtomicFileTest, SaysWhenThereIsNoRoom) {
  const AtomicFile file(folder_ / "file");
  EXPECT_NO_THROW(file.RequireSpace(1));
  EXPECT_THROW(file.RequireSpace(uint64_t{1} << 60), Error);
}

TEST_F(AtomicFileTest, NamesAFolderThatIsMissing) {
  try {
    const AtomicFile file(folder_ / "none" / "file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(error.message().find("none/file"), std::string::npos);
  }
}

}  // namespace
}  // namespace whinchat
