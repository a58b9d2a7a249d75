// SPDX-License-Identifier: Apache-2.0
// Logits above a rising threshold are gathered; whenever 2k are there, the best k stay and the k-th
// becomes the threshold. Tiles without a logit above it cost one vectorized compare each.
#include "sampling/top_selection.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace whinchat {
namespace {

constexpr size_t kTileTokens = 32;
constexpr size_t kMinCapacity = 128;

inline bool HasLogitAbove(const float* logits, float threshold) {
  int is_above = 0;
  for (size_t i = 0; i < kTileTokens; ++i) {
    is_above |= logits[i] > threshold ? 1 : 0;
  }
  return is_above != 0;
}

template <typename Visit>
void VisitTileAbove(std::span<const float> logits,
                    size_t begin,
                    size_t end,
                    const float* threshold,
                    const Visit& visit) {
  for (size_t i = begin; i < end; ++i) {
    if (logits[i] > *threshold) {
      visit(i);
    }
  }
}

// Calls visit(index) for each logit that is above *threshold, which `visit` may raise.
template <typename Visit>
void VisitAbove(std::span<const float> logits, const float* threshold, const Visit& visit) {
  for (size_t begin = 0; begin < logits.size(); begin += kTileTokens) {
    const size_t end = std::min(begin + kTileTokens, logits.size());
    if (end - begin == kTileTokens && !HasLogitAbove(logits.data() + begin, *threshold)) {
      continue;
    }
    VisitTileAbove(logits, begin, end, threshold, visit);
  }
}

bool IsBefore(const Candidate& a, const Candidate& b) {
  return a.IsBefore(b);
}

}  // namespace

std::optional<Candidate> SelectGreatest(std::span<const float> logits) {
  Candidate best = {-std::numeric_limits<float>::infinity(), -1};
  VisitAbove(logits, &best.logit, [&](size_t i) { best = {logits[i], static_cast<TokenId>(i)}; });
  return best.token_id < 0 ? std::nullopt : std::optional(best);
}

void SelectTop(std::span<const float> logits, int k, std::vector<Candidate>* top) {
  WHINCHAT_CHECK(k >= 1);
  const auto num_wanted = static_cast<std::ptrdiff_t>(k);
  const size_t capacity = std::max(kMinCapacity, 2 * static_cast<size_t>(k));
  top->clear();
  top->reserve(std::min(capacity, logits.size()));
  float threshold = -std::numeric_limits<float>::infinity();
  VisitAbove(logits, &threshold, [&](size_t i) {
    top->push_back({logits[i], static_cast<TokenId>(i)});
    if (top->size() == capacity) {
      // Later logits equal to the k-th lose to it by their id: strictly above is right.
      std::nth_element(top->begin(), top->begin() + num_wanted - 1, top->end(), IsBefore);
      top->resize(static_cast<size_t>(k));
      threshold = top->back().logit;
    }
  });
  if (top->size() > static_cast<size_t>(k)) {
    std::nth_element(top->begin(), top->begin() + num_wanted - 1, top->end(), IsBefore);
    top->resize(static_cast<size_t>(k));
  }
  std::sort(top->begin(), top->end(), IsBefore);
}

}  // namespace whinchat
