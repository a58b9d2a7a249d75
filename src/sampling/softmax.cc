// SPDX-License-Identifier: Apache-2.0
// One pass over the vocabulary sums the weights tile by tile; a draw walks the tiles' sums and then
// recomputes one tile, so no weights are stored. The loops are written to be vectorized.
#include "sampling/softmax.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace whinchat {
namespace {

constexpr size_t kTileTokens = 256;
constexpr size_t kNumLanes = 8;

double SumOfTile(const Softmax& softmax, std::span<const float> logits) {
  std::array<double, kTileTokens> weights;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = softmax.WeightOf(logits[i]);
  }
  std::fill(weights.begin() + static_cast<std::ptrdiff_t>(logits.size()), weights.end(), 0.0);
  std::array<double, kNumLanes> lanes = {};
  for (size_t i = 0; i < kTileTokens; i += kNumLanes) {
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      lanes[lane] += weights[i + lane];
    }
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

// An infinite logit weighs as the greatest finite one.
Softmax::Softmax(float max_logit, double temperature, double min_weight)
    : max_(std::min(max_logit, std::numeric_limits<float>::max())),
      inverse_temperature_(1.0 / temperature),
      min_weight_(min_weight) {}

double Softmax::Sum(std::span<const float> logits, std::vector<double>* tile_sums) const {
  tile_sums->clear();
  double sum = 0.0;
  while (!logits.empty()) {
    const size_t num_tokens = std::min(logits.size(), kTileTokens);
    tile_sums->push_back(SumOfTile(*this, logits.first(num_tokens)));
    sum += tile_sums->back();
    logits = logits.subspan(num_tokens);
  }
  return sum;
}

TokenId Softmax::Draw(std::span<const float> logits,
                      std::span<const double> tile_sums,
                      double target) const {
  size_t tile = 0;
  size_t last_tile = 0;  // with weight: where rounding may push the target past the end
  double before = 0.0;
  double before_last = 0.0;
  for (; tile < tile_sums.size(); ++tile) {
    if (tile_sums[tile] > 0.0) {
      last_tile = tile;
      before_last = before;
    }
    before += tile_sums[tile];
    if (target < before) {
      break;
    }
  }
  double running = before_last;
  size_t chosen = last_tile * kTileTokens;
  const size_t end = std::min(logits.size(), (last_tile + 1) * kTileTokens);
  for (size_t i = last_tile * kTileTokens; i < end; ++i) {
    const double weight = WeightOf(logits[i]);
    if (weight == 0.0) {
      continue;
    }
    chosen = i;
    running += weight;
    if (target < running) {
      break;
    }
  }
  return static_cast<TokenId>(chosen);
}

}  // namespace whinchat
