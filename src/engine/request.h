// SPDX-License-Identifier: Apache-2.0
// What goes into the engine and what comes out. Token ids only: no text, no JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "sampling/sampler.h"
#include "sampling/sampling_params.h"

namespace whinchat {

struct Request {
  std::string request_id;
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  std::string cache_salt;  // separates prefix caches
  int priority = 0;        // lower first, as vLLM
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kError };

// Where the time of a request went; part of its last output.
struct RequestTimings {
  double queue_ms = 0;
  double prefill_ms = 0;
  double first_token_ms = 0;  // from Submit
  double total_ms = 0;
};

// One token, or the end, or both: the last token that max_tokens allows comes with kLength.
struct TokenOutput {
  bool has_token = false;
  SampledToken token;
  FinishReason finish_reason = FinishReason::kNone;
  TokenId stop_token_id = -1;  // with kStop: which stop token ended it (that token is not output)
  int num_prompt_tokens = 0;
  int num_cached_tokens = 0;
  RequestTimings timings;
  std::string error_message;  // with kError
};

}  // namespace whinchat
