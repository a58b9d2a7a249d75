// SPDX-License-Identifier: Apache-2.0
// The model a server answers with, and what requests get for what they leave out. Made once when
// the model is loaded, then read by all threads.
#pragma once

#include "api/model_list.h"
#include "api/model_names.h"
#include "api/request_fields.h"
#include "api/tokenize_request.h"
#include "pipeline/text_generator.h"
#include "server/server.h"

namespace whinchat {

struct ServedModel {
  TextGenerator* generator;
  ModelNames names;
  ModelCard card;
  RequestDefaults defaults;
};

ServedModel MakeServedModel(TextGenerator* generator, const ServerOptions& options);

// Throws ApiError 404 unless `name`, as a request has it, is this model.
void CheckModelName(const ServedModel& model, std::string_view name);

// Raw bytes of the model's tokens. Must not outlive the generator.
TokenTextFn TokenTextOf(const ServedModel& model);

}  // namespace whinchat
