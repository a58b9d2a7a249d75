// SPDX-License-Identifier: Apache-2.0
#include "peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "kernels/cpu_features.h"

namespace whinchat::bench {
namespace {

double SecondsOf(ThreadPool& pool, const std::function<void(Worker&)>& task) {
  const auto begin = std::chrono::steady_clock::now();
  pool.Run(task);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr size_t kPrefetchLines = 64;
constexpr int kVnniRounds = 1'000'000;
constexpr int kVnniChains = 16;

#if defined(__x86_64__)
// Sixteen independent chains, so that neither latency nor loads limit.
__attribute__((target("avx512f"))) void RunVnniRounds() {
  for (int i = 0; i < kVnniRounds; ++i) {
    asm volatile(
        "vpdpbusd %%zmm16, %%zmm16, %%zmm0\n vpdpbusd %%zmm16, %%zmm16, %%zmm1\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm2\n vpdpbusd %%zmm16, %%zmm16, %%zmm3\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm4\n vpdpbusd %%zmm16, %%zmm16, %%zmm5\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm6\n vpdpbusd %%zmm16, %%zmm16, %%zmm7\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm8\n vpdpbusd %%zmm16, %%zmm16, %%zmm9\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm10\n vpdpbusd %%zmm16, %%zmm16, %%zmm11\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm12\n vpdpbusd %%zmm16, %%zmm16, %%zmm13\n"
        "vpdpbusd %%zmm16, %%zmm16, %%zmm14\n vpdpbusd %%zmm16, %%zmm16, %%zmm15\n" ::
            : "xmm0",
              "xmm1",
              "xmm2",
              "xmm3",
              "xmm4",
              "xmm5",
              "xmm6",
              "xmm7",
              "xmm8",
              "xmm9",
              "xmm10",
              "xmm11",
              "xmm12",
              "xmm13",
              "xmm14",
              "xmm15");
  }
}
#endif

}  // namespace

double MeasureReadBandwidth(ThreadPool& pool, std::span<const std::byte> bytes) {
  std::atomic<uint64_t> checksum = 0;
  const auto num_lines = static_cast<int>(bytes.size() / 64);
  const double seconds = SecondsOf(pool, [&](Worker& worker) {
    const WorkRange range = worker.Split(num_lines);
    const auto* line = reinterpret_cast<const uint64_t*>(bytes.data()) + range.begin * 8L;
    uint64_t sums[8] = {};
    for (int i = range.begin; i < range.end; ++i, line += 8) {
      __builtin_prefetch(line + kPrefetchLines * 8);
      for (int j = 0; j < 8; ++j) {
        sums[j] += line[j];
      }
    }
    checksum += sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
  });
  return static_cast<double>(bytes.size()) / seconds;
}

double MeasureVnniPeak(ThreadPool& pool) {
#if defined(__x86_64__)
  const std::vector<kernels::Isa> isas = kernels::AvailableIsas();
  if (std::find(isas.begin(), isas.end(), kernels::Isa::kAvx512Vnni) != isas.end()) {
    const double seconds = SecondsOf(pool, [](Worker&) { RunVnniRounds(); });
    return 2.0 * 64 * kVnniChains * kVnniRounds * pool.num_threads() / seconds;
  }
#endif
  static_cast<void>(pool);
  return 0;
}

}  // namespace whinchat::bench
