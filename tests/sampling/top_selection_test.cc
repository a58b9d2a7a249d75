// SPDX-License-Identifier: Apache-2.0
// Selection against a full sort, with ties, NaN and infinities, at ragged sizes.
#include "sampling/top_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace whinchat {
namespace {

std::vector<Candidate> SortAll(const std::vector<float>& logits) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i]) && logits[i] != -INFINITY) {
      all.push_back({logits[i], static_cast<TokenId>(i)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit;
  });
  return all;
}

// kind 0: distinct; 1: many ties; 2: ascending, the worst case; 3: with NaN and infinities.
std::vector<float> MakeLogits(size_t size, int kind, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(size);
  for (size_t i = 0; i < size; ++i) {
    logits[i] = kind == 2 ? static_cast<float>(i) : normal(random);
    logits[i] = kind == 1 ? std::round(logits[i]) : logits[i];
    if (kind == 3) {
      const float special[] = {NAN, INFINITY, -INFINITY, -0.0F};
      logits[i] = random() % 3 == 0 ? special[random() % 4] : logits[i];
    }
  }
  return logits;
}

TEST(SelectTop, EqualsAFullSort) {
  std::mt19937 random(1);
  for (const size_t size : {1, 31, 32, 33, 500, 5003}) {
    for (int kind = 0; kind < 4; ++kind) {
      const std::vector<float> logits = MakeLogits(size, kind, random);
      const std::vector<Candidate> sorted = SortAll(logits);
      for (const int k : {1, 2, 20, 64, 65, 1000, 6000}) {
        SCOPED_TRACE(testing::Message() << "size " << size << " kind " << kind << " k " << k);
        std::vector<Candidate> top;
        SelectTop(logits, k, &top);
        ASSERT_EQ(top.size(), std::min(sorted.size(), static_cast<size_t>(k)));
        for (size_t i = 0; i < top.size(); ++i) {
          EXPECT_EQ(top[i].token_id, sorted[i].token_id);
          EXPECT_EQ(top[i].logit, sorted[i].logit);
        }
      }
      const auto greatest = SelectGreatest(logits);
      ASSERT_EQ(greatest.has_value(), !sorted.empty());
      if (greatest) {
        EXPECT_EQ(greatest->token_id, sorted[0].token_id);
      }
    }
  }
}

}  // namespace
}  // namespace whinchat
