// SPDX-License-Identifier: Apache-2.0
// Reader of a Hugging Face folder: config.json, one or many safetensors files, files beside them.
#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"

namespace whinchat {

// `weights`: the safetensors file to take; if empty, or if the folder's index names it, the
// folder's own: model.safetensors, the shards of model.safetensors.index.json, or the only
// safetensors file there is.
std::unique_ptr<Checkpoint> OpenHuggingFace(const std::filesystem::path& folder,
                                            const std::filesystem::path& weights = {});

}  // namespace whinchat
