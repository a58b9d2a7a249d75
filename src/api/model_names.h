// SPDX-License-Identifier: Apache-2.0
// Which spellings of a model's name a server answers to: base name, hub id, short name, aliases,
// in any case and spelling (hub/model_names.h).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace whinchat {

class ModelNames {
 public:
  // The first served name is what answers carry; without any it is `base_name` ("Qwen3-0.6B",
  // "SmolLM2-135M-Instruct.Q4_1"). `aliases` are accepted too, but not shown.
  ModelNames(std::string base_name,
             std::vector<std::string> served_names,
             std::vector<std::string> aliases = {});

  const std::string& primary() const { return listed_.front(); }
  // For /v1/models and for error messages.
  const std::vector<std::string>& listed() const { return listed_; }
  // An empty name is this model: there is no other.
  bool Matches(std::string_view name) const;

 private:
  std::vector<std::string> listed_;
  std::set<std::string, std::less<>> accepted_;  // canonical spellings
};

}  // namespace whinchat
