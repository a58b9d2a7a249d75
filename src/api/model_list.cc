// SPDX-License-Identifier: Apache-2.0
#include "api/model_list.h"

#include "api/api_error.h"
#include "api/json_reader.h"

namespace whinchat {
namespace {

nlohmann::ordered_json CardJson(std::string_view id, const ModelCard& card) {
  return {{"id", id},
          {"object", "model"},
          {"created", card.created},
          {"owned_by", "whinchat"},
          {"root", card.root},
          {"parent", nullptr},
          {"max_model_len", card.max_model_len},
          {"permission", nlohmann::ordered_json::array()}};
}

}  // namespace

std::string ModelListBody(const ModelNames& names, const ModelCard& card) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& name : names.listed()) {
    list.push_back(CardJson(name, card));
  }
  return DumpJson({{"object", "list"}, {"data", std::move(list)}});
}

std::string ModelBody(std::string_view name, const ModelNames& names, const ModelCard& card) {
  if (!names.Matches(name)) {
    ThrowModelNotFound(name, names.listed());
  }
  return DumpJson(CardJson(name, card));
}

}  // namespace whinchat
