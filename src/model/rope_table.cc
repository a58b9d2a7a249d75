// SPDX-License-Identifier: Apache-2.0
#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace whinchat {
namespace {

// Llama 3: long wavelengths are stretched by `factor`, short ones kept, those between blended.
double ScaleLlama3(double frequency, const RopeScaling& scaling) {
  const double original_len = scaling.original_max_position_embeddings;
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  if (wavelength > original_len / low) {
    return frequency / scaling.factor;
  }
  if (wavelength < original_len / high) {
    return frequency;
  }
  const double smooth = (original_len / wavelength - low) / (high - low);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

double Scale(double frequency, const RopeScaling& scaling) {
  switch (scaling.kind) {
    case RopeScalingKind::kLinear:
      return frequency / scaling.factor;
    case RopeScalingKind::kLlama3:
      return ScaleLlama3(frequency, scaling);
    case RopeScalingKind::kNone:
      return frequency;
  }
  return frequency;
}

}  // namespace

RopeTable::RopeTable(const ModelConfig& config, std::span<const float> freq_factors)
    : half_dim_(config.head_dim / 2),
      table_(static_cast<size_t>(config.max_seq_len) * static_cast<size_t>(config.head_dim) *
                 sizeof(float),
             "rotary positions") {
  for (int i = 0; i < half_dim_; ++i) {
    const double frequency = std::pow(static_cast<double>(config.rope_theta),
                                      -2.0 * i / static_cast<double>(config.head_dim));
    const size_t idx = static_cast<size_t>(i);
    const double divisor = freq_factors.empty() ? 1.0 : static_cast<double>(freq_factors[idx]);
    inverse_frequencies_.push_back(Scale(frequency, config.rope_scaling) / divisor);
  }
}

void RopeTable::FillShare(int num_positions, const Worker& worker) {
  const WorkRange share = worker.Split(std::max(num_positions - num_filled_, 0));
  for (int i = share.begin; i < share.end; ++i) {
    const int position = num_filled_ + i;
    float* cos = Row(position);
    float* sin = cos + half_dim_;
    for (int j = 0; j < half_dim_; ++j) {
      const double angle = position * inverse_frequencies_[static_cast<size_t>(j)];
      cos[j] = static_cast<float>(std::cos(angle));
      sin[j] = static_cast<float>(std::sin(angle));
    }
  }
}

void RopeTable::MarkFilled(int num_positions) {
  num_filled_ = std::max(num_filled_, num_positions);
}

}  // namespace whinchat
