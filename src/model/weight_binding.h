// SPDX-License-Identifier: Apache-2.0
// From a checkpoint to bound weights: finds and checks each tensor the architecture names, packs
// them once into the user's cache and maps the packed file, or packs into memory where no file can
// be written.
#pragma once

#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "model/model.h"
#include "model/model_weights.h"

namespace whinchat {

// Throws Error naming file and tensor; kUnsupported for tensors this decoder does not know how to
// use (experts, further biases).
std::unique_ptr<ModelWeights> BindWeights(const Checkpoint& checkpoint,
                                          const ModelConfig& config,
                                          const ModelOptions& options,
                                          ThreadPool* pool);

// Weights of this shape filled with random numbers, scaled so that activations stay near 1.
std::unique_ptr<ModelWeights> MakeRandomWeights(const ModelConfig& config,
                                                PackedType type,
                                                uint64_t seed,
                                                ThreadPool* pool);

// The file that a checkpoint's packed weights are kept in.
std::filesystem::path PackedFilePath(const Checkpoint& checkpoint, const ModelOptions& options);

}  // namespace whinchat
