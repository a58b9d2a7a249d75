// SPDX-License-Identifier: Apache-2.0
// Where models are on this machine: whinchat's own folder, the Hugging Face cache and the
// ModelScope cache. Nothing is downloaded here.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace whinchat {

struct LocalModel {
  std::string name;            // "SmolLM2-135M-Instruct.Q4_1", "Qwen/Qwen3-0.6B"
  std::filesystem::path path;  // a .gguf file, or a folder with config.json
};

// $WHINCHAT_MODELS_DIR, else $XDG_DATA_HOME/whinchat/models, else ~/.local/share/whinchat/models.
std::filesystem::path ModelsFolder();

// $WHINCHAT_CACHE_DIR, else $XDG_CACHE_HOME/whinchat, else ~/.cache/whinchat. Packed files go
// there.
std::filesystem::path CacheFolder();

// All models found, whinchat's own first, then by name. Unreadable folders count as empty.
std::vector<LocalModel> ListLocalModels();

// A path that exists stands for itself; otherwise a name is looked up among the local models, in
// any spelling (hub/model_names.h). An empty name asks for the default: a Qwen3-0.6B if there is
// one, else SmolLM2-135M-Instruct. Throws Error{kNotFound} that lists what there is.
LocalModel ResolveModel(std::string_view name_or_path);

}  // namespace whinchat
