// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/hugging_face.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/file_stamp.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/json_text.h"
#include "checkpoint/safetensors.h"
#include "tensor/tensor_view.h"

namespace whinchat {
namespace {

using nlohmann::json;
using Path = std::filesystem::path;

constexpr const char* kConfigName = "config.json";
constexpr const char* kWeightsName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr JsonLimits kConfigLimits = {
    .max_bytes = size_t{16} << 20, .max_depth = 64, .allow_duplicate_keys = true};
constexpr JsonLimits kIndexLimits = {
    .max_bytes = size_t{64} << 20, .max_depth = 8, .allow_duplicate_keys = false};
constexpr size_t kMaxSideFileBytes = size_t{256} << 20;

bool Exists(const Path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

std::string_view TextOf(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// A file name out of a file must not lead out of its folder.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

json ReadConfig(const Path& folder) {
  const Path file_path = folder / kConfigName;
  if (!Exists(file_path)) {
    ThrowError(ErrorCode::kNotFound,
               "'{}' has no config.json; give a folder with a Hugging Face model in it, or a .gguf "
               "file",
               folder.string());
  }
  const MappedFile file(file_path);
  json config = ParseJsonText(TextOf(file), file_path.string(), kConfigLimits);
  if (!config.is_object()) {
    ThrowError(ErrorCode::kCorruptFile, "'{}' must hold one JSON object", file_path.string());
  }
  return config;
}

std::vector<std::string> ListNames(const Path& folder, const std::string& extension) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == extension) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Which tensor stands in which file, as the index says: file -> tensors.
using ShardMap = std::map<std::string, std::set<std::string>>;

ShardMap ReadIndex(const Path& index_path) {
  const MappedFile file(index_path);
  const json index = ParseJsonText(TextOf(file), index_path.string(), kIndexLimits);
  const bool has_map = index.is_object() && index.contains("weight_map") &&
                       index["weight_map"].is_object() && !index["weight_map"].empty();
  if (!has_map) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' must have an object 'weight_map' that tells the file of each tensor",
               index_path.string());
  }
  ShardMap shards;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string() || !IsPlainName(shard.get_ref<const std::string&>())) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' names no file of its own folder for tensor '{}'",
                 index_path.string(),
                 PrintableName(tensor));
    }
    shards[shard.get<std::string>()].insert(tensor);
  }
  return shards;
}

[[noreturn]] void ThrowNoWeights(const Path& folder) {
  for (const char* extension : {".bin", ".pt", ".pth"}) {
    const std::vector<std::string> names = ListNames(folder, extension);
    if (!names.empty()) {
      ThrowError(ErrorCode::kUnsupported,
                 "'{}' has its weights only as PyTorch pickles ({}), which could run code when "
                 "opened; save them as safetensors once: AutoModelForCausalLM.from_pretrained"
                 "(FOLDER).save_pretrained(NEW_FOLDER) in Python's transformers",
                 folder.string(),
                 names.front());
    }
  }
  ThrowError(ErrorCode::kNotFound,
             "'{}' has a config.json but no weights; expected model.safetensors, or "
             "model.safetensors.index.json and the files it names",
             folder.string());
}

// The weight files and the tensors the index promises in each (none without an index).
ShardMap FindShards(const Path& folder, const Path& weights) {
  ShardMap indexed;
  if (Exists(folder / kIndexName)) {
    indexed = ReadIndex(folder / kIndexName);
  }
  if (!weights.empty() && !indexed.contains(weights.filename().string())) {
    return {{weights.filename().string(), {}}};
  }
  if (weights.empty() && Exists(folder / kWeightsName)) {
    return {{kWeightsName, {}}};
  }
  if (!indexed.empty()) {
    return indexed;
  }
  const std::vector<std::string> names = ListNames(folder, ".safetensors");
  if (names.empty()) {
    ThrowNoWeights(folder);
  }
  if (names.size() > 1) {
    ThrowError(ErrorCode::kNotFound,
               "'{}' has {} safetensors files but no {}; add it, or give the one file to open",
               folder.string(),
               names.size(),
               kIndexName);
  }
  return {{names.front(), {}}};
}

class HuggingFaceFolder : public Checkpoint {
 public:
  HuggingFaceFolder(const Path& folder, const Path& weights)
      : folder_(folder), config_(ReadConfig(folder)) {
    fingerprint_ = "hf:" + FileStamp(folder / kConfigName);
    for (const auto& [name, tensors] : FindShards(folder, weights)) {
      AddShard(name, tensors);
    }
  }

  CheckpointFormat format() const override { return CheckpointFormat::kHuggingFace; }
  const std::filesystem::path& path() const override { return folder_; }
  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const json& config() const override { return config_; }
  std::optional<std::string> ReadSideFile(std::string_view file_name) const override;
  std::string Fingerprint() const override { return fingerprint_; }

 private:
  void AddShard(const std::string& name, const std::set<std::string>& promised);

  std::filesystem::path folder_;
  json config_;
  std::string fingerprint_;
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  std::unordered_set<std::string> names_;
};

void HuggingFaceFolder::AddShard(const std::string& name, const std::set<std::string>& promised) {
  const std::filesystem::path shard_path = folder_ / name;
  if (!Exists(shard_path)) {
    ThrowError(ErrorCode::kNotFound,
               "'{}' is missing; {} says it holds {} tensors ('{}' among them), so download it",
               shard_path.string(),
               kIndexName,
               promised.size(),
               promised.empty() ? "" : PrintableName(*promised.begin()));
  }
  fingerprint_ += ';' + FileStamp(shard_path);
  files_.emplace_back(shard_path);
  for (TensorView& tensor : ParseSafetensors(files_.back().bytes(), shard_path.string())) {
    if (!names_.insert(tensor.name).second) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' has tensor '{}', which another file of the folder has too",
                 shard_path.string(),
                 PrintableName(tensor.name));
    }
    tensors_.push_back(std::move(tensor));
  }
  for (const std::string& tensor : promised) {
    if (!names_.contains(tensor)) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' has no tensor '{}', though {} says so",
                 shard_path.string(),
                 PrintableName(tensor),
                 kIndexName);
    }
  }
}

std::optional<std::string> HuggingFaceFolder::ReadSideFile(std::string_view file_name) const {
  const std::filesystem::path file_path = folder_ / file_name;
  if (!IsPlainName(file_name) || !Exists(file_path)) {
    return std::nullopt;
  }
  const MappedFile file(file_path);
  if (file.bytes().size() > kMaxSideFileBytes) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' has {} bytes, but at most {} are allowed",
               file_path.string(),
               file.bytes().size(),
               kMaxSideFileBytes);
  }
  if (TextOf(file).starts_with("version https://git-lfs")) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' is {}",
               file_path.string(),
               DescribeForeignBytes(file.bytes(), "text"));
  }
  return std::string(TextOf(file));
}

}  // namespace

std::unique_ptr<Checkpoint> OpenHuggingFace(const Path& folder, const Path& weights) {
  return std::make_unique<HuggingFaceFolder>(folder, weights);
}

}  // namespace whinchat
