// SPDX-License-Identifier: Apache-2.0
// Turns the pieces of one or more generations into the answer to one request: as server-sent
// events while they come, or as one body at the end. One object per request; one thread at a time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/text_generator.h"

namespace whinchat {

// What every chunk of an answer carries.
struct AnswerIdentity {
  std::string id;       // "chatcmpl-..." or "cmpl-..."
  int64_t created = 0;  // seconds since 1970
  std::string model;    // the first served name, whatever the client called it
};

class Answer {
 public:
  virtual ~Answer() = default;

  // Streaming. Events ready to send; may be empty. `usage` is that of all choices so far.
  virtual std::string StreamBegin() = 0;
  virtual std::string StreamDelta(int choice_idx,
                                  const GenerationDelta& delta,
                                  const Usage& usage) = 0;
  virtual std::string StreamEnd(const Usage& usage) = 0;

  // Not streaming.
  virtual void Collect(int choice_idx, const GenerationDelta& delta) = 0;
  virtual std::string Body(const Usage& usage) = 0;
};

// Unique within and across processes for all practical purposes: 128 random bits.
std::string MakeAnswerId(std::string_view prefix);

nlohmann::ordered_json UsageJson(const Usage& usage);

// "stop", "length", "abort"; null while the choice goes on.
nlohmann::ordered_json FinishReasonJson(FinishReason reason);
nlohmann::ordered_json StopReasonJson(const GenerationDelta& delta);

}  // namespace whinchat
