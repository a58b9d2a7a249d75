// SPDX-License-Identifier: Apache-2.0
// Random weights of a true shape, for speed runs without a download: codes are raw random bytes,
// one scale per matrix puts their standard deviation near 1/sqrt(k).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "kernels/pack/pack.h"
#include "model/architectures/architecture.h"
#include "model/weight_binding.h"
#include "model/weight_map.h"
#include "model/weight_packing.h"

namespace whinchat {
namespace {

// SplitMix64: each panel starts its own stream, so the result does not depend on the threads.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  // Uniform in [-1, 1).
  float NextSigned() { return static_cast<float>(static_cast<int64_t>(Next()) >> 40) * 0x1p-23F; }

 private:
  uint64_t state_;
};

uint64_t PanelSeed(uint64_t seed, size_t spec_idx, int panel_idx) {
  return RandomStream(seed ^ (spec_idx << 32) ^ static_cast<uint64_t>(panel_idx)).Next();
}

void PackRows(const PanelMatrix& matrix,
              std::span<const kernels::SourceRow> rows,
              std::byte* panel) {
  const kernels::PackResult result =
      kernels::PackPanel(matrix.type, DType::kF32, rows, matrix.k, panel);
  WHINCHAT_CHECK(result == kernels::PackResult::kOk);
}

// Packs uniform random rows through the ordinary path, for float types: they are small test models.
void FillFloatPanel(const PanelMatrix& matrix,
                    int num_rows,
                    RandomStream random,
                    std::byte* panel) {
  const size_t k = static_cast<size_t>(matrix.k);
  const float amplitude = std::sqrt(3.0F / static_cast<float>(matrix.k));
  std::vector<float> values(static_cast<size_t>(num_rows) * k);
  std::generate(values.begin(), values.end(), [&] { return amplitude * random.NextSigned(); });
  std::vector<kernels::SourceRow> rows;
  for (int row = 0; row < num_rows; ++row) {
    const float* first = values.data() + static_cast<size_t>(row) * k;
    rows.push_back(reinterpret_cast<const std::byte*>(first));
  }
  PackRows(matrix, rows, panel);
}

// The panel of one fixed row of values gives the scale bits; the codes are then made random.
void FillQuantizedPanel(const PanelMatrix& matrix,
                        int num_rows,
                        RandomStream random,
                        std::byte* panel) {
  // Uniform codes have a deviation of range / sqrt(12).
  const float code_deviation = CodeBits(matrix.type) == 8 ? 256.0F / 3.4641F : 16.0F / 3.4641F;
  const float max_code = CodeBits(matrix.type) == 8 ? 127.0F : 7.0F;
  const float scale = 1.0F / (code_deviation * std::sqrt(static_cast<float>(matrix.k)));
  const size_t k = static_cast<size_t>(matrix.k);
  std::vector<float> values(k);
  for (size_t i = 0; i < k; ++i) {  // the extremes of both signs, so that every type gets `scale`
    values[i] = (i % 2 == 0 ? max_code : -max_code) * scale;
  }
  const std::vector<kernels::SourceRow> rows(static_cast<size_t>(num_rows),
                                             reinterpret_cast<const std::byte*>(values.data()));
  PackRows(matrix, rows, panel);
  const PanelLayout layout = MakePanelLayout(matrix.type, matrix.k);
  for (size_t i = layout.codes_offset; i + sizeof(uint64_t) <= layout.panel_bytes;
       i += sizeof(uint64_t)) {
    const uint64_t codes = random.Next();
    std::memcpy(panel + i, &codes, sizeof(codes));
  }
}

void FillMatrix(const PanelMatrix& matrix,
                uint64_t seed,
                size_t spec_idx,
                ThreadPool* pool,
                std::byte* packed) {
  const size_t panel_bytes = MakePanelLayout(matrix.type, matrix.k).panel_bytes;
  pool->Run([&](Worker& worker) {
    const WorkRange panels = worker.Split(matrix.num_panels());
    for (int i = panels.begin; i < panels.end; ++i) {
      const RandomStream random(PanelSeed(seed, spec_idx, i));
      std::byte* panel = packed + static_cast<size_t>(i) * panel_bytes;
      const int num_rows = std::min(kPanelRows, matrix.n - i * kPanelRows);
      if (IsQuantized(matrix.type)) {
        FillQuantizedPanel(matrix, num_rows, random, panel);
      } else {
        FillFloatPanel(matrix, num_rows, random, panel);
      }
    }
  });
}

// As for real weights, rows that groups don't divide stay floats.
PackedType TypeFor(const WeightSpec& spec, PackedType type) {
  return IsQuantized(type) && spec.shape.k % kGroupSize != 0 ? PackedType::kBF16 : type;
}

size_t AlignedBytes(const WeightSpec& spec, PackedType wanted) {
  const PackedType type = TypeFor(spec, wanted);
  return (PackedBytes(spec, type) + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

std::unique_ptr<ModelWeights> MakeRandomWeights(const ModelConfig& config,
                                                PackedType type,
                                                uint64_t seed,
                                                ThreadPool* pool) {
  const Architecture* architecture = FindArchitecture(config.architecture);
  if (architecture == nullptr) {
    ThrowError(ErrorCode::kUnsupported,
               "architecture '{}' is not supported; supported are {}",
               config.architecture,
               KnownArchitectureNames());
  }
  auto weights = std::make_unique<ModelWeights>();
  weights->layers.resize(static_cast<size_t>(config.num_layers));
  WeightMap map(CheckpointFormat::kHuggingFace, config.head_dim, weights.get());
  architecture->map_weights(config, &map);
  for (const WeightSpec& spec : map.specs()) {
    weights->total_bytes += AlignedBytes(spec, type);
  }
  weights->memory = AnonymousMapping(weights->total_bytes, "random weights");
  std::byte* next = weights->memory.data();
  for (size_t i = 0; i < map.specs().size(); ++i) {
    const WeightSpec& spec = map.specs()[i];
    if (spec.vector != nullptr) {
      float* values = reinterpret_cast<float*>(next);
      std::fill_n(values, spec.shape.k, spec.tensor_name.ends_with(".bias") ? 0.0F : 1.0F);
      *spec.vector = {values, static_cast<size_t>(spec.shape.k)};
    } else {
      *spec.matrix = {TypeFor(spec, type), spec.shape.n, spec.shape.k, next};
      FillMatrix(*spec.matrix, seed, i, pool, next);
    }
    next += AlignedBytes(spec, type);
  }
  if (config.tie_word_embeddings) {
    weights->lm_head = weights->embed_tokens;
  }
  return weights;
}

}  // namespace whinchat
