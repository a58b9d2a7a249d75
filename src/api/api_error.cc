// SPDX-License-Identifier: Apache-2.0
#include "api/api_error.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace whinchat {
namespace {

constexpr int kRetryAfterSeconds = 1;

std::string_view TypeOfStatus(int http_status) {
  switch (http_status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    default:
      return http_status >= 500 ? "server_error" : "invalid_request_error";
  }
}

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kContextLengthExceeded:
    case ErrorCode::kUnsupported:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnavailable:
      return 429;
    case ErrorCode::kOutOfMemory:
      return 503;
    case ErrorCode::kCorruptFile:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

nlohmann::ordered_json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

}  // namespace

void ThrowFieldError(std::string param, std::string message) {
  ErrorReply reply = MakeErrorReply(400, std::move(message), "invalid_value");
  reply.param = std::move(param);
  throw ApiError(ErrorCode::kInvalidArgument, std::move(reply));
}

void ThrowNotSupported(std::string param, std::string_view what) {
  ErrorReply reply =
      MakeErrorReply(400,
                     fmt::format("{}: {} is not supported yet; leave the field out.", param, what),
                     "unsupported_value");
  reply.param = std::move(param);
  throw ApiError(ErrorCode::kUnsupported, std::move(reply));
}

void ThrowModelNotFound(std::string_view model, const std::vector<std::string>& known) {
  ErrorReply reply =
      MakeErrorReply(404,
                     fmt::format("The model `{}` does not exist. This server answers to: {}.",
                                 model,
                                 fmt::join(known, ", ")),
                     "model_not_found");
  reply.param = "model";
  throw ApiError(ErrorCode::kNotFound, std::move(reply));
}

ErrorReply MakeErrorReply(int http_status, std::string message, std::string code) {
  ErrorReply reply;
  reply.http_status = http_status;
  reply.message = std::move(message);
  reply.type = TypeOfStatus(http_status);
  reply.code = std::move(code);
  if (http_status == 429 || http_status == 503) {
    reply.retry_after_seconds = kRetryAfterSeconds;
  }
  return reply;
}

ErrorReply ToErrorReply(const Error& error) {
  if (const auto* api_error = dynamic_cast<const ApiError*>(&error)) {
    return api_error->reply();
  }
  ErrorReply reply =
      MakeErrorReply(StatusOf(error.code()), error.message(), ErrorCodeName(error.code()));
  if (error.code() == ErrorCode::kContextLengthExceeded) {
    reply.param = "messages";
  }
  return reply;
}

std::string ErrorBody(const ErrorReply& reply) {
  nlohmann::ordered_json body;
  body["error"] = {{"message", reply.message},
                   {"type", reply.type},
                   {"param", TextOrNull(reply.param)},
                   {"code", TextOrNull(reply.code)}};
  return body.dump(
      -1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace whinchat
