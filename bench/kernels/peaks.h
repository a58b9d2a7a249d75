// SPDX-License-Identifier: Apache-2.0
// What the machine can do at best, measured: the yardsticks of the kernel benchmarks.
#pragma once

#include <cstddef>
#include <span>

#include "base/thread_pool.h"

namespace whinchat::bench {

// Bytes a second of reading `bytes` once, split over the pool's threads, with software prefetch.
double MeasureReadBandwidth(ThreadPool& pool, std::span<const std::byte> bytes);

// int8 operations (2 x MAC) a second of vpdpbusd zmm on registers; 0 where the processor lacks it.
double MeasureVnniPeak(ThreadPool& pool);

}  // namespace whinchat::bench
