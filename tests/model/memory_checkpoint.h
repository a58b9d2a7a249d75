// SPDX-License-Identifier: Apache-2.0
// A checkpoint made in memory, so that tests can damage any part of it.
#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace whinchat {

class MemoryCheckpoint final : public Checkpoint {
 public:
  MemoryCheckpoint(CheckpointFormat format, nlohmann::json config)
      : format_(format), config_(std::move(config)) {}

  CheckpointFormat format() const override { return format_; }
  const std::filesystem::path& path() const override { return path_; }
  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const nlohmann::json& config() const override { return config_; }
  std::optional<std::string> ReadSideFile(std::string_view /*file_name*/) const override {
    return std::nullopt;
  }
  std::string Fingerprint() const override { return fingerprint_; }

  nlohmann::json& mutable_config() { return config_; }
  void set_fingerprint(std::string fingerprint) { fingerprint_ = std::move(fingerprint); }

  void AddF32(const std::string& name, std::vector<int64_t> shape, std::vector<float> values) {
    std::vector<float>& stored = values_[name] = std::move(values);
    tensors_.push_back({name, DType::kF32, std::move(shape), std::as_bytes(std::span(stored))});
  }
  // For shapes that are only looked at.
  void AddEmpty(const std::string& name, std::vector<int64_t> shape) {
    tensors_.push_back({name, DType::kF32, std::move(shape), {}});
  }
  void Remove(std::string_view name) {
    std::erase_if(tensors_, [&](const TensorView& tensor) { return tensor.name == name; });
  }
  std::vector<float>& values(const std::string& name) { return values_.at(name); }
  TensorView& tensor(std::string_view name) {
    for (TensorView& tensor : tensors_) {
      if (tensor.name == name) {
        return tensor;
      }
    }
    throw std::out_of_range(std::string(name));
  }

 private:
  CheckpointFormat format_;
  nlohmann::json config_;
  std::filesystem::path path_ = "/models/test-model";
  std::string fingerprint_ = "fingerprint 1";
  std::map<std::string, std::vector<float>> values_;
  std::vector<TensorView> tensors_;
};

}  // namespace whinchat
