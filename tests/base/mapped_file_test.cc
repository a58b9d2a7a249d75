// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace whinchat {
namespace {

TEST(MappedFile, ShowsTheBytesAndSurvivesAMove) {
  const auto path = std::filesystem::path(testing::TempDir()) / "mapped_file_test.bin";
  std::ofstream(path) << "whinchat";
  MappedFile file(path);
  MappedFile moved = std::move(file);
  ASSERT_EQ(moved.bytes().size(), 8U);
  EXPECT_EQ(std::memcmp(moved.bytes().data(), "whinchat", 8), 0);
  moved.WillNeed(0, 8);
}

TEST(MappedFile, AMissingFileIsNotFoundAndNamed) {
  try {
    MappedFile file("/no/such/file.gguf");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.message(), testing::HasSubstr("/no/such/file.gguf"));
  }
}

TEST(MappedFile, AFolderIsRefused) {
  EXPECT_THROW(MappedFile{testing::TempDir()}, Error);
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const auto path = std::filesystem::path(testing::TempDir()) / "mapped_file_empty.bin";
  std::ofstream(path).flush();
  EXPECT_TRUE(MappedFile(path).bytes().empty());
}

}  // namespace
}  // namespace whinchat
