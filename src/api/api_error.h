// SPDX-License-Identifier: Apache-2.0
// What went wrong with a request, as an HTTP status and OpenAI's error body:
// {"error": {"message", "type", "param", "code"}}. Types are OpenAI's; clients branch on them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace whinchat {

struct ErrorReply {
  int http_status = 500;
  std::string message;
  std::string type;   // "invalid_request_error", "server_error", ...
  std::string param;  // the field at fault; empty: null in the body
  std::string code;   // "context_length_exceeded", ...; empty: null in the body
  std::optional<int> retry_after_seconds;
};

// An Error that knows its HTTP form. What other modules throw is mapped by ToErrorReply.
class ApiError : public Error {
 public:
  ApiError(ErrorCode error_code, ErrorReply reply)
      : Error(error_code, reply.message), reply_(std::move(reply)) {}

  const ErrorReply& reply() const { return reply_; }

 private:
  ErrorReply reply_;
};

// 400: the field `param` is wrong. The message should start with the field's name.
[[noreturn]] void ThrowFieldError(std::string param, std::string message);
// 400: the field is understood, but this version can't do what it asks.
[[noreturn]] void ThrowNotSupported(std::string param, std::string_view what);
// 404 with the names that would do.
[[noreturn]] void ThrowModelNotFound(std::string_view model, const std::vector<std::string>& known);

ErrorReply ToErrorReply(const Error& error);
// The same for an error that belongs to no field: 401, 404, 405, 413, 503.
ErrorReply MakeErrorReply(int http_status, std::string message, std::string code = {});

// The JSON text of the body.
std::string ErrorBody(const ErrorReply& reply);

}  // namespace whinchat
