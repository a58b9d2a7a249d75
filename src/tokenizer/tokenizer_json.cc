// SPDX-License-Identifier: Apache-2.0
// ParseTokenizerJson: what each section of tokenizer.json means. Anything this program would not do
// exactly as the reference does is refused by name, never approximated.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/token_id.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json_reader.h"

namespace whinchat {
namespace {

using nlohmann::json;

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// A value of the tree with its place in the file, for error messages.
class Field {
 public:
  Field(std::string_view file_name, std::string path, const json& value)
      : file_name_(file_name), path_(std::move(path)), value_(&value) {}

  const json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }

  template <typename... Args>
  [[noreturn]] void Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) const {
    ThrowError(code,
               "tokenizer '{}': {} {}",
               file_name_,
               path_,
               fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void FailUnsupported() const {
    std::string text = value_->dump(-1, ' ', false, json::error_handler_t::replace);
    Fail(ErrorCode::kUnsupported, "is {}, which this program does not know", text);
  }

  // A missing member is null.
  Field operator[](const char* name) const {
    static const json kNull;
    if (!value_->is_object()) {
      Fail(ErrorCode::kCorruptFile, "must be an object");
    }
    const auto member = value_->find(name);
    return {file_name_,
            path_.empty() ? name : path_ + "." + name,
            member == value_->end() ? kNull : *member};
  }
  std::vector<Field> Elements() const {
    if (!value_->is_array()) {
      Fail(ErrorCode::kCorruptFile, "must be an array");
    }
    std::vector<Field> elements;
    for (size_t i = 0; i < value_->size(); ++i) {
      elements.emplace_back(file_name_, fmt::format("{}[{}]", path_, i), (*value_)[i]);
    }
    return elements;
  }
  const std::string& Text() const {
    if (!value_->is_string()) {
      Fail(ErrorCode::kCorruptFile, "must be a string");
    }
    return value_->get_ref<const std::string&>();
  }
  bool Flag(bool otherwise) const {
    if (value_->is_null()) {
      return otherwise;
    }
    if (!value_->is_boolean()) {
      Fail(ErrorCode::kCorruptFile, "must be true or false");
    }
    return value_->get<bool>();
  }
  TokenId Id() const {
    if (!value_->is_number_unsigned() ||
        value_->get<uint64_t>() > uint64_t{std::numeric_limits<TokenId>::max()}) {
      Fail(ErrorCode::kCorruptFile, "must be a token id");
    }
    return value_->get<TokenId>();
  }
  bool IsType(std::string_view type) const { return (*this)["type"].Text() == type; }

 private:
  std::string_view file_name_;
  std::string path_;
  const json* value_;
};

// The parts of a Sequence, or the field itself as the only part; none if it is null.
std::vector<Field> Flatten(const Field& field, const char* list_name) {
  if (field.is_null()) {
    return {};
  }
  if (!field.IsType("Sequence")) {
    return {field};
  }
  std::vector<Field> parts;
  for (const Field& element : field[list_name].Elements()) {
    std::vector<Field> inner = Flatten(element, list_name);
    parts.insert(parts.end(), inner.begin(), inner.end());
  }
  return parts;
}

void ReadModel(const Field& model, TokenizerSpec& spec) {
  const Field type = model["type"];
  if (!type.is_null() && type.Text() != "BPE") {
    type.FailUnsupported();
  }
  const Field dropout = model["dropout"];
  if (!dropout.is_null() && dropout.value() != 0.0) {
    dropout.FailUnsupported();
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Field field = model[affix];
    if (!field.is_null() && !field.Text().empty()) {
      field.FailUnsupported();
    }
  }
  if (model["byte_fallback"].Flag(/*otherwise=*/false)) {
    model["byte_fallback"].FailUnsupported();
  }
  spec.ignore_merges = model["ignore_merges"].Flag(/*otherwise=*/false);
  spec.fuse_unk = model["fuse_unk"].Flag(/*otherwise=*/false);
  const Field unk_token = model["unk_token"];
  if (!unk_token.is_null()) {
    const auto token =
        std::ranges::find(spec.vocab, DecodeByteLevel(unk_token.Text()), std::identity());
    if (token == spec.vocab.end()) {
      unk_token.Fail(ErrorCode::kCorruptFile, "'{}' is not in the vocabulary", unk_token.Text());
    }
    spec.unk_token_id = static_cast<TokenId>(token - spec.vocab.begin());
  }
}

void ReadNormalizer(const Field& normalizer, TokenizerSpec& spec) {
  for (const Field& part : Flatten(normalizer, "normalizers")) {
    if (!part.IsType("NFC")) {
      part.FailUnsupported();
    }
    spec.normalize_nfc = true;
  }
}

PreTokenizerKind ReadSplit(const Field& split) {
  const Field pattern = split["pattern"]["Regex"];
  if (split["behavior"].Text() != "Isolated" || split["invert"].Flag(/*otherwise=*/false) ||
      pattern.is_null()) {
    split.FailUnsupported();
  }
  const std::array<std::pair<std::string_view, PreTokenizerKind>, 3> patterns = {{
      {kGpt2Pattern, PreTokenizerKind::kGpt2},
      {kQwen2Pattern, PreTokenizerKind::kQwen2},
      {kLlama3Pattern, PreTokenizerKind::kLlama3},
  }};
  for (const auto& [text, kind] : patterns) {
    if (pattern.Text() == text) {
      return kind;
    }
  }
  pattern.Fail(ErrorCode::kUnsupported,
               "is '{}', which is none of the expressions known here",
               pattern.Text());
}

// Known: ByteLevel; Digits, ByteLevel; Split, ByteLevel without its own expression.
void ReadPreTokenizer(const Field& pre_tokenizer, TokenizerSpec& spec) {
  const std::vector<Field> parts = Flatten(pre_tokenizer, "pretokenizers");
  if (parts.empty() || parts.size() > 2 || !parts.back().IsType("ByteLevel")) {
    pre_tokenizer.FailUnsupported();
  }
  const Field& byte_level = parts.back();
  const bool uses_expression = byte_level["use_regex"].Flag(/*otherwise=*/true);
  spec.add_prefix_space = byte_level["add_prefix_space"].Flag(/*otherwise=*/true);
  if (parts.size() == 1) {
    if (!uses_expression) {
      byte_level.FailUnsupported();
    }
    spec.pre_tokenizer = PreTokenizerKind::kGpt2;
    return;
  }
  // With a splitter before it, the space would be added to each piece.
  if (spec.add_prefix_space) {
    byte_level.FailUnsupported();
  }
  const Field& first = parts[0];
  if (first.IsType("Digits")) {
    if (!first["individual_digits"].Flag(/*otherwise=*/false) || !uses_expression) {
      pre_tokenizer.FailUnsupported();
    }
    spec.pre_tokenizer = PreTokenizerKind::kSmolLm;
  } else if (first.IsType("Split")) {
    if (uses_expression) {
      pre_tokenizer.FailUnsupported();
    }
    spec.pre_tokenizer = ReadSplit(first);
  } else {
    first.FailUnsupported();
  }
}

// The id of {"SpecialToken": {"id": "<s>", ...}} by the template's own list.
TokenId ReadTemplateToken(const Field& post_processor, const Field& special_token) {
  const std::string& name = special_token["id"].Text();
  const Field entry = post_processor["special_tokens"][name.c_str()];
  if (entry.is_null()) {
    special_token.Fail(ErrorCode::kCorruptFile, "names '{}', which special_tokens lacks", name);
  }
  const std::vector<Field> ids = entry["ids"].Elements();
  if (ids.size() != 1) {
    entry["ids"].FailUnsupported();
  }
  return ids[0].Id();
}

// One token before the text and one behind it at most.
void ReadTemplate(const Field& post_processor, TokenizerSpec& spec) {
  bool is_behind_text = false;
  for (const Field& piece : post_processor["single"].Elements()) {
    const Field special_token = piece["SpecialToken"];
    if (special_token.is_null()) {
      if (is_behind_text || piece["Sequence"].is_null()) {
        post_processor["single"].FailUnsupported();
      }
      is_behind_text = true;
      continue;
    }
    bool& adds_token = is_behind_text ? spec.add_eos : spec.add_bos;
    if (adds_token) {
      post_processor["single"].FailUnsupported();
    }
    adds_token = true;
    (is_behind_text ? spec.eos_token_id : spec.bos_token_id) =
        ReadTemplateToken(post_processor, special_token);
  }
  if (!is_behind_text) {
    post_processor["single"].FailUnsupported();
  }
}

void ReadPostProcessor(const Field& post_processor, TokenizerSpec& spec) {
  for (const Field& part : Flatten(post_processor, "processors")) {
    if (part.IsType("TemplateProcessing")) {
      ReadTemplate(part, spec);
    } else if (!part.IsType("ByteLevel")) {  // which only trims offsets
      part.FailUnsupported();
    }
  }
}

void ReadAddedTokens(const Field& added_tokens, TokenizerSpec& spec) {
  if (added_tokens.is_null()) {
    return;
  }
  for (const Field& token : added_tokens.Elements()) {
    spec.added_tokens.push_back({
        .content = token["content"].Text(),
        .id = token["id"].Id(),
        .is_special = token["special"].Flag(/*otherwise=*/false),
        .lstrip = token["lstrip"].Flag(/*otherwise=*/false),
        .rstrip = token["rstrip"].Flag(/*otherwise=*/false),
        .single_word = token["single_word"].Flag(/*otherwise=*/false),
        .normalized = token["normalized"].Flag(/*otherwise=*/true),
    });
  }
}

void ReadDecoder(const Field& decoder) {
  for (const Field& part : Flatten(decoder, "decoders")) {
    if (!part.IsType("ByteLevel")) {
      part.FailUnsupported();
    }
  }
}

}  // namespace

TokenizerSpec ParseTokenizerJson(std::string_view json_text, std::string_view file_name) {
  TokenizerJson file = ReadTokenizerJson(json_text, file_name);
  TokenizerSpec spec;
  spec.vocab = std::move(file.vocab);
  spec.merges = std::move(file.merges);
  const Field root(file_name, "", file.tree);
  ReadModel(root["model"], spec);
  if (!file.has_vocab) {
    root["model"].Fail(ErrorCode::kCorruptFile, "has no vocab");
  }
  ReadNormalizer(root["normalizer"], spec);
  ReadPreTokenizer(root["pre_tokenizer"], spec);
  ReadPostProcessor(root["post_processor"], spec);
  ReadDecoder(root["decoder"]);
  ReadAddedTokens(root["added_tokens"], spec);
  return spec;
}

}  // namespace whinchat
