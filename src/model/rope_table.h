// SPDX-License-Identifier: Apache-2.0
// Cosines and sines of the rotary positions, computed in double once per position as sequences get
// that long, kept in fp32.
#pragma once

#include <span>
#include <vector>

#include "base/anonymous_mapping.h"
#include "base/thread_pool.h"
#include "model/model_config.h"

namespace whinchat {

class RopeTable {
 public:
  // `freq_factors` [head_dim / 2] divide the frequencies (GGUF's Llama 3); may be empty.
  RopeTable(const ModelConfig& config, std::span<const float> freq_factors);

  // Fills this thread's share of the positions below `num_positions` that are still missing. All
  // threads of a Run call it, then a barrier follows.
  void FillShare(int num_positions, const Worker& worker);
  // After that Run: remembers what is there.
  void MarkFilled(int num_positions);

  const float* Cos(int position) const { return Row(position); }              // [head_dim / 2]
  const float* Sin(int position) const { return Row(position) + half_dim_; }  // [head_dim / 2]

  // Radians per position of each pair, scaling included. For tests.
  const std::vector<double>& inverse_frequencies() const { return inverse_frequencies_; }
  size_t bytes() const { return table_.size(); }

 private:
  float* Row(int position) const {
    return reinterpret_cast<float*>(table_.data()) +
           static_cast<size_t>(position) * 2 * static_cast<size_t>(half_dim_);
  }

  int half_dim_;
  int num_filled_ = 0;
  std::vector<double> inverse_frequencies_;  // [head_dim / 2]
  AnonymousMapping table_;                   // [max_seq_len][2][head_dim / 2] fp32
};

}  // namespace whinchat
