// SPDX-License-Identifier: Apache-2.0
// Ids outside the vocabulary are ignored here: Engine::Submit refuses them.
#include "sampling/logits_processors.h"

#include <limits>

namespace whinchat {
namespace {

float* Find(std::vector<float>& logits, TokenId token_id) {
  const bool is_known = token_id >= 0 && static_cast<size_t>(token_id) < logits.size();
  return is_known ? &logits[static_cast<size_t>(token_id)] : nullptr;
}

}  // namespace

LogitsProcessors::LogitsProcessors(const SamplingParams& params, std::span<const TokenId> prompt)
    : repetition_penalty_(params.repetition_penalty),
      presence_penalty_(params.presence_penalty),
      frequency_penalty_(params.frequency_penalty),
      min_tokens_(params.min_tokens),
      stop_token_ids_(params.stop_token_ids),
      logit_bias_(params.logit_bias.begin(), params.logit_bias.end()),
      has_penalties_(repetition_penalty_ != 1.0F || presence_penalty_ != 0.0F ||
                     frequency_penalty_ != 0.0F) {
  if (repetition_penalty_ != 1.0F) {
    for (const TokenId token_id : prompt) {
      Seen(token_id);
    }
  }
}

std::span<const float> LogitsProcessors::Apply(std::span<const float> logits) {
  const bool has_min_tokens = num_output_tokens_ < min_tokens_ && !stop_token_ids_.empty();
  const bool has_seen = has_penalties_ && !seen_.empty();
  if (!has_min_tokens && logit_bias_.empty() && !has_seen) {
    return logits;
  }
  logits_.assign(logits.begin(), logits.end());
  if (has_min_tokens) {
    ForbidStopTokens();
  }
  for (const auto& [token_id, bias] : logit_bias_) {
    if (float* logit = Find(logits_, token_id)) {
      *logit += bias;
    }
  }
  if (has_seen) {
    ApplyPenalties();
  }
  return logits_;
}

void LogitsProcessors::ForbidStopTokens() {
  for (const TokenId token_id : stop_token_ids_) {
    if (float* logit = Find(logits_, token_id)) {
      *logit = -std::numeric_limits<float>::infinity();
    }
  }
}

void LogitsProcessors::ApplyPenalties() {
  for (const SeenToken& seen : seen_) {
    float* logit = Find(logits_, seen.token_id);
    if (logit == nullptr) {
      continue;
    }
    *logit = *logit > 0.0F ? *logit / repetition_penalty_ : *logit * repetition_penalty_;
    *logit -= frequency_penalty_ * static_cast<float>(seen.num_outputs);
    *logit -= seen.num_outputs > 0 ? presence_penalty_ : 0.0F;
  }
}

void LogitsProcessors::Append(TokenId token_id) {
  ++num_output_tokens_;
  if (has_penalties_) {
    ++Seen(token_id).num_outputs;
  }
}

LogitsProcessors::SeenToken& LogitsProcessors::Seen(TokenId token_id) {
  const auto [found, is_new] = seen_idx_.emplace(token_id, seen_.size());
  if (is_new) {
    seen_.push_back({token_id, 0});
  }
  return seen_[found->second];
}

}  // namespace whinchat
