// SPDX-License-Identifier: Apache-2.0
#include "server/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/answer_buffer.h"

namespace whinchat {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<AnswerBuffer> MakeBuffer(AnswerForm form, int* status = nullptr) {
  return std::make_unique<AnswerBuffer>(HttpRequest{}, std::move(form), [status](int value) {
    if (status != nullptr) {
      *status = value;
    }
  });
}

TEST(DecodePath, DropsQueryAndDecodesEscapes) {
  EXPECT_EQ(DecodePath("/v1/models/Qwen%2FQwen3?x=%41"), "/v1/models/Qwen/Qwen3");
  EXPECT_EQ(DecodePath("/a%zz%4"), "/a%zz%4");
  EXPECT_EQ(DecodePath("http://host:80/health"), "/health");
  EXPECT_EQ(DecodePath("http://host"), "/");
  EXPECT_EQ(DecodePath("*"), "*");
  EXPECT_EQ(DecodePath("/%"), "/%");
}

TEST(HttpRequest, HeadersAreFoundInAnyCase) {
  HttpRequest request;
  request.headers = {{"AUTHORIZATION", "a"}, {"authorization", "b"}};
  EXPECT_EQ(request.Header("Authorization"), "a");
  EXPECT_EQ(request.Header("Host"), "");
}

TEST(SerializeHead, HasOneFramingAndTheConnectionsFate) {
  const HttpResponse response = JsonResponse("{}");
  EXPECT_EQ(SerializeHead(response, BodyFraming::kContentLength, 2, /*keep_alive=*/true),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            "Connection: keep-alive\r\n\r\n");
  const std::string chunked =
      SerializeHead(EventStreamResponse(), BodyFraming::kChunked, 0, /*keep_alive=*/false);
  EXPECT_THAT(chunked, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(chunked, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(chunked, HasSubstr("X-Accel-Buffering: no\r\n"));
  EXPECT_THAT(chunked, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(chunked, HasSubstr("Connection: close\r\n"));
}

TEST(ErrorResponse, CarriesItsHeaders) {
  EXPECT_THAT(SerializeHead(ErrorResponse(MakeErrorReply(429, "x")),
                            BodyFraming::kContentLength,
                            0,
                            /*keep_alive=*/true),
              HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(SerializeHead(ErrorResponse(MakeErrorReply(401, "x")),
                            BodyFraming::kContentLength,
                            0,
                            /*keep_alive=*/true),
              HasSubstr("WWW-Authenticate: Bearer\r\n"));
}

TEST(FrameChunk, NeverEndsTheBodyByAccident) {
  EXPECT_EQ(FrameChunk("0123456789abcdefg"), "11\r\n0123456789abcdefg\r\n");
  EXPECT_EQ(FrameChunk(""), "");
}

TEST(AnswerBuffer, AWholeAnswerIsTakenOnce) {
  int status = 0;
  const auto buffer = MakeBuffer({}, &status);
  bool is_woken = false;
  buffer->SetWriterWake([&] { is_woken = true; });
  buffer->Respond(JsonResponse("{\"a\":1}"));
  EXPECT_TRUE(is_woken);
  EXPECT_TRUE(buffer->is_complete());
  EXPECT_EQ(status, 200);
  const std::string bytes = buffer->TakeUnsent();
  EXPECT_THAT(bytes, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(bytes, HasSubstr("\r\n\r\n{\"a\":1}"));
  EXPECT_FALSE(buffer->has_unsent());
  buffer->Respond(JsonResponse("again"));
  EXPECT_FALSE(buffer->has_unsent());
}

TEST(AnswerBuffer, HeadHasTheLengthAndNoBody) {
  const auto buffer = MakeBuffer({.is_head = true});
  buffer->Respond(JsonResponse("{\"a\":1}"));
  const std::string bytes = buffer->TakeUnsent();
  EXPECT_THAT(bytes, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
}

TEST(AnswerBuffer, StreamsInChunksToHttp11AndBareToHttp10) {
  const auto modern = MakeBuffer({});
  modern->BeginStream(EventStreamResponse());
  modern->TakeUnsent();
  modern->Write("abc");
  modern->EndStream();
  EXPECT_EQ(modern->TakeUnsent(), "3\r\nabc\r\n0\r\n\r\n");
  EXPECT_TRUE(modern->keep_alive());

  const auto old = MakeBuffer({.is_http_11 = false});
  old->BeginStream(EventStreamResponse());
  EXPECT_THAT(old->TakeUnsent(), HasSubstr("Connection: close\r\n"));
  old->Write("abc");
  old->EndStream();
  EXPECT_EQ(old->TakeUnsent(), "abc");
  EXPECT_FALSE(old->keep_alive());
}

TEST(AnswerBuffer, CountsWhatTheKernelHasNotTaken) {
  const auto buffer = MakeBuffer({});
  int num_notices = 0;
  buffer->SetObserver([&] { ++num_notices; });
  buffer->BeginStream(EventStreamResponse());
  const size_t head_bytes = buffer->num_unsent_bytes();
  EXPECT_GT(head_bytes, 0U);
  buffer->TakeUnsent();
  EXPECT_EQ(buffer->num_unsent_bytes(), head_bytes);  // in flight still counts
  buffer->MarkSent(head_bytes);
  EXPECT_EQ(buffer->num_unsent_bytes(), 0U);
  EXPECT_EQ(num_notices, 1);
}

TEST(AnswerBuffer, NothingIsKeptForAClientThatLeft) {
  const auto buffer = MakeBuffer({});
  bool is_noticed = false;
  buffer->SetObserver([&] { is_noticed = true; });
  buffer->MarkGone();
  EXPECT_TRUE(is_noticed);
  buffer->Respond(JsonResponse("x"));
  buffer->Write("y");
  buffer->EndStream();
  EXPECT_FALSE(buffer->has_unsent());
}

}  // namespace
}  // namespace whinchat
