// SPDX-License-Identifier: Apache-2.0
// Reads tokenizer.json in one pass: the vocabulary and the merges, which are nearly all of the
// file, straight into their vectors; the small rest as a JSON tree, which tokenizer_json.cc
// interprets.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whinchat {

struct TokenizerJson {
  nlohmann::json tree;             // the file without model.vocab and model.merges
  bool has_vocab = false;          // model.vocab was an object
  std::vector<std::string> vocab;  // by id, raw bytes
  std::vector<std::pair<std::string, std::string>> merges;  // by rank, raw bytes
};

// Throws Error{kCorruptFile} with the place of the fault.
TokenizerJson ReadTokenizerJson(std::string_view json, std::string_view file_name);

}  // namespace whinchat
