// SPDX-License-Identifier: Apache-2.0
// What the sampler draws against the exact distribution: frequencies by chi-square, and each single
// draw against a naive sampler (sort everything, long double) that is given the same random number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sampling/philox.h"
#include "sampling/sampler.h"

namespace whinchat {
namespace {

constexpr uint64_t kSeed = 20240607;

struct Probability {
  TokenId token_id = 0;
  long double value = 0;
};

// Greatest first; what top_k, top_p and min_p leave, adding up to 1.
std::vector<Probability> ExactDistribution(const std::vector<float>& logits,
                                           const SamplingParams& params) {
  const long double max = *std::ranges::max_element(logits);
  std::vector<Probability> kept;
  for (size_t i = 0; i < logits.size(); ++i) {
    const long double scaled = (logits[i] - max) / static_cast<long double>(params.temperature);
    kept.push_back({static_cast<TokenId>(i), std::exp(scaled)});
  }
  std::ranges::stable_sort(kept, std::greater{}, &Probability::value);
  std::erase_if(kept, [&](const Probability& p) { return p.value < params.min_p; });
  if (params.top_k > 0) {
    kept.resize(std::min(kept.size(), static_cast<size_t>(params.top_k)));
  }
  const auto normalize = [&] {
    long double sum = 0;
    for (const Probability& p : kept) {
      sum += p.value;
    }
    for (Probability& p : kept) {
      p.value /= sum;
    }
  };
  normalize();
  long double before = 0;
  size_t num_kept = 0;
  while (num_kept < kept.size() && before < static_cast<long double>(params.top_p)) {
    before += kept[num_kept++].value;
  }
  kept.resize(num_kept);
  normalize();
  return kept;
}

SamplingParams MakeParams(float temperature, int top_k, float top_p, float min_p) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  params.seed = kSeed;
  return params;
}

std::vector<SamplingParams> Combinations() {
  std::vector<SamplingParams> all;
  for (const float temperature : {0.3F, 0.7F, 1.0F, 2.5F}) {
    for (const int top_k : {0, 5, 20}) {
      for (const float top_p : {1.0F, 0.8F, 0.95F}) {
        for (const float min_p : {0.0F, 0.02F, 0.2F}) {
          all.push_back(MakeParams(temperature, top_k, top_p, min_p));
        }
      }
    }
  }
  return all;
}

std::vector<float> NormalLogits(size_t size, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(1.0F, deviation);
  std::vector<float> logits(size);
  std::ranges::generate(logits, [&] { return normal(random); });
  return logits;
}

testing::Message Describe(const SamplingParams& params) {
  return testing::Message() << "temperature " << params.temperature << " top_k " << params.top_k
                            << " top_p " << params.top_p << " min_p " << params.min_p;
}

// The 1e-5 quantile of chi-square by Wilson and Hilferty: 108 fixed draws, none may pass it.
double ChiSquareLimit(size_t degrees) {
  const auto n = static_cast<double>(degrees);
  const double cube = 1.0 - 2.0 / (9.0 * n) + 4.265 * std::sqrt(2.0 / (9.0 * n));
  return n * cube * cube * cube;
}

TEST(SamplerDistribution, FrequenciesPassChiSquareForEveryCombination) {
  constexpr int kNumDraws = 20'000;
  const std::vector<float> logits = NormalLogits(50, 2.0F, 3);
  for (const SamplingParams& params : Combinations()) {
    SCOPED_TRACE(Describe(params));
    std::vector<int> counts(logits.size());
    Sampler sampler(params, {});
    for (int position = 0; position < kNumDraws; ++position) {
      ++counts[static_cast<size_t>(sampler.Sample(logits, position).token_id)];
    }
    double chi_square = 0;
    double rare_expected = 0;  // cells under 5 expected draws are put together
    int rare_count = 0;
    int num_seen = 0;
    size_t num_cells = 0;
    const auto add_cell = [&](double expected, int count) {
      chi_square += (count - expected) * (count - expected) / expected;
      ++num_cells;
    };
    for (const Probability& p : ExactDistribution(logits, params)) {
      const double expected = static_cast<double>(p.value) * kNumDraws;
      const int count = counts[static_cast<size_t>(p.token_id)];
      num_seen += count;
      if (expected >= 5) {
        add_cell(expected, count);
      } else {
        rare_expected += expected;
        rare_count += count;
      }
    }
    if (rare_expected >= 5) {
      add_cell(rare_expected, rare_count);
    }
    EXPECT_EQ(num_seen, kNumDraws) << "a token outside the distribution was drawn";
    if (num_cells > 1) {
      EXPECT_LT(chi_square, ChiSquareLimit(num_cells - 1));
    }
  }
}

// Tokens are laid along [0, 1) greatest first, or by id when neither top_k nor top_p sorts them.
TokenId NaiveDraw(std::vector<Probability> distribution, bool is_sorted, double random) {
  if (!is_sorted) {
    std::ranges::sort(distribution, {}, &Probability::token_id);
  }
  long double running = 0;
  for (const Probability& p : distribution) {
    running += p.value;
    if (random < running) {
      return p.token_id;
    }
  }
  return distribution.back().token_id;
}

TEST(SamplerDistribution, EachDrawEqualsANaiveSampler) {
  struct Vocabulary {
    size_t size;
    float deviation;
    int num_draws;
  };
  // The flat ones need many candidates for top_p: several rounds of selection.
  for (const Vocabulary& vocabulary :
       {Vocabulary{50, 2.0F, 500}, Vocabulary{1003, 0.3F, 200}, Vocabulary{5003, 4.0F, 50}}) {
    const std::vector<float> logits = NormalLogits(vocabulary.size, vocabulary.deviation, 4);
    for (const SamplingParams& params : Combinations()) {
      SCOPED_TRACE(Describe(params));
      const std::vector<Probability> distribution = ExactDistribution(logits, params);
      Sampler sampler(params, {});
      for (int position = 0; position < vocabulary.num_draws; ++position) {
        const double random = UniformAt(kSeed, static_cast<uint64_t>(position));
        const bool is_sorted = params.top_k > 0 || params.top_p < 1.0F;
        ASSERT_EQ(sampler.Sample(logits, position).token_id,
                  NaiveDraw(distribution, is_sorted, random));
      }
    }
  }
}

TEST(SamplerDistribution, AFullVocabularyIsDrawnFromEndToEnd) {
  constexpr int kVocabSize = 151'936;
  const std::vector<float> logits = NormalLogits(kVocabSize, 2.0F, 5);
  for (const SamplingParams& params : {MakeParams(1.0F, 0, 1.0F, 0.0F),
                                       MakeParams(0.7F, 20, 0.8F, 0.0F),
                                       MakeParams(1.5F, 0, 0.95F, 0.0F),
                                       MakeParams(1.0F, 0, 1.0F, 0.01F)}) {
    SCOPED_TRACE(Describe(params));
    const std::vector<Probability> distribution = ExactDistribution(logits, params);
    Sampler sampler(params, {});
    for (int position = 0; position < 8; ++position) {
      const double random = UniformAt(kSeed, static_cast<uint64_t>(position));
      const bool is_sorted = params.top_k > 0 || params.top_p < 1.0F;
      EXPECT_EQ(sampler.Sample(logits, position).token_id,
                NaiveDraw(distribution, is_sorted, random));
    }
  }
}

}  // namespace
}  // namespace whinchat
