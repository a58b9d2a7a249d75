// SPDX-License-Identifier: Apache-2.0
// Attention of one KV head over spans of 256 tokens, on every ISA this machine has.
// "hot": one span, in the L1/L2 caches, as in a prefill tile. "cold": the next of 64 MB of spans at
// each call, as in decode over a long context. GOP/s counts 2 operations a product of QK and PV
// (softmax is overhead); GB/s counts the bytes of K and V.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu_features.h"
#include "kernels/kernel_table.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {
namespace {

constexpr int kSpanBlocks = kAttentionSpanTokens / kKvBlockTokens;
constexpr size_t kColdBytes = size_t{64} << 20;

struct Case {
  Isa isa;
  KvDType dtype;
  int head_dim;
  int num_queries;
  bool is_cold;
};

// Spans of random keys and values, and the queries for them.
class Workload {
 public:
  Workload(const Case& shape, const ElementwiseKernels& elementwise)
      : shape_(shape),
        layout_{.dtype = shape.dtype, .head_dim = shape.head_dim},
        num_spans_(shape.is_cold ? kColdBytes / (layout_.HeadBytes() * kSpanBlocks) : 1),
        num_visible_(Size(shape.num_queries), kAttentionSpanTokens),
        out_(Size(shape.num_queries * shape.head_dim)),
        max_(Size(shape.num_queries)),
        sum_(Size(shape.num_queries)) {
    FillQueries(elementwise);
    FillBlocks(elementwise);
  }

  size_t SpanBytes() const { return layout_.HeadBytes() * kSpanBlocks; }
  size_t SpanOperations() const {
    return 2 * 2 * Size(shape_.num_queries * shape_.head_dim * kAttentionSpanTokens);
  }

  AttentionSpanArgs Next() {
    span_idx_ = (span_idx_ + 1) % num_spans_;
    return {.q_codes = q_codes_.data(),
            .q_scales = q_scales_.data(),
            .q_sums = q_sums_.data(),
            .q_f32 = queries_.data(),
            .softmax_scale = SoftmaxScale(),
            .num_visible = num_visible_.data(),
            .num_queries = shape_.num_queries,
            .head_dim = shape_.head_dim,
            .heads = &heads_[span_idx_ * kSpanBlocks],
            .out = out_.data(),
            .max = max_.data(),
            .sum = sum_.data()};
  }

 private:
  static size_t Size(int n) { return static_cast<size_t>(n); }
  float SoftmaxScale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)); }

  std::vector<float> RandomRows(int num_rows) {
    std::normal_distribution<float> normal;
    std::vector<float> rows(Size(num_rows * shape_.head_dim));
    for (float& x : rows) {
      x = normal(generator_);
    }
    return rows;
  }

  void FillQueries(const ElementwiseKernels& elementwise) {
    queries_ = RandomRows(shape_.num_queries);
    q_codes_.resize(queries_.size());
    q_scales_.resize(Size(shape_.num_queries));
    q_sums_.resize(Size(shape_.num_queries));
    for (int q = 0; q < shape_.num_queries; ++q) {
      const size_t row = Size(q * shape_.head_dim);
      elementwise.quantize_query(&queries_[row],
                                 shape_.head_dim,
                                 SoftmaxScale(),
                                 &q_codes_[row],
                                 &q_scales_[Size(q)],
                                 &q_sums_[Size(q)]);
    }
  }

  // All blocks have the same random content: only their places matter.
  void FillBlocks(const ElementwiseKernels& elementwise) {
    const size_t head_bytes = layout_.HeadBytes();
    storage_.resize(num_spans_ * SpanBytes() + 64);
    const size_t misalignment = reinterpret_cast<uintptr_t>(storage_.data()) % 64;
    std::byte* const first = storage_.data() + (64 - misalignment) % 64;
    const std::vector<float> rows = RandomRows(2 * kKvBlockTokens);
    for (size_t block = 0; block < num_spans_ * kSpanBlocks; ++block) {
      std::byte* const head = first + block * head_bytes;
      for (int t = 0; t < kKvBlockTokens; ++t) {
        const float* k = &rows[Size(2 * t * shape_.head_dim)];
        (shape_.dtype == KvDType::kInt8 ? elementwise.write_kv_int8 : elementwise.write_kv_f32)(
            k, k + shape_.head_dim, shape_.head_dim, t, head);
      }
      heads_.push_back(head);
    }
  }

  Case shape_;
  KvLayout layout_;
  size_t num_spans_;
  size_t span_idx_ = 0;
  std::mt19937 generator_{1};
  std::vector<float> queries_;    // [num_queries, head_dim]
  std::vector<int8_t> q_codes_;   // [num_queries, head_dim]
  std::vector<float> q_scales_;   // [num_queries]
  std::vector<int32_t> q_sums_;   // [num_queries]
  std::vector<int> num_visible_;  // [num_queries]
  std::vector<float> out_;        // [num_queries, head_dim]
  std::vector<float> max_;        // [num_queries]
  std::vector<float> sum_;        // [num_queries]
  std::vector<std::byte> storage_;
  std::vector<const std::byte*> heads_;  // [num_spans, kSpanBlocks]
};

void MeasureSpan(benchmark::State& state, Case shape) {
  const KernelTable& table = *FindKernelTable(shape.isa);
  Workload workload(shape, table.elementwise);
  const auto attention_span = shape.dtype == KvDType::kInt8 ? table.attention.attention_span_int8
                                                            : table.attention.attention_span_f32;
  for (auto _ : state) {
    attention_span(workload.Next());
    benchmark::ClobberMemory();
  }
  const auto per_second = [&](size_t amount) {
    return benchmark::Counter(static_cast<double>(amount) * 1e-9,
                              benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["GOP/s"] = per_second(workload.SpanOperations());
  state.counters["GB/s"] = per_second(workload.SpanBytes());
}

void RegisterCases() {
  for (const Isa isa : AvailableIsas()) {
    for (const KvDType dtype : {KvDType::kInt8, KvDType::kF32}) {
      for (const int head_dim : {64, 128}) {
        for (const int num_queries : {1, 2, 3, 8, 16, 64}) {
          for (const bool is_cold : {false, true}) {
            const std::string name =
                "attention_" + std::string(dtype == KvDType::kInt8 ? "int8" : "f32") + "/" +
                std::string(IsaName(isa)) + "/head_dim:" + std::to_string(head_dim) +
                "/queries:" + std::to_string(num_queries) + (is_cold ? "/cold" : "/hot");
            benchmark::RegisterBenchmark(
                name.c_str(), MeasureSpan, Case{isa, dtype, head_dim, num_queries, is_cold});
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace whinchat::kernels

int main(int argc, char** argv) {
  std::cout << whinchat::kernels::DescribeCpu() << "\n";
  whinchat::kernels::RegisterCases();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
