// SPDX-License-Identifier: Apache-2.0
// Log probabilities in the two shapes of OpenAI's API: a list of entries for chat, four parallel
// lists for completions.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "api/tokenize_request.h"
#include "pipeline/text_generator.h"

namespace whinchat {

// [{"token", "logprob", "bytes", "top_logprobs": [...]}]; a logprob of -inf is -9999.
nlohmann::ordered_json ChatLogprobs(std::span<const SampledToken> tokens,
                                    const TokenTextFn& token_text);

// Grows with the answer: text_offset counts code points from the start of the choice's text.
class CompletionLogprobs {
 public:
  void Append(std::span<const SampledToken> tokens, const TokenTextFn& token_text);
  // {"text_offset", "token_logprobs", "tokens", "top_logprobs"} of what came since the last call.
  nlohmann::ordered_json Take();

 private:
  size_t num_code_points_ = 0;
  nlohmann::ordered_json text_offset_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json token_logprobs_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json tokens_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json top_logprobs_ = nlohmann::ordered_json::array();
};

}  // namespace whinchat
