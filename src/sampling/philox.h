// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter (Philox4x32-10; Salmon et al., SC 2011): the number of a position is a
// function of (seed, position) alone, whatever else is sampled, on every platform.
#pragma once

#include <array>
#include <cstdint>

namespace whinchat {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Uniform in [0, 1), a multiple of 2^-53.
double UniformAt(uint64_t seed, uint64_t position);

}  // namespace whinchat
