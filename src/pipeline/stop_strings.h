// SPDX-License-Identifier: Apache-2.0
// Finds stop strings in text that comes in pieces: a match may span pieces, and text that may be
// the start of a stop string is held back until that is known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace whinchat {

class StopStringMatcher {
 public:
  // Throws Error{kInvalidArgument} on an empty stop string.
  StopStringMatcher(std::vector<std::string> stop, bool include_stop_str_in_output);

  // The text that is certain to be output. The match that ends first counts, and of those the
  // longest, so the result does not depend on how the text is cut. After a match: nothing more.
  std::string Append(std::string_view text);
  // What is held back, since nothing comes any more.
  std::string Flush();

  // The stop string that was found.
  const std::optional<std::string>& matched() const { return matched_; }

 private:
  size_t HeldBackSize() const;

  std::vector<std::string> stop_;
  bool include_stop_str_in_output_;
  std::string held_;
  std::optional<std::string> matched_;
};

}  // namespace whinchat
