// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocab_arrays.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/token_id.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

enum TokenType : int32_t { kNormal = 1, kControl = 3, kUserDefined = 4 };

// What the name in tokenizer.ggml.pre stands for beside the expression itself.
struct NamedPreTokenizer {
  std::string_view name;
  PreTokenizerKind kind;
  bool normalize_nfc;
  bool ignore_merges;
  bool add_bos;  // if the file does not say
};

constexpr std::array<NamedPreTokenizer, 8> kNamedPreTokenizers = {{
    {"gpt-2", PreTokenizerKind::kGpt2, false, false, false},
    {"gpt2", PreTokenizerKind::kGpt2, false, false, false},
    {"smollm", PreTokenizerKind::kSmolLm, false, false, false},
    {"qwen2", PreTokenizerKind::kQwen2, true, false, false},
    {"deepseek-r1-qwen", PreTokenizerKind::kQwen2, false, false, true},
    {"llama-bpe", PreTokenizerKind::kLlama3, false, true, true},
    {"llama3", PreTokenizerKind::kLlama3, false, true, true},
    {"llama-v3", PreTokenizerKind::kLlama3, false, true, true},
}};

const NamedPreTokenizer& FindPreTokenizer(std::string_view name) {
  for (const NamedPreTokenizer& pre_tokenizer : kNamedPreTokenizers) {
    if (pre_tokenizer.name == name) {
      return pre_tokenizer;
    }
  }
  ThrowError(ErrorCode::kUnsupported,
             "tokenizer.ggml.pre is '{}', a pre-tokenizer this program does not know; known are "
             "gpt-2, smollm, qwen2, deepseek-r1-qwen and llama-bpe",
             name);
}

std::optional<TokenId> CheckTokenId(const char* key, std::optional<int64_t> id, size_t num_tokens) {
  if (!id) {
    return std::nullopt;
  }
  if (*id < 0 || static_cast<uint64_t>(*id) >= num_tokens) {
    ThrowError(ErrorCode::kCorruptFile,
               "tokenizer.ggml.{} is {}, but there are {} tokens",
               key,
               *id,
               num_tokens);
  }
  return static_cast<TokenId>(*id);
}

void ReadTokens(const VocabArrays& arrays, TokenizerSpec& spec) {
  if (!arrays.token_type.empty() && arrays.token_type.size() != arrays.tokens.size()) {
    ThrowError(ErrorCode::kCorruptFile,
               "tokenizer.ggml.token_type has {} entries for {} tokens",
               arrays.token_type.size(),
               arrays.tokens.size());
  }
  spec.vocab.reserve(arrays.tokens.size());
  for (size_t i = 0; i < arrays.tokens.size(); ++i) {
    const std::string_view token = arrays.tokens[i];
    const int32_t type = arrays.token_type.empty() ? kNormal : arrays.token_type[i];
    if (type == kControl || type == kUserDefined) {
      spec.added_tokens.push_back({.content = std::string(token),
                                   .id = static_cast<TokenId>(i),
                                   .is_special = type == kControl});
      spec.vocab.emplace_back(token);
    } else {
      spec.vocab.push_back(DecodeByteLevel(token));
    }
  }
}

void ReadMerges(const VocabArrays& arrays, TokenizerSpec& spec) {
  spec.merges.reserve(arrays.merges.size());
  for (size_t rank = 0; rank < arrays.merges.size(); ++rank) {
    const std::string_view merge = arrays.merges[rank];
    const size_t space = merge.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == merge.size()) {
      ThrowError(ErrorCode::kCorruptFile,
                 "tokenizer.ggml.merges[{}] is '{}', which is not two parts with a space between",
                 rank,
                 merge);
    }
    spec.merges.emplace_back(DecodeByteLevel(merge.substr(0, space)),
                             DecodeByteLevel(merge.substr(space + 1)));
  }
}

}  // namespace

TokenizerSpec MakeTokenizerSpec(const VocabArrays& arrays) {
  if (arrays.model != "gpt2") {
    ThrowError(ErrorCode::kUnsupported,
               "tokenizer.ggml.model is '{}'; only byte-level BPE ('gpt2') is supported",
               arrays.model);
  }
  const NamedPreTokenizer& pre_tokenizer = FindPreTokenizer(arrays.pre);
  TokenizerSpec spec;
  spec.pre_tokenizer = pre_tokenizer.kind;
  spec.normalize_nfc = pre_tokenizer.normalize_nfc;
  spec.ignore_merges = pre_tokenizer.ignore_merges;
  spec.add_prefix_space = arrays.add_space_prefix.value_or(false);
  ReadTokens(arrays, spec);
  ReadMerges(arrays, spec);
  spec.bos_token_id = CheckTokenId("bos_token_id", arrays.bos_token_id, arrays.tokens.size());
  spec.eos_token_id = CheckTokenId("eos_token_id", arrays.eos_token_id, arrays.tokens.size());
  spec.add_bos = arrays.add_bos_token.value_or(pre_tokenizer.add_bos);
  spec.add_eos = arrays.add_eos_token.value_or(false);
  return spec;
}

}  // namespace whinchat
