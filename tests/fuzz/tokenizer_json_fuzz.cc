// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a tokenizer.json either give an Error or a tokenizer that encodes
// and decodes; the input's end is the text. Its seeds are in corpus/.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t num_bytes) {
  using namespace whinchat;
  const std::string_view input(reinterpret_cast<const char*>(bytes), num_bytes);
  const size_t text_begin = input.rfind('}') == std::string_view::npos ? 0 : input.rfind('}') + 1;
  const std::string_view text = input.substr(text_begin);
  try {
    const Tokenizer tokenizer(ParseTokenizerJson(input.substr(0, text_begin), "fuzz.json"));
    const std::vector<TokenId> ids = tokenizer.Encode(text, {.add_special_tokens = true});
    StreamingDetokenizer detokenizer(tokenizer, /*skip_special_tokens=*/false);
    std::string streamed;
    for (const TokenId id : ids) {
      WHINCHAT_CHECK(id >= 0 && id < tokenizer.vocab_size());
      streamed += detokenizer.Append(id);
    }
    streamed += detokenizer.Flush();
    WHINCHAT_CHECK(streamed == ReplaceInvalidUtf8(tokenizer.Decode(ids)));
  } catch (const Error&) {
    // The one answer to a bad file.
  }
  return 0;
}
