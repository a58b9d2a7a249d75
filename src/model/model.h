// SPDX-License-Identifier: Apache-2.0
// A decoder-only language model: weights bound to an architecture, and the forward pass.
// One engine thread calls Forward; nothing here locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "base/token_id.h"
#include "kernels/kernel_table.h"
#include "kv_cache/paged_kv_cache.h"
#include "model/model_config.h"

namespace whinchat {

// Which weights to compute with. kAuto: int8 or int4 panels, faithful to the file's own types,
// w8 for 16 and 32-bit originals. kF32, kBF16: the reference path with fp32 activations.
enum class WeightMode { kAuto, kF32, kBF16 };

struct ModelOptions {
  WeightMode weights = WeightMode::kAuto;
  // Where packed files are kept. Empty: pack into memory at each start.
  std::filesystem::path packed_cache_dir;
  std::function<void(double fraction)> on_pack_progress;  // may be empty
  // Told when packed_cache_dir can't be written and the weights go into memory. May be empty.
  std::function<void(const std::string& message)> on_warning;
};

// Some consecutive tokens of one sequence. Their keys and values are computed and stored; all
// earlier positions must already be in the blocks.
struct SequenceChunk {
  std::span<const TokenId> token_ids;
  int start_position = 0;                // of token_ids[0]
  std::span<const BlockId> block_table;  // covers start_position + token_ids.size() tokens
  int num_logits = 1;                    // logits of the last num_logits tokens: 0 for a chunk that
                                         // is not the prompt's last, all for prompt_logprobs
};

struct ForwardBatch {
  std::vector<SequenceChunk> chunks;

  int NumTokens() const;
  int NumLogits() const;
};

class Model {
 public:
  // Opens, packs if needed, maps. Throws Error (see Checkpoint). `pool` must outlive the model.
  static std::unique_ptr<Model> Load(const Checkpoint& checkpoint,
                                     const ModelOptions& options,
                                     ThreadPool* pool,
                                     const kernels::KernelTable& kernel_table);
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  virtual KvLayout kv_layout() const = 0;
  virtual size_t WeightBytes() const = 0;
  // Scratch memory that Forward needs for batches of up to max_tokens tokens.
  virtual size_t ScratchBytes(int max_tokens) const = 0;
  // The packed type of each kind of weight, for reports: "w4_g32_min, head w8_g32".
  virtual std::string DescribeWeights() const = 0;

  // Allocates the scratch memory once. Forward then accepts up to max_tokens tokens a batch and
  // max_logits rows of logits.
  virtual void Reserve(int max_tokens, int max_logits) = 0;

  // Computes the batch. Returns the logits [NumLogits(), vocab_size] in the chunks' order, row
  // stride logits_stride(); valid until the next call. Logits of a token do not depend on what else
  // is in the batch, how the prompt was cut into chunks, or the number of threads (design rule 1).
  virtual const float* Forward(const ForwardBatch& batch, PagedKvCache* kv_cache) noexcept = 0;
  virtual size_t logits_stride() const = 0;
};

// A model of the given shape with random weights (fixed seed), for speed measurements without a
// download. `packed_type` for all matrices.
std::unique_ptr<Model> MakeRandomModel(const ModelConfig& config,
                                       PackedType packed_type,
                                       uint64_t seed,
                                       ThreadPool* pool,
                                       const kernels::KernelTable& kernel_table);

}  // namespace whinchat
