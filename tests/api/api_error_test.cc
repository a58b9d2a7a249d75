// SPDX-License-Identifier: Apache-2.0
#include "api/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/expect_api_error.h"

namespace whinchat {
namespace {

using ::testing::HasSubstr;

TEST(ApiError, BodyHasTheFourFieldsOfOpenAi) {
  const ErrorReply reply = RefusalOf([] { ThrowFieldError("top_p", "top_p: too large."); });
  const auto body = nlohmann::json::parse(ErrorBody(reply));
  EXPECT_EQ(body,
            (nlohmann::json{{"error",
                             {{"message", "top_p: too large."},
                              {"type", "invalid_request_error"},
                              {"param", "top_p"},
                              {"code", "invalid_value"}}}}));
}

TEST(ApiError, AbsentParamAndCodeAreNull) {
  const auto body = nlohmann::json::parse(ErrorBody(MakeErrorReply(405, "No.")));
  EXPECT_TRUE(body["error"]["param"].is_null());
  EXPECT_TRUE(body["error"]["code"].is_null());
}

TEST(ApiError, ModelNotFoundNamesWhatThereIs) {
  const ErrorReply reply =
      RefusalOf([] { ThrowModelNotFound("gpt-4", {"Qwen3-0.6B", "assistant"}); });
  EXPECT_EQ(reply.http_status, 404);
  EXPECT_EQ(reply.code, "model_not_found");
  EXPECT_THAT(reply.message, HasSubstr("`gpt-4` does not exist"));
  EXPECT_THAT(reply.message, HasSubstr("Qwen3-0.6B, assistant"));
}

TEST(ApiError, ErrorsOfOtherModulesGetTheirStatus) {
  const auto status = [](ErrorCode code) { return ToErrorReply(Error(code, "x")).http_status; };
  EXPECT_EQ(status(ErrorCode::kInvalidArgument), 400);
  EXPECT_EQ(status(ErrorCode::kUnsupported), 400);
  EXPECT_EQ(status(ErrorCode::kContextLengthExceeded), 400);
  EXPECT_EQ(status(ErrorCode::kNotFound), 404);
  EXPECT_EQ(status(ErrorCode::kUnavailable), 429);
  EXPECT_EQ(status(ErrorCode::kOutOfMemory), 503);
  EXPECT_EQ(status(ErrorCode::kIo), 500);
  EXPECT_EQ(status(ErrorCode::kCorruptFile), 500);
  EXPECT_EQ(status(ErrorCode::kInternal), 500);
}

TEST(ApiError, ContextLengthKeepsItsCodeForAgentsThatCompact) {
  const ErrorReply reply = ToErrorReply(
      Error(ErrorCode::kContextLengthExceeded, "The prompt has 9000 tokens; the context is 8192."));
  EXPECT_EQ(reply.code, "context_length_exceeded");
  EXPECT_EQ(reply.type, "invalid_request_error");
  EXPECT_THAT(reply.message, HasSubstr("9000"));
  EXPECT_THAT(reply.message, HasSubstr("8192"));
}

TEST(ApiError, BusyAndLoadingSayWhenToComeBack) {
  EXPECT_TRUE(MakeErrorReply(429, "x").retry_after_seconds.has_value());
  EXPECT_TRUE(MakeErrorReply(503, "x").retry_after_seconds.has_value());
  EXPECT_FALSE(MakeErrorReply(400, "x").retry_after_seconds.has_value());
}

TEST(ApiError, BytesThatAreNoUtf8DoNotBreakTheBody) {
  const auto body = nlohmann::json::parse(ErrorBody(MakeErrorReply(404, "no route /\xff")));
  EXPECT_EQ(body["error"]["message"], "no route /\xEF\xBF\xBD");
}

}  // namespace
}  // namespace whinchat
