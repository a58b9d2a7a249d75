// SPDX-License-Identifier: Apache-2.0
// A character without kNeedsNfc is a starter that never merges backward, so text can be cut before
// it. A cluster is such a starter (nothing before the first) with the flagged characters behind it.
// Characters newer than the reference's Unicode 9 stay outside of clusters: utf8proc may know them
// as marks, the reference takes them for plain starters.
#include "tokenizer/nfc.h"

#include <utf8proc.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/char_class.h"

namespace whinchat {
namespace {

// Stable whatever utf8proc's version: these properties of old characters never change.
void AppendNormalizedCluster(std::string_view cluster, std::string& result) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(cluster.data());
  const auto num_bytes = static_cast<utf8proc_ssize_t>(cluster.size());
  std::array<utf8proc_int32_t, 64> small;
  std::vector<utf8proc_int32_t> large;
  utf8proc_int32_t* buffer = small.data();
  utf8proc_ssize_t length = utf8proc_decompose(bytes, num_bytes, buffer, small.size(), options);
  if (length > static_cast<utf8proc_ssize_t>(small.size())) {
    large.resize(static_cast<size_t>(length));
    buffer = large.data();
    length = utf8proc_decompose(bytes, num_bytes, buffer, length, options);
  }
  WHINCHAT_CHECK(length >= 0);  // fails only on invalid UTF-8 or when memory is out
  length = utf8proc_normalize_utf32(buffer, length, options);
  WHINCHAT_CHECK(length >= 0);
  for (utf8proc_ssize_t i = 0; i < length; ++i) {
    AppendUtf8(static_cast<char32_t>(buffer[i]), result);
  }
}

}  // namespace

bool MayNeedNfc(const CharClassTable& classes, std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    // The first character with kNeedsNfc is U+0300, whose lead byte is 0xCC.
    if (static_cast<uint8_t>(text[i]) < 0xC3) {
      ++i;
      continue;
    }
    if ((classes.FlagsOf(NextCodePoint(text, &i)) & kNeedsNfc) != 0) {
      return true;
    }
  }
  return false;
}

std::string NormalizeNfc(const CharClassTable& classes, std::string_view text) {
  std::string result;
  result.reserve(text.size());
  size_t copied = 0;         // text before this is in `result`
  size_t cluster_begin = 0;  // where a cluster would begin if the next character is flagged
  size_t i = 0;
  while (i < text.size()) {
    Utf8Character character = DecodeUtf8Character(text.substr(i));
    uint8_t flags = classes.FlagsOf(character.code_point);
    if ((flags & kNeedsNfc) == 0) {
      const size_t end = i + static_cast<size_t>(character.num_bytes);
      cluster_begin = (flags & kNewerThanNfc) != 0 ? end : i;
      i = end;
      continue;
    }
    while ((flags & kNeedsNfc) != 0) {
      i += static_cast<size_t>(character.num_bytes);
      if (i == text.size()) {
        break;
      }
      character = DecodeUtf8Character(text.substr(i));
      flags = classes.FlagsOf(character.code_point);
    }
    result.append(text.substr(copied, cluster_begin - copied));
    AppendNormalizedCluster(text.substr(cluster_begin, i - cluster_begin), result);
    copied = i;
    cluster_begin = i;
  }
  result.append(text.substr(copied));
  return result;
}

}  // namespace whinchat
