// SPDX-License-Identifier: Apache-2.0
#include "api/answer.h"

#include <fmt/format.h>

#include <random>

namespace whinchat {

using nlohmann::ordered_json;

std::string MakeAnswerId(std::string_view prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return fmt::format("{}-{:016x}{:016x}", prefix, random(), random());
}

ordered_json UsageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.num_prompt_tokens},
          {"completion_tokens", usage.num_completion_tokens},
          {"total_tokens", usage.num_prompt_tokens + usage.num_completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.num_cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.num_reasoning_tokens}}}};
}

ordered_json FinishReasonJson(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return nullptr;
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
    case FinishReason::kError:
      return "abort";
  }
  return nullptr;
}

ordered_json StopReasonJson(const GenerationDelta& delta) {
  return delta.stop_reason.empty() ? ordered_json(nullptr) : ordered_json(delta.stop_reason);
}

}  // namespace whinchat
