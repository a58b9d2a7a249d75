// SPDX-License-Identifier: Apache-2.0
#include "hub/model_store.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "hub/model_names.h"

namespace whinchat {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultNames[] = {"Qwen3-0.6B", "SmolLM2-135M-Instruct"};

std::optional<std::string> ReadEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

fs::path HomeFolder() {
  return ReadEnvironment("HOME").value_or(".");
}

fs::path FolderFrom(const char* own_variable,
                    const char* xdg_variable,
                    const char* xdg_default,
                    const char* inside) {
  if (const auto own = ReadEnvironment(own_variable)) {
    return *own;
  }
  if (const auto xdg = ReadEnvironment(xdg_variable)) {
    return fs::path(*xdg) / inside;
  }
  return HomeFolder() / xdg_default / inside;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

std::vector<fs::path> SortedEntries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool IsModelFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / "config.json", error);
}

bool IsModelFile(const fs::path& path) {
  std::error_code error;
  return path.extension() == ".gguf" && fs::is_regular_file(path, error);
}

void AddModelsOf(const fs::path& folder,
                 const std::string& owner,
                 std::vector<LocalModel>* models) {
  for (const fs::path& entry : SortedEntries(folder)) {
    if (IsModelFile(entry)) {
      models->push_back({owner + entry.stem().string(), entry});
    } else if (IsModelFolder(entry)) {
      models->push_back({owner + entry.filename().string(), entry});
    }
  }
}

// hub/models--Owner--Name/snapshots/<revision>/: config.json or GGUF files.
void AddHuggingFaceModels(std::vector<LocalModel>* models) {
  fs::path hub = HomeFolder() / ".cache/huggingface/hub";
  if (const auto home = ReadEnvironment("HF_HOME")) {
    hub = fs::path(*home) / "hub";
  }
  if (const auto cache = ReadEnvironment("HF_HUB_CACHE")) {
    hub = *cache;
  }
  for (const fs::path& entry : SortedEntries(hub)) {
    std::string name = entry.filename().string();
    if (!name.starts_with("models--")) {
      continue;
    }
    name = ReplaceAll(name.substr(8), "--", "/");
    for (const fs::path& snapshot : SortedEntries(entry / "snapshots")) {
      if (IsModelFolder(snapshot)) {
        models->push_back({name, snapshot});
      }
      AddModelsOf(snapshot, name.substr(0, name.find('/') + 1), models);
    }
  }
}

// <cache>/Owner/Name, with '.' in names written as "___".
void AddModelScopeModels(std::vector<LocalModel>* models) {
  const fs::path cache =
      ReadEnvironment("MODELSCOPE_CACHE").value_or(HomeFolder() / ".cache/modelscope/hub");
  for (const fs::path& root : {cache / "models", cache}) {
    for (const fs::path& owner : SortedEntries(root)) {
      const size_t first = models->size();
      AddModelsOf(owner, owner.filename().string() + "/", models);
      for (size_t i = first; i < models->size(); ++i) {
        (*models)[i].name = ReplaceAll((*models)[i].name, "___", ".");
      }
    }
  }
}

const LocalModel* FindModel(const std::vector<LocalModel>& models, std::string_view name) {
  for (const LocalModel& model : models) {
    if (model.name == name) {
      return &model;
    }
  }
  for (const LocalModel& model : models) {
    if (ModelNameMatches(name, model.name)) {
      return &model;
    }
  }
  return nullptr;
}

std::string DescribeModels(const std::vector<LocalModel>& models) {
  if (models.empty()) {
    return fmt::format("There are no models on this machine yet; put one into '{}'",
                       ModelsFolder().string());
  }
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const LocalModel& model : models) {
    names.push_back(model.name);
  }
  return fmt::format("Models here: {}", fmt::join(names, ", "));
}

}  // namespace

fs::path ModelsFolder() {
  return FolderFrom("WHINCHAT_MODELS_DIR", "XDG_DATA_HOME", ".local/share", "whinchat/models");
}

fs::path CacheFolder() {
  return FolderFrom("WHINCHAT_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "whinchat");
}

std::vector<LocalModel> ListLocalModels() {
  std::vector<LocalModel> models;
  AddModelsOf(ModelsFolder(), "", &models);
  AddHuggingFaceModels(&models);
  AddModelScopeModels(&models);
  return models;
}

LocalModel ResolveModel(std::string_view name_or_path) {
  std::error_code error;
  if (!name_or_path.empty() && fs::exists(name_or_path, error)) {
    const fs::path path = fs::absolute(name_or_path, error).lexically_normal();
    const fs::path named = path.has_filename() ? path : path.parent_path();
    return {(IsModelFile(named) ? named.stem() : named.filename()).string(), named};
  }
  const std::vector<LocalModel> models = ListLocalModels();
  if (name_or_path.empty()) {
    for (const char* name : kDefaultNames) {
      if (const LocalModel* model = FindModel(models, name)) {
        return *model;
      }
    }
    ThrowError(ErrorCode::kNotFound,
               "no model was named and none of the defaults ({}) is on this machine. {}. "
               "'make model' gets the small default",
               fmt::join(kDefaultNames, ", "),
               DescribeModels(models));
  }
  if (const LocalModel* model = FindModel(models, name_or_path)) {
    return *model;
  }
  ThrowError(ErrorCode::kNotFound,
             "'{}' is neither a path nor the name of a model on this machine. {}",
             name_or_path,
             DescribeModels(models));
}

}  // namespace whinchat
