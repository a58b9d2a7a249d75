// SPDX-License-Identifier: Apache-2.0
// Expectations on errors: the code, and that the message has the words a user needs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace whinchat {

// Expects `function` to throw Error{code} whose message holds each of `words`.
template <typename Function>
void ExpectError(ErrorCode code, const std::vector<std::string>& words, Function function) {
  try {
    function();
    ADD_FAILURE() << "no error, but one about '" << (words.empty() ? "" : words[0])
                  << "' was expected";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    for (const std::string& word : words) {
      EXPECT_THAT(error.message(), testing::HasSubstr(word));
    }
  }
}

}  // namespace whinchat
