// SPDX-License-Identifier: Apache-2.0
// Tokens to text as they come, never cutting a UTF-8 character.
#pragma once

#include <string>
#include <string_view>

#include "base/token_id.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

class StreamingDetokenizer {
 public:
  // `tokenizer` must outlive this.
  explicit StreamingDetokenizer(const Tokenizer& tokenizer, bool skip_special_tokens = true);

  // The text that is certain after this token: whole characters only. Bytes that can't become a
  // character come out as U+FFFD as soon as that is known.
  std::string Append(TokenId id);
  // What is still held back, invalid bytes as U+FFFD. Call at the end.
  std::string Flush();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_tokens_;
  std::string held_;  // at most 3 bytes: the start of a character
};

}  // namespace whinchat
