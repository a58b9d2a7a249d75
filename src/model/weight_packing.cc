// SPDX-License-Identifier: Apache-2.0
#include "model/weight_packing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/check.h"
#include "base/error.h"
#include "kernels/pack/pack.h"

namespace whinchat {
namespace {

// Rows of each head as GGUF's `llama` stores them: pairs (i, i + d/2) side by side.
int InterleavedRow(int row, int head_dim) {
  const int half_dim = head_dim / 2;
  const int within = row % head_dim;
  return row - within + 2 * (within % half_dim) + within / half_dim;
}

class MatrixPacker {
 public:
  MatrixPacker(const WeightSource& source, std::span<std::byte> packed)
      : source_(source),
        shape_(source.spec->shape),
        layout_(MakePanelLayout(source.type, shape_.k)),
        row_bytes_(StorageBytes(source.tensor->dtype, shape_.k)),
        packed_(packed) {}

  int num_panels() const { return (shape_.n + kPanelRows - 1) / kPanelRows; }
  // The lowest panel that could not be packed and why; panel INT_MAX if there is none.
  int bad_panel() const { return bad_panel_; }
  kernels::PackResult fault() const { return fault_; }

  void PackPanel(int panel_idx) {
    const int row_begin = panel_idx * kPanelRows;
    const int num_rows = std::min(kPanelRows, shape_.n - row_begin);
    std::array<kernels::SourceRow, kPanelRows> rows = {};
    for (int i = 0; i < num_rows; ++i) {
      rows[static_cast<size_t>(i)] = Row(row_begin + i);
    }
    const kernels::PackResult result =
        kernels::PackPanel(source_.type,
                           source_.tensor->dtype,
                           std::span(rows.data(), static_cast<size_t>(num_rows)),
                           shape_.k,
                           packed_.data() + static_cast<size_t>(panel_idx) * layout_.panel_bytes);
    if (result != kernels::PackResult::kOk) {
      ReportFault(panel_idx, result);
    }
  }

 private:
  kernels::SourceRow Row(int row) const {
    const int head_dim = source_.spec->interleaved_head_dim;
    const int source_row = head_dim > 0 ? InterleavedRow(row, head_dim) : row;
    return source_.tensor->bytes.data() + static_cast<size_t>(source_row) * row_bytes_;
  }

  void ReportFault(int panel_idx, kernels::PackResult result) {
    const std::lock_guard lock(fault_mutex_);
    if (panel_idx < bad_panel_) {
      bad_panel_ = panel_idx;
      fault_ = result;
    }
  }

  const WeightSource& source_;
  const MatrixShape shape_;
  const PanelLayout layout_;
  const size_t row_bytes_;
  const std::span<std::byte> packed_;
  std::mutex fault_mutex_;
  int bad_panel_ = std::numeric_limits<int>::max();
  kernels::PackResult fault_ = kernels::PackResult::kOk;
};

void PackVector(const WeightSource& source, std::span<std::byte> packed) {
  const int k = source.spec->shape.k;
  float* values = reinterpret_cast<float*>(packed.data());
  kernels::DequantizeRow(source.tensor->dtype, source.tensor->bytes.data(), k, values);
  const auto bad = std::find_if_not(values, values + k, [](float v) { return std::isfinite(v); });
  if (bad != values + k) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor {}: element {} is not a finite number",
               source.file_name,
               source.tensor->name,
               bad - values);
  }
}

}  // namespace

PackedType ChoosePackedType(WeightMode mode, DType dtype, int k) {
  if (mode == WeightMode::kF32) {
    return PackedType::kF32;
  }
  if (mode == WeightMode::kBF16) {
    return PackedType::kBF16;
  }
  if (k % kGroupSize != 0) {
    return dtype == DType::kBF16 ? PackedType::kBF16 : PackedType::kF32;
  }
  return kernels::PackedTypeFor(dtype);
}

size_t PackedBytes(const WeightSpec& spec, PackedType type) {
  if (spec.vector != nullptr) {
    return static_cast<size_t>(spec.shape.k) * sizeof(float);
  }
  return PanelMatrix{type, spec.shape.n, spec.shape.k, nullptr}.TotalBytes();
}

void PackWeight(const WeightSource& source, ThreadPool* pool, std::span<std::byte> packed) {
  WHINCHAT_CHECK(packed.size() == PackedBytes(*source.spec, source.type));
  if (source.spec->vector != nullptr) {
    PackVector(source, packed);
    return;
  }
  MatrixPacker packer(source, packed);
  pool->Run([&packer](Worker& worker) {
    const WorkRange panels = worker.Split(packer.num_panels());
    for (int panel = panels.begin; panel < panels.end; ++panel) {
      packer.PackPanel(panel);
    }
  });
  if (packer.fault() != kernels::PackResult::kOk) {
    const int row = packer.bad_panel() * kPanelRows;
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor {} {} in rows {} to {}",
               source.file_name,
               source.tensor->name,
               kernels::PackFaultText(packer.fault()),
               row,
               std::min(row + kPanelRows, source.spec->shape.n) - 1);
  }
}

}  // namespace whinchat
