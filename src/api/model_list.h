// SPDX-License-Identifier: Apache-2.0
// The answers of GET /v1/models and /v1/models/{id}, with vLLM's max_model_len.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/model_names.h"

namespace whinchat {

struct ModelCard {
  int64_t created = 0;
  int max_model_len = 0;
  std::string root;  // the model's own name
};

std::string ModelListBody(const ModelNames& names, const ModelCard& card);
// Throws ApiError 404 for a name that is none of the model's.
std::string ModelBody(std::string_view name, const ModelNames& names, const ModelCard& card);

}  // namespace whinchat
