// SPDX-License-Identifier: Apache-2.0
// The forward pass of every architecture: one decoder driven by ModelConfig and the weights that
// are bound. One ThreadPool::Run covers a whole pass; decoder.cc says where its barriers are.
#pragma once

#include <memory>
#include <vector>

#include "model/activation_rows.h"
#include "model/forward_plan.h"
#include "model/model.h"
#include "model/model_weights.h"
#include "model/paged_attention.h"
#include "model/rope_table.h"

namespace whinchat {

class Decoder final : public Model {
 public:
  Decoder(const ModelConfig& config,
          std::unique_ptr<ModelWeights> weights,
          KvDType kv_dtype,
          ThreadPool* pool,
          const kernels::KernelTable& kernel_table);

  const ModelConfig& config() const override { return config_; }
  KvLayout kv_layout() const override { return kv_layout_; }
  size_t WeightBytes() const override { return weights_->total_bytes; }
  size_t ScratchBytes(int max_tokens) const override;
  std::string DescribeWeights() const override;
  void Reserve(int max_tokens, int max_logits) override;
  const float* Forward(const ForwardBatch& batch, PagedKvCache* kv_cache) noexcept override;
  size_t logits_stride() const override { return logits_stride_; }

 private:
  struct WorkerScratch {
    float* tile = nullptr;         // [num_rows, columns of a projection], tile_floats at most
    float* second_tile = nullptr;  // of k_proj beside v_proj, of gate_proj beside up_proj
    float* row = nullptr;          // [max(hidden_size, intermediate_size)] before it is quantized
    ActivationRows normed;         // [kMaxPrivateRows, hidden_size]
  };
  struct Buffers {
    float* hidden = nullptr;       // [max_tokens, hidden_size] the residual stream
    ActivationRows normed;         // [max_tokens, hidden_size] into qkv, gate and up, head
    ActivationRows attention;      // [max_tokens, num_heads * head_dim] into o_proj
    ActivationRows attention_f32;  // the same before quantization, where heads don't fill groups
    ActivationRows gated;          // [max_tokens, intermediate_size] into down_proj
    size_t tile_floats = 0;
    std::vector<WorkerScratch> workers;
  };
  // Rows of `hidden` to normalize: all, or those whose logits are wanted.
  struct RowSelection {
    int num_rows = 0;
    const int* rows = nullptr;  // null: all in order
  };

  Buffers TakeBuffers(int max_tokens, PagedAttention* attention, ScratchArena* arena) const;

  void RunForward(Worker& worker);
  void Embed(Worker& worker);
  void RunLayer(Worker& worker, int layer_idx);
  void RunHead(Worker& worker);

  const ActivationRows& Normalize(Worker& worker,
                                  std::span<const float> gain,
                                  const RowSelection& selection);
  void NormalizeRow(std::span<const float> gain,
                    int from_row,
                    float* scratch_row,
                    const ActivationRows& to,
                    int to_row) const;
  void ProjectQueries(Worker& worker, int layer_idx, const ActivationRows& input);
  void ProjectKeyValues(Worker& worker, int layer_idx, const ActivationRows& input);
  void FinishHead(std::span<const float> bias,
                  std::span<const float> norm,
                  int position,
                  float* head) const;
  void QuantizeAttention(Worker& worker);
  void ProjectGateUp(Worker& worker, const LayerWeights& layer, const ActivationRows& input);
  void ProjectAndAdd(Worker& worker, const PanelMatrix& weight, const ActivationRows& input);

  // Columns of `input` times the panels [begin, end) of `weight`, as [num_rows, 16 * (end -
  // begin)].
  void Project(const ActivationRows& input,
               int num_rows,
               const PanelMatrix& weight,
               WorkRange panels,
               float* out,
               size_t out_stride) const;
  // How many panels of a projection fit one tile for all rows.
  int TilePanels() const;

  const ModelConfig config_;
  const std::unique_ptr<ModelWeights> weights_;
  const KvLayout kv_layout_;
  ThreadPool* const pool_;
  const kernels::KernelTable& kernels_;
  const size_t logits_stride_;
  RopeTable rope_;
  PagedAttention attention_;

  int max_tokens_ = 0;
  int max_logits_ = 0;
  AnonymousMapping scratch_;
  AnonymousMapping logits_memory_;
  Buffers buffers_;
  float* logits_ = nullptr;  // [max_logits, logits_stride]
  ForwardPlan plan_;
};

}  // namespace whinchat
