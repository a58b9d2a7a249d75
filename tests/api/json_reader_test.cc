// SPDX-License-Identifier: Apache-2.0
#include "api/json_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/expect_api_error.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Repeat(const std::string& text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) {
    repeated += text;
  }
  return repeated;
}

TEST(ParseRequestJson, SyntaxErrorHasLineAndColumn) {
  const ErrorReply reply = RefusalOf([] { ParseRequestJson("{\"a\": 1,\n  \"b\" 2}"); });
  EXPECT_EQ(reply.http_status, 400);
  EXPECT_EQ(reply.code, "invalid_json");
  EXPECT_THAT(reply.message, HasSubstr("line 2, column 7"));
}

TEST(ParseRequestJson, RefusesWhatIsNoJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "nul",
                           "{\"a\":1}x",
                           "{\"a\":+1}",
                           "'a'",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "1e999",
                           "{\"a\"}",
                           "\"\n\"",
                           "]",
                           "}"}) {
    EXPECT_EQ(RefusalOf([&] { ParseRequestJson(text); }).http_status, 400) << text;
  }
}

TEST(ParseRequestJson, RefusesBytesThatAreNoUtf8) {
  for (const char* text : {"\"\xff\"",
                           "\"\xc3(\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf8\x88\x80\x80\x80\"",
                           "\"\xc0\xaf\"",
                           "\"abc\xe4\xbd\""}) {
    EXPECT_EQ(RefusalOf([&] { ParseRequestJson(text); }).code, "invalid_json") << text;
  }
}

TEST(ParseRequestJson, AcceptsNestingToTheBoundOnly) {
  EXPECT_NO_THROW(ParseRequestJson(Repeat("[", 64) + Repeat("]", 64)));
  const ErrorReply reply = RefusalOf([] { ParseRequestJson(Repeat("[", 65) + Repeat("]", 65)); });
  EXPECT_THAT(reply.message, HasSubstr("64 levels"));
  EXPECT_EQ(RefusalOf([] { ParseRequestJson(Repeat("{\"a\":", 1'000'000)); }).http_status, 400);
}

TEST(ParseRequestJson, BoundsTheKeysOfOneObject) {
  const auto object_with = [](int num_keys) {
    std::string text = "{\"a\":0";
    for (int i = 1; i < num_keys; ++i) {
      text += fmt::format(",\"k{}\":0", i);
    }
    return text + "}";
  };
  EXPECT_EQ(ParseRequestJson(object_with(512)).size(), 512U);
  EXPECT_THAT(RefusalOf([&] { ParseRequestJson(object_with(513)); }).message,
              HasSubstr("512 keys"));
}

TEST(ParseRequestJson, BracketsAndColonsInStringsDoNotCount) {
  const std::string text = fmt::format("\"{}\"", Repeat("[{:\\\"", 1000));
  EXPECT_NO_THROW(ParseRequestJson(text));
}

TEST(ParseRequestJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(DumpJson(ParseRequestJson(R"({"z":1,"a":{"y":2,"b":3}})")),
            R"({"z":1,"a":{"y":2,"b":3}})");
}

TEST(DumpJson, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(DumpJson("a\xffz"), "\"a\xEF\xBF\xBDz\"");
}

TEST(FieldReader, NullIsAbsent) {
  const ordered_json json = {{"a", nullptr}};
  FieldReader fields(json);
  EXPECT_FALSE(fields.Number("a", 0, 1).has_value());
  EXPECT_FALSE(fields.Integer("a", 0, 1).has_value());
  EXPECT_FALSE(fields.Boolean("a").has_value());
  EXPECT_FALSE(fields.String("a").has_value());
  EXPECT_EQ(fields.Array("a"), nullptr);
  EXPECT_EQ(fields.Object("a"), nullptr);
  EXPECT_TRUE(fields.StringOrList("a", 1).empty());
}

TEST(FieldReader, WrongTypesNameTheFieldAndBothTypes) {
  const ordered_json json = {{"a", "text"}, {"b", 1.5}};
  FieldReader fields(json, "outer.");
  const ErrorReply reply = RefusalOf([&] { fields.Number("a", 0, 1); });
  EXPECT_EQ(reply.param, "outer.a");
  EXPECT_EQ(reply.message, "outer.a: expected a number, got string.");
  EXPECT_EQ(RefusalOf([&] { fields.Integer("b", 0, 9); }).message,
            "outer.b: expected an integer, got number.");
  EXPECT_EQ(RefusalOf([&] { fields.Boolean("a"); }).param, "outer.a");
  EXPECT_EQ(RefusalOf([&] { fields.String("b"); }).param, "outer.b");
  EXPECT_EQ(RefusalOf([&] { fields.Array("b"); }).param, "outer.b");
  EXPECT_EQ(RefusalOf([&] { fields.Object("b"); }).param, "outer.b");
}

TEST(FieldReader, RangesAreInclusive) {
  const ordered_json json = {{"a", 2.0}, {"b", -1}};
  FieldReader fields(json);
  EXPECT_EQ(fields.Number("a", 0, 2), 2.0);
  EXPECT_EQ(fields.Integer("b", -1, 5), -1);
  EXPECT_EQ(RefusalOf([&] { fields.Number("a", 0, 1.9); }).message,
            "a: must be between 0 and 1.9, got 2.");
  EXPECT_EQ(RefusalOf([&] { fields.Integer("b", 0, 5); }).param, "b");
}

TEST(FieldReader, IntegersBeyondTheirTypeAreRefusedNotWrapped) {
  const ordered_json json = ParseRequestJson(
      R"({"huge":18446744073709551615,"float":1e300,"negative":-1e300,"max":9223372036854775807})");
  FieldReader fields(json);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(RefusalOf([&] { fields.Integer("huge", 0, kMax); }).param, "huge");
  EXPECT_EQ(RefusalOf([&] { fields.Integer("float", 0, kMax); }).param, "float");
  EXPECT_EQ(RefusalOf([&] { fields.Integer("negative", kMin, kMax); }).param, "negative");
  EXPECT_EQ(fields.Integer("max", 0, kMax), kMax);
}

TEST(FieldReader, AFloatWithoutFractionIsAnInteger) {
  const ordered_json json = {{"a", 16.0}};
  EXPECT_EQ(FieldReader(json).Integer("a", 0, 100), 16);
}

TEST(FieldReader, TellsFieldsNobodyReadOnce) {
  const ordered_json json = {{"known", 1}, {"new", 2}, {"other", nullptr}, {"ignored", 3}};
  FieldReader fields(json);
  fields.Integer("known", 0, 9);
  fields.Ignore("ignored");
  EXPECT_THAT(fields.UnknownFields(), ElementsAre("new", "other"));
}

TEST(FieldReader, RefusesABodyThatIsNoObject) {
  const ordered_json json = ordered_json::array();
  EXPECT_EQ(RefusalOf([&] { FieldReader fields(json); }).message,
            "The request body: expected an object, got array.");
}

}  // namespace
}  // namespace whinchat
