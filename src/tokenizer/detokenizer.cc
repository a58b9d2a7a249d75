// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include <cstddef>
#include <string>
#include <utility>

#include "base/token_id.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

StreamingDetokenizer::StreamingDetokenizer(const Tokenizer& tokenizer, bool skip_special_tokens)
    : tokenizer_(&tokenizer), skip_special_tokens_(skip_special_tokens) {}

std::string StreamingDetokenizer::Append(TokenId id) {
  if (skip_special_tokens_ && tokenizer_->IsSpecial(id)) {
    return {};
  }
  held_.append(tokenizer_->TokenBytes(id));
  const size_t certain_length = held_.size() - CutUtf8SuffixLength(held_);
  std::string text = ReplaceInvalidUtf8(std::string_view(held_).substr(0, certain_length));
  held_.erase(0, certain_length);
  return text;
}

std::string StreamingDetokenizer::Flush() {
  return ReplaceInvalidUtf8(std::exchange(held_, std::string()));
}

}  // namespace whinchat
