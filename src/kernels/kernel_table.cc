// SPDX-License-Identifier: Apache-2.0
// Assembles the table of each ISA and picks one by what the processor has or WHINCHAT_ISA names.
#include "kernels/kernel_table.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"

namespace whinchat::kernels {
namespace {

KernelTable MakeKernelTable(Isa isa) {
  const MatmulKernels matmul = MakeMatmulKernels(isa);
  return {.isa = isa,
          .matmul_w8 = matmul.matmul_w8,
          .matmul_w4 = matmul.matmul_w4,
          .matmul_w8_row = matmul.matmul_w8_row,
          .matmul_w4_row = matmul.matmul_w4_row,
          .matmul_f32 = matmul.matmul_f32,
          .matmul_bf16 = matmul.matmul_bf16,
          .elementwise = MakeElementwiseKernels(isa),
          .attention = MakeAttentionKernels(isa)};
}

// One table for each available ISA, lowest first.
const std::vector<KernelTable>& KernelTables() {
  static const std::vector<KernelTable> tables = [] {
    std::vector<KernelTable> result;
    for (const Isa isa : AvailableIsas()) {
      result.push_back(MakeKernelTable(isa));
    }
    return result;
  }();
  return tables;
}

std::string AvailableIsaNames() {
  std::string names;
  for (const KernelTable& table : KernelTables()) {
    names += names.empty() ? "" : ", ";
    names += IsaName(table.isa);
  }
  return names;
}

}  // namespace

MatmulFn KernelTable::MatmulFor(PackedType type) const {
  switch (type) {
    case PackedType::kF32:
      return matmul_f32;
    case PackedType::kBF16:
      return matmul_bf16;
    case PackedType::kW8G32:
    case PackedType::kW8G32Min:
      return matmul_w8;
    case PackedType::kW4G32:
    case PackedType::kW4G32Min:
      return matmul_w4;
    case PackedType::kW8:
      return matmul_w8_row;
    case PackedType::kW4:
      return matmul_w4_row;
  }
  WHINCHAT_CHECK(!"a packed type without a matmul");
  return nullptr;
}

const KernelTable& SelectKernelTable() {
  const char* const wanted = std::getenv("WHINCHAT_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    return KernelTables().back();
  }
  for (const KernelTable& table : KernelTables()) {
    if (IsaName(table.isa) == wanted) {
      return table;
    }
  }
  ThrowError(ErrorCode::kInvalidArgument,
             "WHINCHAT_ISA is '{}', which this program can't use on this processor; it has: {}",
             wanted,
             AvailableIsaNames());
}

const KernelTable* FindKernelTable(Isa isa) {
  for (const KernelTable& table : KernelTables()) {
    if (table.isa == isa) {
      return &table;
    }
  }
  return nullptr;
}

}  // namespace whinchat::kernels
