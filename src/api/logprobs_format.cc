// SPDX-License-Identifier: Apache-2.0
#include "api/logprobs_format.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace whinchat {
namespace {

using nlohmann::ordered_json;

// JSON has no infinity; OpenAI and vLLM write this.
constexpr float kFloor = -9999.0F;

float Floored(float logprob) {
  return std::isnan(logprob) ? kFloor : std::max(logprob, kFloor);
}

ordered_json Bytes(const std::string& text) {
  ordered_json bytes = ordered_json::array();
  for (const char c : text) {
    bytes.push_back(static_cast<unsigned char>(c));
  }
  return bytes;
}

ordered_json ChatEntry(TokenId id, float logprob, const TokenTextFn& token_text) {
  const std::string text = token_text(id);
  return {{"token", text}, {"logprob", Floored(logprob)}, {"bytes", Bytes(text)}};
}

size_t CountCodePoints(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

ordered_json ChatLogprobs(std::span<const SampledToken> tokens, const TokenTextFn& token_text) {
  ordered_json content = ordered_json::array();
  for (const SampledToken& token : tokens) {
    ordered_json entry = ChatEntry(token.token_id, token.logprob, token_text);
    entry["top_logprobs"] = ordered_json::array();
    for (const TokenLogprob& top : token.top_logprobs) {
      entry["top_logprobs"].push_back(ChatEntry(top.token_id, top.logprob, token_text));
    }
    content.push_back(std::move(entry));
  }
  return content;
}

void CompletionLogprobs::Append(std::span<const SampledToken> tokens,
                                const TokenTextFn& token_text) {
  for (const SampledToken& token : tokens) {
    const std::string text = token_text(token.token_id);
    text_offset_.push_back(num_code_points_);
    num_code_points_ += CountCodePoints(text);
    token_logprobs_.push_back(Floored(token.logprob));
    ordered_json top_entries = ordered_json::object();
    for (const TokenLogprob& top : token.top_logprobs) {
      top_entries[token_text(top.token_id)] = Floored(top.logprob);
    }
    top_entries[text] = Floored(token.logprob);
    tokens_.push_back(text);
    top_logprobs_.push_back(std::move(top_entries));
  }
}

ordered_json CompletionLogprobs::Take() {
  return {{"text_offset", std::exchange(text_offset_, ordered_json::array())},
          {"token_logprobs", std::exchange(token_logprobs_, ordered_json::array())},
          {"tokens", std::exchange(tokens_, ordered_json::array())},
          {"top_logprobs", std::exchange(top_logprobs_, ordered_json::array())}};
}

}  // namespace whinchat
