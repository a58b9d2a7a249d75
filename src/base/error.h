// SPDX-License-Identifier: Apache-2.0
// The one error idiom: bad input from outside (a file, a request, a flag) throws whinchat::Error.
// It is caught in two places only: main() and the server's route wrapper. Expected outcomes are
// optionals or enums; broken invariants are WHINCHAT_CHECK (base/check.h).
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

namespace whinchat {

enum class ErrorCode {
  kInvalidArgument,        // a flag or a request field is wrong
  kNotFound,               // no such file, model or route
  kUnsupported,            // well-formed, but this program can't do it
  kCorruptFile,            // a file's bytes contradict its format
  kIo,                     // the system refused: permission, full disk
  kOutOfMemory,            // the memory budget does not hold what was asked for
  kUnavailable,            // busy or loading: try again later
  kContextLengthExceeded,  // prompt longer than the model's context
  kInternal,               // a fault of this program
};

// `message` is one clear sentence: what was wrong, where, and what to do.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

// Throws an Error whose message is formatted as fmt::format does.
template <typename... Args>
[[noreturn]] void ThrowError(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// The code's name as the API writes it, for example "invalid_argument".
const char* ErrorCodeName(ErrorCode code);

}  // namespace whinchat
