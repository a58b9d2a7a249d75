// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels at Qwen3-0.6B's sizes, on every ISA this machine has. All operands stay
// in the L1/L2 caches, as between two matrix products. GB/s counts what is read and written,
// elements of 4 bytes (codes of 1).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu_features.h"
#include "kernels/kernel_table.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {
namespace {

constexpr int kHidden = 1024;
constexpr int kIntermediate = 3072;
constexpr int kHeadDim = 128;
constexpr int kVocabulary = 151'936;
constexpr size_t kFloatBytes = sizeof(float);

std::vector<float> RandomNormal(int n) {
  static std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) {
    value = normal(generator);
  }
  return x;
}

// Operands shared by all cases.
struct Operands {
  std::vector<float> x = RandomNormal(kIntermediate);
  std::vector<float> y = RandomNormal(kIntermediate);
  std::vector<float> out = RandomNormal(kIntermediate);
  // A true rotation: others would drive the vector to subnormals or infinity.
  std::vector<float> cos = std::vector<float>(kHeadDim / 2, 0.6F);
  std::vector<float> sin = std::vector<float>(kHeadDim / 2, 0.8F);
  std::vector<float> logits = RandomNormal(kVocabulary);
  std::vector<int8_t> codes = std::vector<int8_t>(kIntermediate);
  std::vector<float> scales = std::vector<float>(kIntermediate / 32);
  std::vector<int32_t> sums = std::vector<int32_t>(kIntermediate / 32);
  std::vector<std::byte> head =
      std::vector<std::byte>(KvLayout{.dtype = KvDType::kInt8, .head_dim = kHeadDim}.HeadBytes());
};

struct Case {
  std::string name;
  size_t num_bytes;  // read and written by one call
  std::function<void(const ElementwiseKernels&, Operands&)> call;
};

std::vector<Case> Cases() {
  return {
      {"rms_norm/1024",
       4 * kHidden * kFloatBytes,
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.rms_norm(
             operands.x.data(), operands.y.data(), 1e-6F, kHidden, operands.out.data());
       }},
      {"quantize_row/3072",
       kIntermediate * (kFloatBytes + 1),
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.quantize_row(operands.x.data(),
                              kIntermediate,
                              /*block=*/32,
                              {operands.codes.data(),
                               operands.scales.data(),
                               operands.sums.data(),
                               operands.sums.data()});
       }},
      {"add/1024",
       3 * kHidden * kFloatBytes,
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.add(operands.out.data(), operands.y.data(), kHidden);
       }},
      {"silu_mul/3072",
       3 * kIntermediate * kFloatBytes,
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.silu_mul(operands.x.data(), operands.y.data(), kIntermediate, operands.out.data());
       }},
      {"rope/128",
       3 * kHeadDim * kFloatBytes,
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.rope(operands.out.data(), operands.cos.data(), operands.sin.data(), kHeadDim);
       }},
      {"write_kv_int8/128",
       2 * kHeadDim * (kFloatBytes + 1),
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.write_kv_int8(
             operands.x.data(), operands.y.data(), kHeadDim, 7, operands.head.data());
       }},
      {"quantize_query/128",
       kHeadDim * (kFloatBytes + 1),
       [](const ElementwiseKernels& kernels, Operands& operands) {
         kernels.quantize_query(operands.x.data(),
                                kHeadDim,
                                0.088F,
                                operands.codes.data(),
                                operands.scales.data(),
                                operands.sums.data());
       }},
      {"argmax/151936",
       kVocabulary * kFloatBytes,
       [](const ElementwiseKernels& kernels, Operands& operands) {
         benchmark::DoNotOptimize(kernels.argmax(operands.logits.data(), kVocabulary));
       }},
  };
}

void RegisterCases() {
  for (const Isa isa : AvailableIsas()) {
    for (const Case& shape : Cases()) {
      const std::string name = std::string(IsaName(isa)) + "/" + shape.name;
      benchmark::RegisterBenchmark(name.c_str(), [isa, shape](benchmark::State& state) {
        const ElementwiseKernels kernels = FindKernelTable(isa)->elementwise;
        Operands operands;
        for (auto _ : state) {
          shape.call(kernels, operands);
          benchmark::ClobberMemory();
        }
        state.counters["GB/s"] = benchmark::Counter(static_cast<double>(shape.num_bytes) * 1e-9,
                                                    benchmark::Counter::kIsIterationInvariantRate);
      });
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
