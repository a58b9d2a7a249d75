// SPDX-License-Identifier: Apache-2.0
// One sweep over all matrices of a model (random codes, its true shapes, its own memory for every
// layer) as a forward pass does it: threads split the panels, a barrier after each product.
// tokens/s, GB/s of weights and GOP/s (2 x MAC), and the share of what the machine gives at best.
// Fair on a noisy machine: --benchmark_enable_random_interleaving=true --benchmark_repetitions=9.
//
//   matmul_bench [--benchmark_filter=qwen3.*w4_g32/m:1/]      row: model/isa/type/m/threads
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "peaks.h"

namespace whinchat::bench {
namespace {

using kernels::Isa;
using kernels::KernelTable;
using kernels::MatmulArgs;
using kernels::MatmulFn;

constexpr int kMaxTokens = 512;

struct MatrixShape {
  int n;
  int k;
};

struct ModelShape {
  const char* name;
  int num_layers;
  std::vector<MatrixShape> layer;  // qkv, o, gate+up, down
  MatrixShape head;                // last token only, as in prefill
};

const std::vector<ModelShape>& Models() {
  static const std::vector<ModelShape> models = {
      {"qwen3_0_6b", 28, {{4096, 1024}, {1024, 2048}, {6144, 1024}, {1024, 3072}}, {151936, 1024}},
      {"smollm2_135m", 30, {{960, 576}, {576, 576}, {3072, 576}, {576, 1536}}, {49152, 576}},
  };
  return models;
}

// Zeroed pages, as a program's own memory has them.
std::span<std::byte> MapBytes(size_t size) {
  void* const bytes =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  WHINCHAT_CHECK(bytes != MAP_FAILED);
  madvise(bytes, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(bytes), size};
}

// All matrices of a model in one buffer, in order of execution.
struct ModelWeights {
  std::vector<PanelMatrix> matrices;
  std::span<std::byte> bytes;
  double num_macs = 0;  // per token, without the head
  double num_head_macs = 0;
};

void FillPanels(const PanelMatrix& matrix, std::byte* bytes) {
  const PanelLayout layout = MakePanelLayout(matrix.type, matrix.k);
  std::minstd_rand random(7);
  for (int p = 0; p < matrix.num_panels(); ++p) {
    std::byte* const panel = bytes + layout.panel_bytes * static_cast<size_t>(p);
    auto* const halves = reinterpret_cast<uint16_t*>(panel);
    std::fill(halves, halves + layout.codes_offset / 2, uint16_t{0x1400});  // 2^-10
    auto* const words = reinterpret_cast<uint32_t*>(panel + layout.codes_offset);
    const size_t num_words = (layout.panel_bytes - layout.codes_offset) / sizeof(uint32_t);
    for (size_t i = 0; i < num_words; ++i) {
      const auto word = static_cast<uint32_t>(random());
      words[i] = IsQuantized(matrix.type) ? word : (word & 0x007F007FU) | 0x3F003F00U;
    }
  }
}

ModelWeights MakeWeights(const ModelShape& model, PackedType type) {
  ModelWeights weights;
  size_t size = 0;
  const auto add = [&](const MatrixShape& shape) {
    weights.matrices.push_back({.type = type, .n = shape.n, .k = shape.k, .panels = nullptr});
    size += weights.matrices.back().TotalBytes();
    return static_cast<double>(shape.n) * shape.k;
  };
  for (int i = 0; i < model.num_layers; ++i) {
    for (const MatrixShape& shape : model.layer) {
      weights.num_macs += add(shape);
    }
  }
  weights.num_head_macs = add(model.head);
  weights.bytes = MapBytes(size);
  std::byte* next = weights.bytes.data();
  for (PanelMatrix& matrix : weights.matrices) {
    FillPanels(matrix, next);
    matrix.panels = next;
    next += matrix.TotalBytes();
  }
  return weights;
}

// The newest model only: the largest takes 2.4 GB as fp32.
const ModelWeights& WeightsOf(const ModelShape& model, PackedType type) {
  static std::map<std::string, ModelWeights> made;
  const std::string key = std::string(model.name) + std::string(PackedTypeName(type));
  const auto found = made.find(key);
  return found != made.end() ? found->second
                             : made.emplace(key, MakeWeights(model, type)).first->second;
}

ThreadPool& PoolOf(int num_threads) {
  static std::map<int, std::unique_ptr<ThreadPool>> pools;
  std::unique_ptr<ThreadPool>& pool = pools[num_threads];
  if (pool == nullptr) {
    pool = std::make_unique<ThreadPool>(num_threads);
  }
  return *pool;
}

struct Peaks {
  double read_bytes = 0;
  double vnni_ops = 0;
};

// Best of five: what the machine gives when nobody else uses it.
const Peaks& PeaksOf(int num_threads) {
  static std::map<int, Peaks> measured;
  const auto found = measured.find(num_threads);
  if (found != measured.end()) {
    return found->second;
  }
  static const std::span<std::byte> buffer = [] {
    const std::span<std::byte> bytes = MapBytes(size_t{320} << 20);
    std::fill(bytes.begin(), bytes.end(), std::byte{1});
    return bytes;
  }();
  Peaks& peaks = measured[num_threads];
  for (int i = 0; i < 5; ++i) {
    peaks.read_bytes =
        std::max(peaks.read_bytes, MeasureReadBandwidth(PoolOf(num_threads), buffer));
    peaks.vnni_ops = std::max(peaks.vnni_ops, MeasureVnniPeak(PoolOf(num_threads)));
  }
  std::printf("peak of %d thread(s): read %.1f GB/s, VNNI %.0f GOP/s\n",
              num_threads,
              peaks.read_bytes * 1e-9,
              peaks.vnni_ops * 1e-9);
  return peaks;
}

struct Activations {
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  std::vector<float> f32;
  std::vector<float> dst;

  explicit Activations(const ModelShape& model) {
    int max_k = 0;
    int max_layer_n = 0;
    for (const MatrixShape& shape : model.layer) {
      max_k = std::max(max_k, shape.k);
      max_layer_n = std::max(max_layer_n, shape.n);
    }
    const size_t num_values = static_cast<size_t>(kMaxTokens) * static_cast<size_t>(max_k);
    std::minstd_rand random(11);
    for (size_t i = 0; i < num_values; ++i) {
      codes.push_back(static_cast<int8_t>(static_cast<int>(random() % 255) - 127));
    }
    f32.assign(num_values, 0.5F);
    scales.assign(num_values / kGroupSize, 0x1p-7F);
    sums.assign(num_values / kGroupSize, 100);
    dst.resize(static_cast<size_t>(std::max(kMaxTokens * max_layer_n, model.head.n + kPanelRows)));
  }
};

void Sweep(
    Worker& worker, const ModelWeights& weights, MatmulFn matmul, int m, Activations& activations) {
  for (const PanelMatrix& matrix : weights.matrices) {
    const WorkRange range = worker.Split(matrix.num_panels());
    MatmulArgs args;
    args.lhs = {.codes = activations.codes.data(),
                .scales = activations.scales.data(),
                .sums = activations.sums.data()};
    args.lhs_f32 = activations.f32.data();
    args.m = &matrix == &weights.matrices.back() && m > 16 ? 1 : m;
    args.rhs = matrix;
    args.panel_begin = range.begin;
    args.panel_end = range.end;
    args.dst = activations.dst.data();
    args.dst_stride = args.m == m && m > 16
                          ? static_cast<size_t>(matrix.n)
                          : activations.dst.size() / static_cast<size_t>(args.m) / 16 * 16;
    matmul(args);
    worker.Barrier();
  }
}

void RunModel(benchmark::State& state,
              const ModelShape& model,
              PackedType type,
              MatmulFn matmul,
              int m,
              int num_threads) {
  const Peaks& peaks = PeaksOf(num_threads);
  const ModelWeights& weights = WeightsOf(model, type);
  Activations activations(model);
  ThreadPool& pool = PoolOf(num_threads);
  for (auto _ : state) {
    pool.Run([&](Worker& worker) { Sweep(worker, weights, matmul, m, activations); });
  }
  const auto num_sweeps = static_cast<double>(state.iterations());
  const double num_ops =
      2 * (weights.num_macs * m + weights.num_head_macs * (m > 16 ? 1 : m)) * num_sweeps;
  const double num_bytes = static_cast<double>(weights.bytes.size()) * num_sweeps;
  using benchmark::Counter;
  state.counters["tok/s"] = Counter(m * num_sweeps, Counter::kIsRate);
  state.counters["GB/s"] = Counter(num_bytes * 1e-9, Counter::kIsRate);
  state.counters["GOP/s"] = Counter(num_ops * 1e-9, Counter::kIsRate);
  state.counters["%read"] = Counter(100 * num_bytes / peaks.read_bytes, Counter::kIsRate);
  if (peaks.vnni_ops > 0) {
    state.counters["%vnni"] = Counter(100 * num_ops / peaks.vnni_ops, Counter::kIsRate);
  }
}

void RegisterAll() {
  for (const ModelShape& model : Models()) {
    for (const Isa isa : kernels::AvailableIsas()) {
      for (const PackedType type : {PackedType::kW8G32,
                                    PackedType::kW8G32Min,
                                    PackedType::kW4G32,
                                    PackedType::kW4G32Min,
                                    PackedType::kBF16,
                                    PackedType::kF32}) {
        for (const int m : {1, 2, 4, 8, 128, 512}) {
          for (const int num_threads : {1, 2}) {
            const std::string name = std::string(model.name) + "/" + std::string(IsaName(isa)) +
                                     "/" + std::string(PackedTypeName(type)) +
                                     "/m:" + std::to_string(m) +
                                     "/threads:" + std::to_string(num_threads);
            const MatmulFn matmul = kernels::FindKernelTable(isa)->MatmulFor(type);
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&model, type, matmul, m, num_threads](auto& state) {
                                           RunModel(state, model, type, matmul, m, num_threads);
                                         })
                ->UseRealTime()
                ->Unit(benchmark::kMillisecond);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace whinchat::bench

int main(int argc, char** argv) {
  std::printf("%s\n", whinchat::kernels::DescribeCpu().c_str());
  whinchat::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
