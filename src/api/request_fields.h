// SPDX-License-Identifier: Apache-2.0
// The fields that chat and text completions share: sampling, stopping, streaming, the thinking
// switch. Values a request leaves out come from RequestDefaults.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/json_reader.h"
#include "pipeline/text_generator.h"

namespace whinchat {

// What a request gets for what it does not say. Made once by the server.
struct RequestDefaults {
  GenerationDefaults generation;  // of the model, by thinking mode
  nlohmann::ordered_json chat_template_kwargs = nlohmann::ordered_json::object();
  int max_tokens = 1024;       // of the answer, when the request gives no limit
  int reasoning_budget = 512;  // added to max_tokens when thinking is on
  int vocab_size = 0;          // token ids are checked against it; 0: not checked
  int max_num_choices = 16;    // bound of n
  bool template_takes_tools = true;
};

struct StreamOptions {
  bool include_usage = false;
  bool continuous_usage_stats = false;  // usage so far on every chunk
};

// Top level of a request with a literal "extra_body" object unwrapped; explicit fields win.
nlohmann::ordered_json UnwrapExtraBody(nlohmann::ordered_json body);

// Everything in GenerateOptions but num_logprobs, which the two endpoints write differently.
// `starting_point` are the model's defaults for the mode in question.
GenerateOptions ReadGenerateOptions(FieldReader& fields,
                                    const SamplingParams& starting_point,
                                    const RequestDefaults& defaults);
StreamOptions ReadStreamOptions(FieldReader& fields, bool stream);
int ReadNumChoices(FieldReader& fields, const RequestDefaults& defaults);
// The limit, whichever name it has; nothing if the request gives none.
std::optional<int> ReadMaxTokens(FieldReader& fields, int min);

// chat_template_kwargs with enable_thinking filled in, from all spellings of the switch: the most
// specific wins (chat_template_kwargs, enable_thinking, thinking.type, think, reasoning_effort).
nlohmann::ordered_json ReadTemplateKwargs(FieldReader& fields, const RequestDefaults& defaults);

// 400 for fields that would change the answer and that this version can't honour.
void RefuseUnsupportedFields(FieldReader& fields);
// Accepted because clients send them; they have nothing to change here.
void IgnoreHarmlessFields(FieldReader& fields);

}  // namespace whinchat
