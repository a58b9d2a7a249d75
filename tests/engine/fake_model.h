// SPDX-License-Identifier: Apache-2.0
// A model whose next-token logits are a hash of the whole token history as it stands in the KV
// blocks: Forward writes token and position of each token into its slot and reads all earlier slots
// back. A wrong block table, a stale or shared block written to, a bad prefix hit or a lost token
// after preemption changes every later token.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.h"
#include "model/model.h"

namespace whinchat {

inline constexpr int kFakeVocabSize = 64;
inline constexpr TokenId kPoisonToken = 63;  // a batch that holds it fails

// How the next token hangs on the tokens before it: on all alike, or mostly on the last one, so
// that sequences run into what they said before.
enum class FakeText { kRandom, kRepetitive };

// What a test may watch and steer while the engine owns the model.
struct FakeModelControl {
  struct BatchRecord {
    std::vector<int> start_positions;
    std::vector<int> num_tokens;
  };

  std::function<void()> before_forward;  // on the engine thread; may block
  std::atomic<int> num_forwards = 0;
  std::atomic<int> num_violations = 0;  // of what the engine promises a model
  std::mutex mutex;
  std::vector<BatchRecord> batches;

  std::vector<BatchRecord> Batches() {
    const std::lock_guard lock(mutex);
    return batches;
  }
};

// The logits after `history`.
std::vector<float> FakeLogits(const std::vector<TokenId>& history,
                              FakeText text = FakeText::kRandom);

std::unique_ptr<Model> MakeFakeModel(FakeModelControl* control, FakeText text = FakeText::kRandom);

// What a request must give: the tokens one after the other, without an engine.
struct ExpectedAnswer {
  std::vector<TokenId> tokens;
  FinishReason finish_reason = FinishReason::kNone;
  TokenId stop_token_id = -1;
};

ExpectedAnswer AnswerAlone(const Request& request,
                           int max_model_len,
                           FakeText text = FakeText::kRandom);

// What came out of a stream, to its end.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<SampledToken> sampled;  // the same with their logprobs
  TokenOutput end;
};

Answer ReadAll(TokenStream& stream);

void ExpectAnswer(const Answer& actual, const ExpectedAnswer& expected);

// Tokens that differ by `seed`, none of them poison.
std::vector<TokenId> MakePrompt(int num_tokens, uint32_t seed);

Request MakeRequest(std::vector<TokenId> prompt, int max_tokens);

}  // namespace whinchat
