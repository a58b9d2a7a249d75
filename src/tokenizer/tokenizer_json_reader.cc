// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_json_reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 64;
constexpr uint64_t kMaxTokenId = (uint64_t{1} << 24) - 1;

// Receives the parser's events. The names are nlohmann's.
class TokenizerJsonHandler {
 public:
  explicit TokenizerJsonHandler(std::string_view file_name) : file_name_(file_name) {}

  TokenizerJson TakeResult() { return std::move(result_); }

  bool null() { return AddScalar(nullptr); }
  bool boolean(bool value) { return AddScalar(value); }
  bool number_integer(json::number_integer_t value) {
    if (section_ == Section::kVocab) {
      Fail("model.vocab gives the token '{}' the id {}", key_, value);
    }
    return AddScalar(value);
  }
  bool number_unsigned(json::number_unsigned_t value) {
    if (section_ == Section::kVocab) {
      return AddToken(value);
    }
    return AddScalar(value);
  }
  bool number_float(json::number_float_t value, const std::string& /*text*/) {
    return AddScalar(value);
  }
  bool string(std::string& value) {
    if (section_ == Section::kMerges) {
      return AddMergeText(value);
    }
    return AddScalar(std::move(value));
  }
  bool binary(json::binary_t& value) { return AddScalar(std::move(value)); }

  bool start_object(size_t /*num_elements*/) {
    RejectInSection("an object");
    if (IsInModel() && key_ == "vocab") {
      section_ = Section::kVocab;
      result_.has_vocab = true;
      return true;
    }
    return Open(json::object());
  }
  bool key(std::string& value) {
    key_ = std::move(value);
    return true;
  }
  bool end_object() { return Close(Section::kVocab); }

  bool start_array(size_t /*num_elements*/) {
    if (section_ == Section::kMerges && !is_in_merge_pair_) {
      is_in_merge_pair_ = true;
      merge_pair_.clear();
      return true;
    }
    RejectInSection("an array");
    if (IsInModel() && key_ == "merges") {
      section_ = Section::kMerges;
      return true;
    }
    return Open(json::array());
  }
  bool end_array() {
    if (is_in_merge_pair_) {
      is_in_merge_pair_ = false;
      if (merge_pair_.size() != 2) {
        Fail("model.merges[{}] has {} parts instead of 2",
             result_.merges.size(),
             merge_pair_.size());
      }
      AddMerge(merge_pair_[0], merge_pair_[1]);
      return true;
    }
    return Close(Section::kMerges);
  }

  bool parse_error(size_t /*position*/,
                   const std::string& /*last_token*/,
                   const json::exception& error) {
    Fail("it is not valid JSON ({})", error.what());
  }

 private:
  enum class Section { kTree, kVocab, kMerges };

  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    ThrowError(ErrorCode::kCorruptFile,
               "can't read the tokenizer '{}': {}",
               file_name_,
               fmt::format(format, std::forward<Args>(args)...));
  }

  void RejectInSection(const char* what) const {
    if (section_ == Section::kVocab) {
      Fail("model.vocab gives the token '{}' {} instead of an id", key_, what);
    }
    if (section_ == Section::kMerges) {
      Fail("model.merges[{}] holds {} instead of text", result_.merges.size(), what);
    }
  }

  bool IsInModel() const { return open_.size() == 2 && is_in_model_; }

  bool AddScalar(json value) {
    RejectInSection("another value");
    Place(std::move(value));
    return true;
  }

  json* Place(json value) {
    if (open_.empty()) {
      result_.tree = std::move(value);
      return &result_.tree;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& slot = parent[key_];
    slot = std::move(value);
    return &slot;
  }

  bool Open(json value) {
    if (open_.size() == kMaxDepth) {
      Fail("it nests deeper than {} levels", kMaxDepth);
    }
    if (open_.size() == 1) {
      is_in_model_ = key_ == "model";
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }

  bool Close(Section closing) {
    if (section_ == closing) {
      section_ = Section::kTree;
    } else {
      open_.pop_back();
    }
    return true;
  }

  bool AddToken(uint64_t id) {
    if (id > kMaxTokenId) {
      Fail("model.vocab gives the token '{}' the id {}, over the limit of {}",
           key_,
           id,
           kMaxTokenId);
    }
    std::vector<std::string>& vocab = result_.vocab;
    if (id >= vocab.size()) {
      vocab.resize(id + 1);
    }
    if (!vocab[id].empty()) {
      Fail("model.vocab gives the id {} to two tokens, the second being '{}'", id, key_);
    }
    vocab[id] = DecodeByteLevel(key_);
    return true;
  }

  // A merge is ["a", "b"] or, in older files, "a b".
  bool AddMergeText(const std::string& text) {
    if (is_in_merge_pair_) {
      merge_pair_.push_back(text);
      return true;
    }
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      Fail("model.merges[{}] is '{}', which is not two parts with a space between",
           result_.merges.size(),
           text);
    }
    AddMerge(std::string_view(text).substr(0, space), std::string_view(text).substr(space + 1));
    return true;
  }

  void AddMerge(std::string_view left, std::string_view right) {
    if (left.empty() || right.empty()) {
      Fail("model.merges[{}] has an empty part", result_.merges.size());
    }
    result_.merges.emplace_back(DecodeByteLevel(left), DecodeByteLevel(right));
  }

  std::string_view file_name_;
  TokenizerJson result_;
  std::vector<json*> open_;  // the arrays and objects around the next value, outermost first
  std::string key_;
  Section section_ = Section::kTree;
  bool is_in_model_ = false;
  bool is_in_merge_pair_ = false;
  std::vector<std::string> merge_pair_;
};

}  // namespace

TokenizerJson ReadTokenizerJson(std::string_view json_text, std::string_view file_name) {
  TokenizerJsonHandler handler(file_name);
  json::sax_parse(json_text, &handler);
  return handler.TakeResult();
}

}  // namespace whinchat
