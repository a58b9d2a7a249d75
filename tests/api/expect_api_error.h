// SPDX-License-Identifier: Apache-2.0
// Runs something that must be refused and gives the reply it would be refused with.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "api/api_error.h"

namespace whinchat {

inline ErrorReply RefusalOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return ToErrorReply(error);
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace whinchat
