// SPDX-License-Identifier: Apache-2.0
// The order of the reference: added tokens are cut out of the text; what is between them is
// normalized; tokens that match normalized text are cut out; the rest is split into words; each
// word is merged.
#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/token_id.h"
#include "base/utf8.h"
#include "tokenizer/added_token_matcher.h"
#include "tokenizer/byte_pair_encoder.h"
#include "tokenizer/char_class.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pre_tokenizer.h"

namespace whinchat {
namespace {

// Far above any vocabulary in use; keeps one wild id in a file from claiming gigabytes.
constexpr size_t kMaxVocabSize = size_t{1} << 24;
constexpr size_t kMaxVocabBytes = size_t{1} << 30;

// The bytes of all tokens, one after another.
class TokenBytesTable {
 public:
  void Build(const TokenizerSpec& spec) {
    size_t num_tokens = spec.vocab.size();
    for (const AddedToken& token : spec.added_tokens) {
      num_tokens = std::max(num_tokens, static_cast<size_t>(token.id) + 1);
    }
    std::vector<std::string_view> tokens(spec.vocab.begin(), spec.vocab.end());
    tokens.resize(num_tokens);
    for (const AddedToken& token : spec.added_tokens) {
      tokens[static_cast<size_t>(token.id)] = token.content;
    }
    begins_.reserve(num_tokens + 1);
    for (const std::string_view token : tokens) {
      begins_.push_back(static_cast<uint32_t>(bytes_.size()));
      bytes_.append(token);
    }
    begins_.push_back(static_cast<uint32_t>(bytes_.size()));
  }

  size_t size() const { return begins_.size() - 1; }
  std::string_view operator[](TokenId id) const {
    const auto idx = static_cast<size_t>(id);
    if (id < 0 || idx >= size()) {
      return {};
    }
    return std::string_view(bytes_).substr(begins_[idx], begins_[idx + 1] - begins_[idx]);
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> begins_;
};

void CheckSpec(const TokenizerSpec& spec) {
  size_t num_bytes = 0;
  for (const std::string& token : spec.vocab) {
    num_bytes += token.size();
  }
  if (spec.vocab.size() > kMaxVocabSize || num_bytes > kMaxVocabBytes) {
    ThrowError(ErrorCode::kCorruptFile,
               "tokenizer: a vocabulary of {} tokens and {} bytes is over the limit of {} and {}",
               spec.vocab.size(),
               num_bytes,
               kMaxVocabSize,
               kMaxVocabBytes);
  }
  for (const AddedToken& token : spec.added_tokens) {
    if (token.id < 0 || static_cast<size_t>(token.id) >= kMaxVocabSize) {
      ThrowError(ErrorCode::kCorruptFile,
                 "tokenizer: the added token '{}' has the id {}",
                 token.content,
                 token.id);
    }
    // It would match inside of characters and leave halves of them between.
    if (!IsValidUtf8(token.content)) {
      ThrowError(
          ErrorCode::kCorruptFile, "tokenizer: the added token {} is not valid UTF-8", token.id);
    }
  }
}

void CheckTokenId(const char* name, std::optional<TokenId> id, size_t num_tokens) {
  if (id && (*id < 0 || static_cast<size_t>(*id) >= num_tokens)) {
    ThrowError(ErrorCode::kCorruptFile,
               "tokenizer: {} is {}, but there are {} tokens",
               name,
               *id,
               num_tokens);
  }
}

}  // namespace

struct Tokenizer::State {
  explicit State(const TokenizerSpec& spec);

  void EncodeText(std::string_view text, bool match_special, std::vector<TokenId>& ids) const;
  void EncodeBetweenAddedTokens(std::string_view text,
                                bool match_special,
                                std::vector<TokenId>& ids) const;
  void EncodeWords(std::string_view text, std::vector<TokenId>& ids) const;
  template <PreTokenizerKind kind>
  void EncodeWordsOfKind(std::string_view text, std::vector<TokenId>& ids) const;

  const CharClassTable& classes;
  PreTokenizerKind pre_tokenizer;
  bool normalize_nfc;
  bool add_prefix_space;
  std::optional<TokenId> bos_token_id;
  std::optional<TokenId> eos_token_id;
  bool add_bos;
  bool add_eos;
  BytePairEncoder encoder;
  AddedTokenMatcher text_tokens;        // matched in the text as it is
  AddedTokenMatcher normalized_tokens;  // matched after normalization
  TokenBytesTable token_bytes;
  std::vector<bool> is_special;  // by id
  std::unordered_map<std::string, TokenId> added_token_ids;
};

Tokenizer::State::State(const TokenizerSpec& spec)
    : classes(CharClassTable::Get()),
      pre_tokenizer(spec.pre_tokenizer),
      normalize_nfc(spec.normalize_nfc),
      add_prefix_space(spec.add_prefix_space),
      bos_token_id(spec.bos_token_id),
      eos_token_id(spec.eos_token_id),
      add_bos(spec.add_bos && spec.bos_token_id.has_value()),
      add_eos(spec.add_eos && spec.eos_token_id.has_value()),
      encoder(spec) {
  token_bytes.Build(spec);
  CheckTokenId("bos_token_id", spec.bos_token_id, token_bytes.size());
  CheckTokenId("eos_token_id", spec.eos_token_id, token_bytes.size());
  CheckTokenId("unk_token_id", spec.unk_token_id, token_bytes.size());
  is_special.resize(token_bytes.size());
  for (const AddedToken& token : spec.added_tokens) {
    if (token.content.empty()) {
      continue;
    }
    added_token_ids.emplace(token.content, token.id);
    is_special[static_cast<size_t>(token.id)] = token.is_special;
    if (!token.normalized) {
      text_tokens.Add(token.content, token);
    } else if (normalize_nfc) {
      normalized_tokens.Add(NormalizeNfc(classes, token.content), token);
    } else {
      normalized_tokens.Add(token.content, token);
    }
  }
}

void Tokenizer::State::EncodeText(std::string_view text,
                                  bool match_special,
                                  std::vector<TokenId>& ids) const {
  if (text_tokens.empty()) {
    EncodeBetweenAddedTokens(text, match_special, ids);
    return;
  }
  std::vector<TextPart> parts;
  text_tokens.Split(text, match_special, parts);
  for (const TextPart& part : parts) {
    if (part.added_token) {
      ids.push_back(*part.added_token);
    } else {
      EncodeBetweenAddedTokens(text.substr(part.begin, part.end - part.begin), match_special, ids);
    }
  }
}

void Tokenizer::State::EncodeBetweenAddedTokens(std::string_view text,
                                                bool match_special,
                                                std::vector<TokenId>& ids) const {
  std::string normalized;
  if (normalize_nfc && MayNeedNfc(classes, text)) {
    normalized = NormalizeNfc(classes, text);
    text = normalized;
  }
  if (normalized_tokens.empty()) {
    EncodeWords(text, ids);
    return;
  }
  std::vector<TextPart> parts;
  normalized_tokens.Split(text, match_special, parts);
  for (const TextPart& part : parts) {
    if (part.added_token) {
      ids.push_back(*part.added_token);
    } else {
      EncodeWords(text.substr(part.begin, part.end - part.begin), ids);
    }
  }
}

void Tokenizer::State::EncodeWords(std::string_view text, std::vector<TokenId>& ids) const {
  std::string prefixed;
  if (add_prefix_space && !text.empty() && text[0] != ' ') {
    prefixed.reserve(text.size() + 1);
    prefixed.append(" ").append(text);
    text = prefixed;
  }
  switch (pre_tokenizer) {
    case PreTokenizerKind::kGpt2:
      return EncodeWordsOfKind<PreTokenizerKind::kGpt2>(text, ids);
    case PreTokenizerKind::kQwen2:
      return EncodeWordsOfKind<PreTokenizerKind::kQwen2>(text, ids);
    case PreTokenizerKind::kLlama3:
      return EncodeWordsOfKind<PreTokenizerKind::kLlama3>(text, ids);
    case PreTokenizerKind::kSmolLm:
      return EncodeWordsOfKind<PreTokenizerKind::kSmolLm>(text, ids);
  }
}

template <PreTokenizerKind kind>
void Tokenizer::State::EncodeWordsOfKind(std::string_view text, std::vector<TokenId>& ids) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = FindWordEnd<kind>(classes, text, begin);
    encoder.Encode(text.substr(begin, end - begin), ids);
    begin = end;
  }
}

Tokenizer::Tokenizer(TokenizerSpec spec) {
  CheckSpec(spec);
  state_ = std::make_unique<State>(spec);
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 2);
  if (options.add_special_tokens && state_->add_bos) {
    ids.push_back(*state_->bos_token_id);
  }
  std::string repaired;
  if (!IsValidUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  state_->EncodeText(text, options.parse_special_tokens, ids);
  if (options.add_special_tokens && state_->add_eos) {
    ids.push_back(*state_->eos_token_id);
  }
  return ids;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (!skip_special_tokens || !IsSpecial(id)) {
      bytes.append(TokenBytes(id));
    }
  }
  return bytes;
}

std::string_view Tokenizer::TokenBytes(TokenId id) const {
  return state_->token_bytes[id];
}

bool Tokenizer::IsSpecial(TokenId id) const {
  return id >= 0 && static_cast<size_t>(id) < state_->is_special.size() &&
         state_->is_special[static_cast<size_t>(id)];
}

std::optional<TokenId> Tokenizer::FindToken(std::string_view content) const {
  const auto added = state_->added_token_ids.find(std::string(content));
  return added != state_->added_token_ids.end() ? std::optional<TokenId>(added->second)
                                                : state_->encoder.FindToken(content);
}

int Tokenizer::vocab_size() const {
  return static_cast<int>(state_->token_bytes.size());
}
std::optional<TokenId> Tokenizer::bos_token_id() const {
  return state_->bos_token_id;
}
std::optional<TokenId> Tokenizer::eos_token_id() const {
  return state_->eos_token_id;
}

}  // namespace whinchat
