// SPDX-License-Identifier: Apache-2.0
#include "hub/model_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace whinchat {
namespace {

namespace fs = std::filesystem;

// A home folder of its own, so that the machine's models don't matter.
class ModelStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / "model_store_test";
    fs::remove_all(root_);
    fs::create_directories(root_);
    for (const char* variable :
         {"XDG_DATA_HOME", "HF_HOME", "HF_HUB_CACHE", "MODELSCOPE_CACHE", "WHINCHAT_MODELS_DIR"}) {
      ::unsetenv(variable);
    }
    ::setenv("HOME", root_.c_str(), /*replace=*/1);
  }

  void Touch(const fs::path& relative) {
    fs::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative) << "x";
  }

  fs::path root_;
};

TEST_F(ModelStoreTest, FindsModelsInAllThreePlaces) {
  Touch(".local/share/whinchat/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  Touch(".cache/huggingface/hub/models--Qwen--Qwen3-0.6B/snapshots/abc/config.json");
  Touch(".cache/modelscope/hub/models/Qwen/Qwen3-1___7B/config.json");
  std::vector<std::string> names;
  for (const LocalModel& model : ListLocalModels()) {
    names.push_back(model.name);
  }
  EXPECT_THAT(
      names,
      testing::ElementsAre("SmolLM2-135M-Instruct.Q4_1", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B"));
}

TEST_F(ModelStoreTest, TheDefaultIsQwenThenSmolLm) {
  EXPECT_THROW(ResolveModel(""), Error);
  Touch(".local/share/whinchat/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_EQ(ResolveModel("").name, "SmolLM2-135M-Instruct.Q4_1");
  Touch(".local/share/whinchat/models/Qwen3-0.6B/config.json");
  EXPECT_EQ(ResolveModel("").name, "Qwen3-0.6B");
}

TEST_F(ModelStoreTest, APathStandsForItself) {
  Touch("folder/config.json");
  Touch("file.Q8_0.gguf");
  EXPECT_EQ(ResolveModel((root_ / "folder/").string()).name, "folder");
  EXPECT_EQ(ResolveModel((root_ / "file.Q8_0.gguf").string()).name, "file.Q8_0");
}

TEST_F(ModelStoreTest, AnUnknownNameListsWhatThereIs) {
  Touch(".local/share/whinchat/models/SmolLM2-135M-Instruct.Q4_1.gguf");
  try {
    ResolveModel("llama3:8b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.message(), testing::HasSubstr("SmolLM2-135M-Instruct.Q4_1"));
  }
}

}  // namespace
}  // namespace whinchat
