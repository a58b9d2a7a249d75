// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE, exactly as Hugging Face `tokenizers` does it. Immutable after construction: any
// thread may call any method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

// How text is cut into words before BPE. Named after the models that use them.
enum class PreTokenizerKind { kGpt2, kQwen2, kLlama3, kSmolLm };

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool is_special = false;  // skipped by Decode with skip_special_tokens
  bool lstrip = false;      // takes the white space to its left with it
  bool rstrip = false;
  bool single_word = false;
  bool normalized = false;
};

// Everything a tokenizer is made of, whatever file it came from.
struct TokenizerSpec {
  PreTokenizerKind pre_tokenizer = PreTokenizerKind::kGpt2;
  bool normalize_nfc = false;
  bool add_prefix_space = false;
  bool ignore_merges = false;      // Llama-3: a whole word that is a token needs no merges
  std::vector<std::string> vocab;  // by id, as raw bytes (byte-level alphabet undone);
                                   // holes are empty strings
  std::vector<std::pair<std::string, std::string>> merges;  // by rank, raw bytes
  std::vector<AddedToken> added_tokens;
  std::optional<TokenId> bos_token_id;
  std::optional<TokenId> eos_token_id;
  std::optional<TokenId> unk_token_id;  // for bytes that are no token; without it they vanish
  bool fuse_unk = false;                // several such bytes in a row give one unk_token_id
  bool add_bos = false;                 // the post-processor or GGUF's add_bos_token says so
  bool add_eos = false;
};

// Parses tokenizer.json. Throws Error{kCorruptFile, kUnsupported} that names the field.
TokenizerSpec ParseTokenizerJson(std::string_view json, std::string_view file_name);

// Raw bytes of a token written in GPT-2's byte-level alphabet (as tokenizer.json and GGUF have it).
std::string DecodeByteLevel(std::string_view token);

struct EncodeOptions {
  bool add_special_tokens = false;   // BOS and EOS where the model wants them
  bool parse_special_tokens = true;  // "<|im_end|>" in the text becomes the token. Off for text
                                     // that users wrote and that must stay text
};

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerSpec spec);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Invalid UTF-8 is encoded byte by byte as Hugging Face does after its lossy conversion:
  // each maximal invalid part becomes U+FFFD.
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  // Raw bytes: may end inside a character. Unknown ids give nothing.
  std::string Decode(std::span<const TokenId> ids, bool skip_special_tokens = false) const;
  std::string_view TokenBytes(TokenId id) const;
  bool IsSpecial(TokenId id) const;

  std::optional<TokenId> FindToken(std::string_view content) const;  // raw bytes or added token
  int vocab_size() const;
  std::optional<TokenId> bos_token_id() const;
  std::optional<TokenId> eos_token_id() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
