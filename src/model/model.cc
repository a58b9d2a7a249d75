// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <algorithm>

#include "base/error.h"
#include "model/decoder.h"
#include "model/weight_binding.h"

namespace whinchat {
namespace {

KvDType KvDTypeFor(bool is_reference) {
  return is_reference ? KvDType::kF32 : KvDType::kInt8;
}

}  // namespace

int ForwardBatch::NumTokens() const {
  int num_tokens = 0;
  for (const SequenceChunk& chunk : chunks) {
    num_tokens += static_cast<int>(chunk.token_ids.size());
  }
  return num_tokens;
}

int ForwardBatch::NumLogits() const {
  int num_logits = 0;
  for (const SequenceChunk& chunk : chunks) {
    num_logits += chunk.num_logits;
  }
  return num_logits;
}

std::unique_ptr<Model> Model::Load(const Checkpoint& checkpoint,
                                   const ModelOptions& options,
                                   ThreadPool* pool,
                                   const kernels::KernelTable& kernel_table) {
  const ModelConfig config = ReadModelConfig(checkpoint);
  std::unique_ptr<ModelWeights> weights = BindWeights(checkpoint, config, options, pool);
  const KvDType kv_dtype = KvDTypeFor(/*is_reference=*/options.weights != WeightMode::kAuto);
  return std::make_unique<Decoder>(config, std::move(weights), kv_dtype, pool, kernel_table);
}

std::unique_ptr<Model> MakeRandomModel(const ModelConfig& config,
                                       PackedType packed_type,
                                       uint64_t seed,
                                       ThreadPool* pool,
                                       const kernels::KernelTable& kernel_table) {
  std::unique_ptr<ModelWeights> weights = MakeRandomWeights(config, packed_type, seed, pool);
  const KvDType kv_dtype = KvDTypeFor(/*is_reference=*/!IsQuantized(packed_type));
  return std::make_unique<Decoder>(config, std::move(weights), kv_dtype, pool, kernel_table);
}

}  // namespace whinchat
