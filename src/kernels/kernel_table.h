// SPDX-License-Identifier: Apache-2.0
// All hot functions of one ISA, picked once at start. Kernels never allocate, throw or spawn.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/attention/attention.h"
#include "kernels/cpu_features.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {

struct KernelTable {
  Isa isa = Isa::kScalar;
  MatmulFn matmul_w8 = nullptr;      // kW8G32, kW8G32Min
  MatmulFn matmul_w4 = nullptr;      // kW4G32, kW4G32Min
  MatmulFn matmul_w8_row = nullptr;  // kW8
  MatmulFn matmul_w4_row = nullptr;  // kW4
  MatmulFn matmul_f32 = nullptr;     // kF32
  MatmulFn matmul_bf16 = nullptr;    // kBF16
  ElementwiseKernels elementwise = {};
  AttentionKernels attention = {};

  // The function for a packed type.
  MatmulFn MatmulFor(PackedType type) const;
};

// The best table for this processor, or the one WHINCHAT_ISA names. Throws Error{kInvalidArgument}
// when WHINCHAT_ISA names an ISA this machine lacks, and lists those it has.
const KernelTable& SelectKernelTable();

// The table of one ISA; nothing if this build or processor lacks it. For tests.
const KernelTable* FindKernelTable(Isa isa);

}  // namespace whinchat::kernels
