// SPDX-License-Identifier: Apache-2.0
// min_p, top_k and top_p all keep a beginning of the vocabulary sorted by weight, so only that
// beginning is ever sorted: the top_k candidates, or without top_k as many as top_p turns out to
// need. Without top_k and top_p the token is drawn from the unsorted vocabulary.
#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "sampling/logits_processors.h"
#include "sampling/philox.h"
#include "sampling/softmax.h"
#include "sampling/top_selection.h"

namespace whinchat {
namespace {

constexpr float kGreedyBelowTemperature = 1e-5F;  // as vLLM
constexpr int kFirstNucleusCandidates = 256;      // holds nearly every top_p nucleus
constexpr int kNucleusGrowth = 8;

}  // namespace

struct Sampler::State {
  State(const SamplingParams& sampling_params, std::span<const TokenId> prompt)
      : params(sampling_params), processors(sampling_params, prompt) {}

  TokenId Choose(std::span<const float> logits, const Candidate& greatest, int position);
  TokenId DrawFromTop(std::span<const float> logits, const Softmax& softmax, double random);
  bool CutToNucleus(double total);
  double WeighCandidates(const Softmax& softmax);
  void AddLogprobs(std::span<const float> raw_logits, int num_logprobs, SampledToken* token);

  const SamplingParams params;
  LogitsProcessors processors;
  std::vector<Candidate> candidates;  // sorted; scratch, kept for its memory
  std::vector<double> weights;        // of `candidates`
  std::vector<double> tile_sums;      // of the whole vocabulary
};

Sampler::Sampler(const SamplingParams& params, std::span<const TokenId> prompt)
    : state_(std::make_unique<State>(params, prompt)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

SampledToken Sampler::Sample(std::span<const float> logits, int position) {
  WHINCHAT_CHECK(!logits.empty());
  const std::span<const float> processed = state_->processors.Apply(logits);
  SampledToken token;
  if (const auto greatest = SelectGreatest(processed)) {
    token.token_id = state_->Choose(processed, *greatest, position);
  } else if (const auto forbidden = SelectGreatest(logits)) {
    token.token_id = forbidden->token_id;  // everything is masked: the model's own choice
  }
  state_->processors.Append(token.token_id);
  if (state_->params.num_logprobs) {
    state_->AddLogprobs(logits, *state_->params.num_logprobs, &token);
  }
  return token;
}

TokenId Sampler::State::Choose(std::span<const float> logits,
                               const Candidate& greatest,
                               int position) {
  if (params.temperature < kGreedyBelowTemperature || params.top_k == 1) {
    return greatest.token_id;
  }
  const double random = UniformAt(params.seed.value_or(0), static_cast<uint64_t>(position));
  const Softmax softmax(greatest.logit, params.temperature, params.min_p);
  const bool has_top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < logits.size();
  if (has_top_k || params.top_p < 1.0F) {
    return DrawFromTop(logits, softmax, random);
  }
  const double total = softmax.Sum(logits, &tile_sums);
  return softmax.Draw(logits, tile_sums, random * total);
}

TokenId Sampler::State::DrawFromTop(std::span<const float> logits,
                                    const Softmax& softmax,
                                    double random) {
  const int vocab_size = static_cast<int>(logits.size());
  const bool has_top_k = params.top_k > 0 && params.top_k < vocab_size;
  double total = has_top_k ? 0.0 : softmax.Sum(logits, &tile_sums);
  for (int k = has_top_k ? params.top_k : std::min(vocab_size, kFirstNucleusCandidates);;
       k = k > vocab_size / kNucleusGrowth ? vocab_size : k * kNucleusGrowth) {
    SelectTop(logits, k, &candidates);
    const double selected = WeighCandidates(softmax);
    total = has_top_k ? selected : total;
    if (CutToNucleus(total) || has_top_k || k == vocab_size) {
      break;
    }
  }
  double kept = 0.0;
  for (const double weight : weights) {
    kept += weight;
  }
  const double target = random * kept;
  double running = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    running += weights[i];
    if (target < running) {
      return candidates[i].token_id;
    }
  }
  return candidates[weights.size() - 1].token_id;
}

// Weighs the candidates down to the first that min_p refuses. Returns the sum.
double Sampler::State::WeighCandidates(const Softmax& softmax) {
  weights.clear();
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    const double weight = softmax.WeightOf(candidate.logit);
    if (weight == 0.0) {
      break;
    }
    weights.push_back(weight);
    sum += weight;
  }
  return sum;
}

// Keeps the smallest beginning whose weight reaches top_p of `total`. False if it does not.
bool Sampler::State::CutToNucleus(double total) {
  const double wanted = static_cast<double>(params.top_p) * total;
  double running = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    running += weights[i];
    if (running >= wanted) {
      weights.resize(i + 1);
      return true;
    }
  }
  return weights.size() < candidates.size();  // min_p ended it: there is no more to come
}

void Sampler::State::AddLogprobs(std::span<const float> raw_logits,
                                 int num_logprobs,
                                 SampledToken* token) {
  const std::optional<Candidate> greatest = SelectGreatest(raw_logits);
  if (!greatest) {
    token->logprob = -std::numeric_limits<float>::infinity();
    return;
  }
  const Softmax softmax(greatest->logit, /*temperature=*/1.0, /*min_weight=*/0.0);
  const double log_total = std::log(softmax.Sum(raw_logits, &tile_sums));
  const auto finite = [](float logit) {
    return static_cast<double>(std::min(logit, std::numeric_limits<float>::max()));
  };
  const auto logprob_of = [&](float logit) {
    return std::isnan(logit)
               ? -std::numeric_limits<float>::infinity()
               : static_cast<float>(finite(logit) - finite(greatest->logit) - log_total);
  };
  token->logprob = logprob_of(raw_logits[static_cast<size_t>(token->token_id)]);
  if (num_logprobs > 0) {
    SelectTop(raw_logits, num_logprobs, &candidates);
    for (const Candidate& candidate : candidates) {
      token->top_logprobs.push_back({candidate.token_id, logprob_of(candidate.logit)});
    }
  }
}

}  // namespace whinchat
