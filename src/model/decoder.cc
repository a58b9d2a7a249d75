// SPDX-License-Identifier: Apache-2.0
// The forward pass. All threads run it side by side and meet at barriers (B):
//
//   - embedding rows                                                      B
//   - in each layer:
//     - input norm, quantized (up to 2 rows each thread does for itself)  B if more rows
//     - q, k, v: bias, head norm, rotation, cache; whole heads a thread   B
//     - attention by spans, output quantized                              B, 2 if shared out
//     - o_proj, added to the residual                                     B
//     - post-attention norm, as the input norm                            B if more rows
//     - gate, up, silu, product, quantized; whole groups of 32 a thread   B
//     - down_proj, added to the residual                                  B
//   - final norm of the rows whose logits are wanted, as the input norm   B if more rows
//   - lm_head
//
// So decode has 5 barriers a layer and prefill 7. Projections go tile by tile of columns into
// memory of the thread's own, where what follows them finds them in its cache.
#include "model/decoder.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/pack/pack.h"

namespace whinchat {
namespace {

// Up to so many rows every thread normalizes for itself: cheaper than a barrier.
constexpr int kMaxPrivateRows = 2;
// Columns of a tile when the batch is as large as it may be: 256 KB for 512 tokens.
constexpr int kTileColumns = 128;

int RoundUpToPanel(int n) {
  return (n + kPanelRows - 1) / kPanelRows * kPanelRows;
}

// A matrix of panels [begin, end) of another.
PanelMatrix SlicePanels(const PanelMatrix& matrix, WorkRange panels) {
  const size_t panel_bytes = MakePanelLayout(matrix.type, matrix.k).panel_bytes;
  PanelMatrix slice = matrix;
  slice.n = std::min(matrix.n, panels.end * kPanelRows) - panels.begin * kPanelRows;
  slice.panels = matrix.panels + static_cast<size_t>(panels.begin) * panel_bytes;
  return slice;
}

// The query heads and the KV heads one thread projects. A KV head is two units of work (key and
// value), a query head one; query heads come first.
struct HeadShare {
  WorkRange query_heads;
  WorkRange kv_heads;
};

HeadShare SplitHeads(const ModelConfig& config, const Worker& worker) {
  const WorkRange units = worker.Split(config.num_heads + 2 * config.num_kv_heads);
  const auto query_bound = [&](int unit) { return std::min(unit, config.num_heads); };
  const auto kv_bound = [&](int unit) { return (std::max(unit - config.num_heads, 0) + 1) / 2; };
  return {{query_bound(units.begin), query_bound(units.end)},
          {kv_bound(units.begin), kv_bound(units.end)}};
}

// The part of a bias that belongs to one head; empty if there is none.
std::span<const float> HeadBias(std::span<const float> bias, int head_idx, int head_dim) {
  if (bias.empty()) {
    return bias;
  }
  return bias.subspan(static_cast<size_t>(head_idx * head_dim), static_cast<size_t>(head_dim));
}

KvLayout MakeKvLayout(const ModelConfig& config, KvDType dtype) {
  return {dtype, config.num_layers, config.num_kv_heads, config.head_dim};
}

}  // namespace

Decoder::Decoder(const ModelConfig& config,
                 std::unique_ptr<ModelWeights> weights,
                 KvDType kv_dtype,
                 ThreadPool* pool,
                 const kernels::KernelTable& kernel_table)
    : config_(config),
      weights_(std::move(weights)),
      kv_layout_(MakeKvLayout(config, kv_dtype)),
      pool_(pool),
      kernels_(kernel_table),
      logits_stride_(static_cast<size_t>(RoundUpToPanel(config.vocab_size))),
      rope_(config, weights_->rope_freq_factors),
      attention_(config, kv_layout_, kernel_table, pool->num_threads()) {}

Decoder::Buffers Decoder::TakeBuffers(int max_tokens,
                                      PagedAttention* attention,
                                      ScratchArena* arena) const {
  const LayerWeights& layer = weights_->layers.front();
  const int hidden_size = config_.hidden_size;
  const int q_size = config_.num_heads * config_.head_dim;
  const int ffn_size = config_.intermediate_size;
  const bool normed_is_quantized = IsQuantized(layer.q_proj.type);
  const bool attention_is_quantized = IsQuantized(layer.o_proj.type);
  Buffers buffers;
  buffers.hidden =
      arena->Take<float>(static_cast<size_t>(max_tokens) * static_cast<size_t>(hidden_size));
  buffers.normed = ActivationRows::Take(max_tokens, hidden_size, normed_is_quantized, arena);
  buffers.attention = ActivationRows::Take(max_tokens, q_size, attention_is_quantized, arena);
  const int kv_group_columns = q_size / config_.num_kv_heads;
  if (attention_is_quantized && kv_group_columns % kGroupSize != 0) {
    buffers.attention_f32 = ActivationRows::Take(max_tokens, q_size, /*is_quantized=*/false, arena);
  }
  buffers.gated =
      ActivationRows::Take(max_tokens, ffn_size, IsQuantized(layer.down_proj.type), arena);
  const int widest = std::max({hidden_size, ffn_size, q_size});
  buffers.tile_floats = static_cast<size_t>(
      std::max(max_tokens * std::max(kTileColumns, config_.head_dim), RoundUpToPanel(widest)));
  buffers.workers.resize(static_cast<size_t>(pool_->num_threads()));
  for (WorkerScratch& scratch : buffers.workers) {
    scratch.tile = arena->Take<float>(buffers.tile_floats);
    scratch.second_tile = arena->Take<float>(buffers.tile_floats);
    scratch.row = arena->Take<float>(static_cast<size_t>(widest));
    scratch.normed = ActivationRows::Take(kMaxPrivateRows, hidden_size, normed_is_quantized, arena);
  }
  attention->TakeScratch(max_tokens, arena);
  return buffers;
}

size_t Decoder::ScratchBytes(int max_tokens) const {
  PagedAttention attention(config_, kv_layout_, kernels_, pool_->num_threads());
  ScratchArena counter(nullptr);
  TakeBuffers(max_tokens, &attention, &counter);
  return counter.bytes() + rope_.bytes();
}

void Decoder::Reserve(int max_tokens, int max_logits) {
  WHINCHAT_CHECK(max_tokens >= 1 && max_logits >= 1);
  ScratchArena counter(nullptr);
  TakeBuffers(max_tokens, &attention_, &counter);
  scratch_ = AnonymousMapping(counter.bytes(), "the forward pass");
  ScratchArena arena(scratch_.data());
  buffers_ = TakeBuffers(max_tokens, &attention_, &arena);
  const size_t logits_count = static_cast<size_t>(max_logits) * logits_stride_;
  logits_memory_ = AnonymousMapping(logits_count * sizeof(float), "the logits");
  logits_ = reinterpret_cast<float*>(logits_memory_.data());
  plan_.Reserve(max_tokens, attention_.tile_tokens());
  max_tokens_ = max_tokens;
  max_logits_ = max_logits;
}

const float* Decoder::Forward(const ForwardBatch& batch, PagedKvCache* kv_cache) noexcept {
  WHINCHAT_CHECK(batch.NumTokens() <= max_tokens_ && batch.NumLogits() <= max_logits_);
  plan_.Build(batch);
  WHINCHAT_CHECK(plan_.num_positions() <= config_.max_seq_len);
  attention_.Begin(plan_, kv_cache);
  // Captures one pointer only, so that std::function does not allocate.
  pool_->Run([this](Worker& worker) { RunForward(worker); });
  rope_.MarkFilled(plan_.num_positions());
  return logits_;
}

void Decoder::RunForward(Worker& worker) {
  rope_.FillShare(plan_.num_positions(), worker);
  Embed(worker);
  worker.Barrier();
  for (int layer_idx = 0; layer_idx < config_.num_layers; ++layer_idx) {
    RunLayer(worker, layer_idx);
  }
  RunHead(worker);
}

void Decoder::Embed(Worker& worker) {
  const WorkRange rows = worker.Split(plan_.num_rows());
  for (int row = rows.begin; row < rows.end; ++row) {
    float* hidden =
        buffers_.hidden + static_cast<size_t>(row) * static_cast<size_t>(config_.hidden_size);
    kernels::UnpackRow(
        weights_->embed_tokens, plan_.rows()[static_cast<size_t>(row)].token_id, hidden);
  }
}

void Decoder::RunLayer(Worker& worker, int layer_idx) {
  const LayerWeights& layer = weights_->layers[static_cast<size_t>(layer_idx)];
  const RowSelection all_rows = {plan_.num_rows(), nullptr};

  const ActivationRows& attention_input = Normalize(worker, layer.input_norm, all_rows);
  ProjectQueries(worker, layer_idx, attention_input);
  ProjectKeyValues(worker, layer_idx, attention_input);
  worker.Barrier();
  const bool quantize_after = buffers_.attention_f32.f32 != nullptr;
  attention_.Attend(
      worker, layer_idx, quantize_after ? buffers_.attention_f32 : buffers_.attention);
  worker.Barrier();
  if (quantize_after) {
    QuantizeAttention(worker);
    worker.Barrier();
  }
  ProjectAndAdd(worker, layer.o_proj, buffers_.attention);
  worker.Barrier();

  const ActivationRows& mlp_input = Normalize(worker, layer.post_attention_norm, all_rows);
  ProjectGateUp(worker, layer, mlp_input);
  worker.Barrier();
  ProjectAndAdd(worker, layer.down_proj, buffers_.gated);
  worker.Barrier();
}

void Decoder::RunHead(Worker& worker) {
  const int num_logits = static_cast<int>(plan_.logit_rows().size());
  if (num_logits == 0) {
    return;
  }
  const ActivationRows& input =
      Normalize(worker, weights_->final_norm, {num_logits, plan_.logit_rows().data()});
  const WorkRange panels = worker.Split(weights_->lm_head.num_panels());
  float* out = logits_ + panels.begin * kPanelRows;
  Project(input, num_logits, weights_->lm_head, panels, out, logits_stride_);
}

// Ends in a barrier unless the rows are so few that each thread has done all of them for itself.
const ActivationRows& Decoder::Normalize(Worker& worker,
                                         std::span<const float> gain,
                                         const RowSelection& selection) {
  WorkerScratch& scratch = buffers_.workers[static_cast<size_t>(worker.thread_idx())];
  const bool is_private = selection.num_rows <= kMaxPrivateRows;
  const ActivationRows& to = is_private ? scratch.normed : buffers_.normed;
  const WorkRange rows =
      is_private ? WorkRange{0, selection.num_rows} : worker.Split(selection.num_rows);
  for (int i = rows.begin; i < rows.end; ++i) {
    const int row = selection.rows == nullptr ? i : selection.rows[i];
    NormalizeRow(gain, row, scratch.row, to, i);
  }
  if (!is_private) {
    worker.Barrier();
  }
  return to;
}

void Decoder::NormalizeRow(std::span<const float> gain,
                           int from_row,
                           float* scratch_row,
                           const ActivationRows& to,
                           int to_row) const {
  const int n = config_.hidden_size;
  const float* hidden = buffers_.hidden + static_cast<size_t>(from_row) * static_cast<size_t>(n);
  float* normed = to.is_quantized ? scratch_row : to.RowF32(to_row);
  kernels_.elementwise.rms_norm(hidden, gain.data(), config_.rms_norm_eps, n, normed);
  if (to.is_quantized) {
    to.Quantize(kernels_.elementwise, normed, n, to_row, /*column=*/0);
  }
}

int Decoder::TilePanels() const {
  const size_t num_rows = static_cast<size_t>(plan_.num_rows());
  const size_t panels = buffers_.tile_floats / (num_rows * kPanelRows);
  return static_cast<int>(panels / 2 * 2);  // whole groups of 32 columns
}

void Decoder::Project(const ActivationRows& input,
                      int num_rows,
                      const PanelMatrix& weight,
                      WorkRange panels,
                      float* out,
                      size_t out_stride) const {
  if (panels.begin >= panels.end) {
    return;
  }
  kernels::MatmulArgs args;
  args.lhs = {input.codes, input.scales, input.sums};
  args.lhs_f32 = input.f32;
  args.m = num_rows;
  args.rhs = SlicePanels(weight, panels);
  args.panel_begin = 0;
  args.panel_end = panels.end - panels.begin;
  args.dst = out;
  args.dst_stride = out_stride;
  kernels_.MatmulFor(weight.type)(args);
}

// Bias, head norm and rotation, as far as the architecture has them.
void Decoder::FinishHead(std::span<const float> bias,
                         std::span<const float> norm,
                         int position,
                         float* head) const {
  const kernels::ElementwiseKernels& elementwise = kernels_.elementwise;
  if (!bias.empty()) {
    elementwise.add(head, bias.data(), config_.head_dim);
  }
  if (!norm.empty()) {
    elementwise.rms_norm(head, norm.data(), config_.rms_norm_eps, config_.head_dim, head);
  }
  elementwise.rope(head, rope_.Cos(position), rope_.Sin(position), config_.head_dim);
}

void Decoder::ProjectQueries(Worker& worker, int layer_idx, const ActivationRows& input) {
  const LayerWeights& layer = weights_->layers[static_cast<size_t>(layer_idx)];
  float* tile = buffers_.workers[static_cast<size_t>(worker.thread_idx())].tile;
  const int head_dim = config_.head_dim;
  const int head_panels = head_dim / kPanelRows;
  const int tile_heads = std::max(TilePanels() / head_panels, 1);
  const WorkRange heads = SplitHeads(config_, worker).query_heads;
  for (int first = heads.begin; first < heads.end; first += tile_heads) {
    const int last = std::min(first + tile_heads, heads.end);
    const size_t stride = static_cast<size_t>((last - first) * head_dim);
    const WorkRange panels = {first * head_panels, last * head_panels};
    Project(input, plan_.num_rows(), layer.q_proj, panels, tile, stride);
    for (int row = 0; row < plan_.num_rows(); ++row) {
      const int position = plan_.rows()[static_cast<size_t>(row)].position;
      float* query = tile + static_cast<size_t>(row) * stride;
      for (int head = first; head < last; ++head, query += head_dim) {
        FinishHead(HeadBias(layer.q_bias, head, head_dim), layer.q_norm, position, query);
        attention_.StoreQuery(row, head, query);
      }
    }
  }
}

void Decoder::ProjectKeyValues(Worker& worker, int layer_idx, const ActivationRows& input) {
  const LayerWeights& layer = weights_->layers[static_cast<size_t>(layer_idx)];
  const WorkerScratch& scratch = buffers_.workers[static_cast<size_t>(worker.thread_idx())];
  const int head_dim = config_.head_dim;
  const int head_panels = head_dim / kPanelRows;
  const int tile_heads = std::max(TilePanels() / head_panels, 1);
  const WorkRange heads = SplitHeads(config_, worker).kv_heads;
  for (int first = heads.begin; first < heads.end; first += tile_heads) {
    const int last = std::min(first + tile_heads, heads.end);
    const size_t stride = static_cast<size_t>((last - first) * head_dim);
    const WorkRange panels = {first * head_panels, last * head_panels};
    Project(input, plan_.num_rows(), layer.k_proj, panels, scratch.tile, stride);
    Project(input, plan_.num_rows(), layer.v_proj, panels, scratch.second_tile, stride);
    for (int row = 0; row < plan_.num_rows(); ++row) {
      const int position = plan_.rows()[static_cast<size_t>(row)].position;
      float* key = scratch.tile + static_cast<size_t>(row) * stride;
      float* value = scratch.second_tile + static_cast<size_t>(row) * stride;
      for (int head = first; head < last; ++head, key += head_dim, value += head_dim) {
        FinishHead(HeadBias(layer.k_bias, head, head_dim), layer.k_norm, position, key);
        if (!layer.v_bias.empty()) {
          kernels_.elementwise.add(value, HeadBias(layer.v_bias, head, head_dim).data(), head_dim);
        }
        attention_.StoreKeyValue(layer_idx, row, head, key, value);
      }
    }
  }
}

void Decoder::QuantizeAttention(Worker& worker) {
  const WorkRange rows = worker.Split(plan_.num_rows());
  const ActivationRows& to = buffers_.attention;
  for (int row = rows.begin; row < rows.end; ++row) {
    const float* values = buffers_.attention_f32.RowF32(row);
    to.Quantize(kernels_.elementwise, values, to.k, row, /*column=*/0);
  }
}

void Decoder::ProjectGateUp(Worker& worker,
                            const LayerWeights& layer,
                            const ActivationRows& input) {
  const WorkerScratch& scratch = buffers_.workers[static_cast<size_t>(worker.thread_idx())];
  const kernels::ElementwiseKernels& elementwise = kernels_.elementwise;
  const ActivationRows& gated = buffers_.gated;
  const WorkRange share = worker.Split(layer.gate_proj.num_panels(), kGroupSize / kPanelRows);
  for (int first = share.begin; first < share.end; first += TilePanels()) {
    const WorkRange panels = {first, std::min(first + TilePanels(), share.end)};
    const int num_columns = (panels.end - panels.begin) * kPanelRows;
    const size_t stride = static_cast<size_t>(num_columns);
    Project(input, plan_.num_rows(), layer.gate_proj, panels, scratch.tile, stride);
    Project(input, plan_.num_rows(), layer.up_proj, panels, scratch.second_tile, stride);
    for (int row = 0; row < plan_.num_rows(); ++row) {
      float* gate = scratch.tile + static_cast<size_t>(row) * stride;
      const float* up = scratch.second_tile + static_cast<size_t>(row) * stride;
      const int column = first * kPanelRows;
      float* out = gated.is_quantized ? gate : gated.RowF32(row) + column;
      elementwise.silu_mul(gate, up, num_columns, out);
      if (gated.is_quantized) {
        gated.Quantize(elementwise, out, num_columns, row, column);
      }
    }
  }
}

// hidden += input * weight. A thread adds the columns it computed, so no barrier stands between.
void Decoder::ProjectAndAdd(Worker& worker,
                            const PanelMatrix& weight,
                            const ActivationRows& input) {
  float* tile = buffers_.workers[static_cast<size_t>(worker.thread_idx())].tile;
  const size_t hidden_size = static_cast<size_t>(config_.hidden_size);
  const WorkRange share = worker.Split(weight.num_panels(), /*granularity=*/2);
  for (int first = share.begin; first < share.end; first += TilePanels()) {
    const WorkRange panels = {first, std::min(first + TilePanels(), share.end)};
    const int num_columns = (panels.end - panels.begin) * kPanelRows;
    const size_t stride = static_cast<size_t>(num_columns);
    Project(input, plan_.num_rows(), weight, panels, tile, stride);
    for (int row = 0; row < plan_.num_rows(); ++row) {
      float* hidden = buffers_.hidden + static_cast<size_t>(row) * hidden_size;
      kernels_.elementwise.add(
          hidden + first * kPanelRows, tile + static_cast<size_t>(row) * stride, num_columns);
    }
  }
}

}  // namespace whinchat
