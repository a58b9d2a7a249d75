// SPDX-License-Identifier: Apache-2.0
// Every sampling and control field, through both endpoints' parsers where both take it.
#include "api/request_fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "api/expect_api_error.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RequestDefaults Defaults() {
  RequestDefaults defaults;
  defaults.vocab_size = 1000;
  return defaults;
}

std::string ChatBody(const std::string& fields) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"hi"}}]{}{}}})",
                     fields.empty() ? "" : ",",
                     fields);
}

ChatRequest Chat(const std::string& fields, const RequestDefaults& defaults = Defaults()) {
  return ParseChatRequest(ChatBody(fields), defaults);
}

CompletionRequest Completion(const std::string& fields) {
  return ParseCompletionRequest(
      fmt::format(R"({{"prompt":"hi"{}{}}})", fields.empty() ? "" : ",", fields), Defaults());
}

struct BadField {
  const char* fields;
  const char* param;
};

class BadFields : public ::testing::TestWithParam<BadField> {};

TEST_P(BadFields, AreRefusedByNameInChat) {
  const ErrorReply reply = RefusalOf([] { Chat(GetParam().fields); });
  EXPECT_EQ(reply.http_status, 400);
  EXPECT_EQ(reply.type, "invalid_request_error");
  EXPECT_EQ(reply.param, GetParam().param);
  EXPECT_THAT(reply.message, HasSubstr(GetParam().param));
}

TEST_P(BadFields, AreRefusedByNameInCompletions) {
  const ErrorReply reply = RefusalOf([] { Completion(GetParam().fields); });
  EXPECT_EQ(reply.http_status, 400);
  EXPECT_EQ(reply.param, GetParam().param);
}

INSTANTIATE_TEST_SUITE_P(
    Shared,
    BadFields,
    ::testing::Values(BadField{R"("temperature":"hot")", "temperature"},
                      BadField{R"("temperature":-0.1)", "temperature"},
                      BadField{R"("temperature":2.1)", "temperature"},
                      BadField{R"("temperature":true)", "temperature"},
                      BadField{R"("top_p":0)", "top_p"},
                      BadField{R"("top_p":1.01)", "top_p"},
                      BadField{R"("top_p":[1])", "top_p"},
                      BadField{R"("top_k":-2)", "top_k"},
                      BadField{R"("top_k":1.5)", "top_k"},
                      BadField{R"("top_k":99999999999)", "top_k"},
                      BadField{R"("min_p":-1)", "min_p"},
                      BadField{R"("min_p":2)", "min_p"},
                      BadField{R"("repetition_penalty":0)", "repetition_penalty"},
                      BadField{R"("repeat_penalty":-1)", "repeat_penalty"},
                      BadField{R"("presence_penalty":2.5)", "presence_penalty"},
                      BadField{R"("frequency_penalty":-2.5)", "frequency_penalty"},
                      BadField{R"("seed":"x")", "seed"},
                      BadField{R"("seed":1.5)", "seed"},
                      BadField{R"("logit_bias":[1])", "logit_bias"},
                      BadField{R"("logit_bias":{"x":1})", "logit_bias"},
                      BadField{R"("logit_bias":{"1000":1})", "logit_bias"},
                      BadField{R"("logit_bias":{"-1":1})", "logit_bias"},
                      BadField{R"("logit_bias":{"5":101})", "logit_bias.5"},
                      BadField{R"("stop":5)", "stop"},
                      BadField{R"("stop":[5])", "stop"},
                      BadField{R"("stop":"")", "stop"},
                      BadField{R"("stop":["a",""])", "stop"},
                      BadField{R"("stop_token_ids":5)", "stop_token_ids"},
                      BadField{R"("stop_token_ids":["a"])", "stop_token_ids[0].id"},
                      BadField{R"("stop_token_ids":[1,1000])", "stop_token_ids[1].id"},
                      BadField{R"("ignore_eos":1)", "ignore_eos"},
                      BadField{R"("include_stop_str_in_output":"no")",
                               "include_stop_str_in_output"},
                      BadField{R"("skip_special_tokens":0)", "skip_special_tokens"},
                      BadField{R"("max_tokens":-1)", "max_tokens"},
                      BadField{R"("max_tokens":0)", "max_tokens"},
                      BadField{R"("max_tokens":"10")", "max_tokens"},
                      BadField{R"("max_completion_tokens":0)", "max_completion_tokens"},
                      BadField{R"("min_tokens":-1)", "min_tokens"},
                      BadField{R"("min_tokens":11,"max_tokens":10)", "min_tokens"},
                      BadField{R"("n":0)", "n"},
                      BadField{R"("n":17)", "n"},
                      BadField{R"("n":1,"best_of":2)", "best_of"},
                      BadField{R"("stream":"yes")", "stream"},
                      BadField{R"("stream_options":{})", "stream_options"},
                      BadField{R"("stream":true,"stream_options":5)", "stream_options"},
                      BadField{R"("stream":true,"stream_options":{"include_usage":1})",
                               "stream_options.include_usage"},
                      BadField{R"("priority":"high")", "priority"},
                      BadField{R"("cache_salt":5)", "cache_salt"},
                      BadField{R"("model":5)", "model"},
                      BadField{R"("extra_body":5)", "extra_body"},
                      BadField{R"("response_format":"json")", "response_format"},
                      BadField{R"("response_format":{"type":"json_object"})", "response_format"},
                      BadField{R"("response_format":{"type":"json_schema"})", "response_format"},
                      BadField{R"("guided_json":{"type":"object"})", "guided_json"},
                      BadField{R"("guided_regex":"a+")", "guided_regex"},
                      BadField{R"("guided_choice":["a"])", "guided_choice"},
                      BadField{R"("structured_outputs":{"json":{}})", "structured_outputs"},
                      BadField{R"("prompt_logprobs":1)", "prompt_logprobs"},
                      BadField{R"("truncate_prompt_tokens":5)", "truncate_prompt_tokens"},
                      BadField{R"("bad_words":["x"])", "bad_words"},
                      BadField{R"("allowed_token_ids":[1])", "allowed_token_ids"}));

TEST(SamplingFields, AllReachTheSampler) {
  const ChatRequest request = Chat(
      R"("temperature":0.5,"top_p":0.9,"top_k":20,"min_p":0.1,"repetition_penalty":1.1,
         "presence_penalty":0.2,"frequency_penalty":0.3,"seed":-7,"logit_bias":{"5":-100,"6":2},
         "stop":["a","b"],"stop_token_ids":[3,4],"include_stop_str_in_output":true,
         "ignore_eos":true,"min_tokens":2,"max_tokens":9,"skip_special_tokens":false,
         "priority":-3,"cache_salt":"s")");
  const SamplingParams& sampling = request.options.sampling;
  EXPECT_FLOAT_EQ(sampling.temperature, 0.5F);
  EXPECT_FLOAT_EQ(sampling.top_p, 0.9F);
  EXPECT_EQ(sampling.top_k, 20);
  EXPECT_FLOAT_EQ(sampling.min_p, 0.1F);
  EXPECT_FLOAT_EQ(sampling.repetition_penalty, 1.1F);
  EXPECT_FLOAT_EQ(sampling.presence_penalty, 0.2F);
  EXPECT_FLOAT_EQ(sampling.frequency_penalty, 0.3F);
  EXPECT_EQ(sampling.seed, static_cast<uint64_t>(-7));
  EXPECT_FLOAT_EQ(sampling.logit_bias.at(5), -100.0F);
  EXPECT_FLOAT_EQ(sampling.logit_bias.at(6), 2.0F);
  EXPECT_THAT(request.options.stop, ElementsAre("a", "b"));
  EXPECT_THAT(sampling.stop_token_ids, ElementsAre(3, 4));
  EXPECT_TRUE(request.options.include_stop_str_in_output);
  EXPECT_TRUE(sampling.ignore_eos);
  EXPECT_EQ(sampling.min_tokens, 2);
  EXPECT_EQ(sampling.max_tokens, 9);
  EXPECT_FALSE(request.options.skip_special_tokens);
  EXPECT_EQ(request.options.priority, -3);
  EXPECT_EQ(request.options.cache_salt, "s");
  EXPECT_THAT(request.unknown_fields, ElementsAre());
}

TEST(SamplingFields, NullsAndNothingGiveTheModelsDefaults) {
  RequestDefaults defaults = Defaults();
  defaults.generation.non_thinking.temperature = 0.7F;
  defaults.generation.non_thinking.top_k = 20;
  const ChatRequest request =
      Chat(R"("temperature":null,"top_k":null,"stop":null,"seed":null,"tools":null)", defaults);
  EXPECT_FLOAT_EQ(request.options.sampling.temperature, 0.7F);
  EXPECT_EQ(request.options.sampling.top_k, 20);
  EXPECT_FALSE(request.options.sampling.seed.has_value());
  EXPECT_EQ(request.options.sampling.max_tokens, 1024);
}

TEST(SamplingFields, MinusOneMeansAllTokens) {
  EXPECT_EQ(Chat(R"("top_k":-1)").options.sampling.top_k, 0);
}

TEST(SamplingFields, StopMayBeOneString) {
  EXPECT_THAT(Chat(R"("stop":"END")").options.stop, ElementsAre("END"));
}

TEST(SamplingFields, MaxCompletionTokensWins) {
  EXPECT_EQ(Chat(R"("max_tokens":5,"max_completion_tokens":6)").options.sampling.max_tokens, 6);
}

TEST(ExtraBody, IsUnwrappedAndExplicitFieldsWin) {
  const ChatRequest request = Chat(
      R"("temperature":0.1,"extra_body":{"temperature":1.9,"top_k":7,"enable_thinking":true})");
  EXPECT_FLOAT_EQ(request.options.sampling.temperature, 0.1F);
  EXPECT_EQ(request.options.sampling.top_k, 7);
  EXPECT_TRUE(request.template_options.kwargs["enable_thinking"].get<bool>());
  EXPECT_THAT(request.unknown_fields, ElementsAre());
}

TEST(UnknownFields, AreAcceptedAndNamed) {
  EXPECT_THAT(Chat(R"("frobnicate":1,"user":"me","dry_multiplier":0.8)").unknown_fields,
              ElementsAre("frobnicate", "dry_multiplier"));
  EXPECT_THAT(Completion(R"("frobnicate":{})").unknown_fields, ElementsAre("frobnicate"));
}

TEST(UnsupportedFields, AreFineWhenTheyAskForNothing) {
  EXPECT_NO_THROW(Completion(R"("suffix":"","guided_json":null,"bad_words":[],"best_of":1)"));
  EXPECT_NO_THROW(Chat(R"("response_format":{"type":"text"},"echo":false)"));
}

struct ThinkingCase {
  const char* fields;
  bool is_thinking;
};

class ThinkingSwitch : public ::testing::TestWithParam<ThinkingCase> {};

TEST_P(ThinkingSwitch, EverySpellingTurnsIt) {
  EXPECT_EQ(Chat(GetParam().fields).template_options.kwargs["enable_thinking"],
            GetParam().is_thinking)
      << GetParam().fields;
}

INSTANTIATE_TEST_SUITE_P(
    Spellings,
    ThinkingSwitch,
    ::testing::Values(
        ThinkingCase{"", false},
        ThinkingCase{R"("enable_thinking":true)", true},
        ThinkingCase{R"("enable_thinking":false)", false},
        ThinkingCase{R"("think":true)", true},
        ThinkingCase{R"("thinking":{"type":"enabled"})", true},
        ThinkingCase{R"("thinking":{"type":"disabled"})", false},
        ThinkingCase{R"("chat_template_kwargs":{"enable_thinking":true})", true},
        ThinkingCase{R"("chat_template_kwargs":{"enable_thinking":false},"enable_thinking":true)",
                     false},
        ThinkingCase{R"("extra_body":{"chat_template_kwargs":{"enable_thinking":true}})", true},
        ThinkingCase{R"("reasoning_effort":"none")", false},
        ThinkingCase{R"("reasoning_effort":"low")", true},
        ThinkingCase{R"("reasoning_effort":"medium")", true},
        ThinkingCase{R"("reasoning_effort":"high")", true},
        ThinkingCase{R"("reasoning_effort":"high","enable_thinking":false)", false}));

TEST(ThinkingSwitch, BadSpellingsAreNamed) {
  EXPECT_EQ(RefusalOf([] { Chat(R"("enable_thinking":"yes")"); }).param, "enable_thinking");
  EXPECT_EQ(RefusalOf([] { Chat(R"("reasoning_effort":"very")"); }).param, "reasoning_effort");
  EXPECT_EQ(RefusalOf([] { Chat(R"("thinking":{"type":"maybe"})"); }).param, "thinking.type");
  EXPECT_EQ(RefusalOf([] { Chat(R"("chat_template_kwargs":{"enable_thinking":"on"})"); }).param,
            "chat_template_kwargs.enable_thinking");
}

TEST(ThinkingSwitch, ServersDefaultHoldsUntilARequestSaysOtherwise) {
  RequestDefaults defaults = Defaults();
  defaults.chat_template_kwargs = {{"enable_thinking", true}, {"style", "brief"}};
  defaults.generation.thinking.temperature = 0.6F;
  defaults.generation.non_thinking.temperature = 0.7F;
  const ChatRequest thinking = Chat("", defaults);
  EXPECT_EQ(thinking.template_options.kwargs,
            (ordered_json{{"enable_thinking", true}, {"style", "brief"}}));
  EXPECT_FLOAT_EQ(thinking.options.sampling.temperature, 0.6F);
  EXPECT_EQ(thinking.options.sampling.max_tokens, 1024 + 512);
  const ChatRequest plain = Chat(R"("enable_thinking":false)", defaults);
  EXPECT_FLOAT_EQ(plain.options.sampling.temperature, 0.7F);
  EXPECT_EQ(plain.options.sampling.max_tokens, 1024);
}

TEST(StreamOptions, AnObjectAsksForUsageUnlessItSaysNo) {
  EXPECT_FALSE(Chat(R"("stream":true)").stream_options.include_usage);
  EXPECT_TRUE(Chat(R"("stream":true,"stream_options":{})").stream_options.include_usage);
  EXPECT_FALSE(Chat(R"("stream":true,"stream_options":{"include_usage":false})")
                   .stream_options.include_usage);
  EXPECT_TRUE(Chat(R"("stream":true,"stream_options":{"continuous_usage_stats":true})")
                  .stream_options.continuous_usage_stats);
}

}  // namespace
}  // namespace whinchat
