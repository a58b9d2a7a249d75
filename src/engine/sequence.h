// SPDX-License-Identifier: Apache-2.0
// A request on its way through the engine. Only the engine thread touches it after Submit.
// Prefill and decode are one thing: compute what is not computed yet; a token is sampled whenever
// the computed tokens reach the end. A preempted sequence starts again from num_computed_tokens 0
// with its output kept, and continues with the same tokens: logits do not depend on how the tokens
// were cut into chunks, and the sampler keeps its counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/drafter.h"
#include "engine/request.h"
#include "engine/token_stream.h"
#include "kv_cache/block_manager.h"
#include "sampling/sampler.h"

namespace whinchat {

struct Sequence {
  using Time = std::chrono::steady_clock::time_point;

  explicit Sequence(Request submitted)
      : request(std::move(submitted)),
        stream(std::make_shared<TokenStream>()),
        sampler(request.sampling, request.prompt),
        token_ids(std::move(request.prompt)),
        num_prompt_tokens(static_cast<int>(token_ids.size())) {}

  int NumTokens() const { return static_cast<int>(token_ids.size()); }
  int NumOutputTokens() const { return NumTokens() - num_prompt_tokens; }
  int NumUncomputedTokens() const { return NumTokens() - num_computed_tokens; }

  // Scheduled earlier, preempted later.
  bool RanksBefore(const Sequence& other) const {
    return request.priority != other.request.priority ? request.priority < other.request.priority
                                                      : arrival < other.arrival;
  }

  Request request;  // its prompt has moved to token_ids
  std::shared_ptr<TokenStream> stream;
  Sampler sampler;
  Drafter drafter;
  std::vector<TokenId> token_ids;    // prompt, then output
  std::vector<BlockId> block_table;  // covers all of token_ids while running
  int num_prompt_tokens = 0;
  int num_computed_tokens = 0;  // whose keys and values are in the blocks
  int num_cached_tokens = 0;    // of the prompt, found in the prefix cache when first admitted
  uint64_t arrival = 0;         // order of Submit

  Time submit_time = std::chrono::steady_clock::now();
  std::optional<Time> admit_time;  // first time
  std::optional<Time> first_token_time;
};

}  // namespace whinchat
