// SPDX-License-Identifier: Apache-2.0
// Broken invariants of this program abort with file and line. Never for input from outside:
// that is an Error (base/error.h).
#pragma once

namespace whinchat {

// Prints the condition and its place on standard error, then aborts.
[[noreturn]] void FailCheck(const char* condition, const char* file, int line);

}  // namespace whinchat

#define WHINCHAT_CHECK(condition)                      \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::whinchat::FailCheck(#condition, __FILE__, __LINE__))

// For kernels: checked in debug builds only.
#ifdef NDEBUG
#define WHINCHAT_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define WHINCHAT_DCHECK(condition) WHINCHAT_CHECK(condition)
#endif
