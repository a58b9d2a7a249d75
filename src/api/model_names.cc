// SPDX-License-Identifier: Apache-2.0
#include "api/model_names.h"

#include <utility>

#include "hub/model_names.h"

namespace whinchat {

ModelNames::ModelNames(std::string base_name,
                       std::vector<std::string> served_names,
                       std::vector<std::string> aliases) {
  listed_ = std::move(served_names);
  if (listed_.empty()) {
    listed_.push_back(base_name);
  }
  std::vector<std::string> names = listed_;
  names.push_back(std::move(base_name));
  names.insert(names.end(), aliases.begin(), aliases.end());
  for (const std::string& name : names) {
    accepted_.merge(ModelNameSpellings(name));
  }
}

bool ModelNames::Matches(std::string_view name) const {
  return name.empty() || accepted_.contains(CanonicalModelName(name));
}

}  // namespace whinchat
