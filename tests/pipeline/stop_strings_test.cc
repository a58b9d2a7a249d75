// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stop_strings.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace whinchat {
namespace {

struct Result {
  std::string output;
  std::optional<std::string> matched;
  bool operator==(const Result&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Result& result) {
  return stream << '[' << result.output << "] " << result.matched.value_or("(no match)");
}

Result Scan(const std::vector<std::string>& stop,
            std::string_view text,
            size_t piece_size,
            bool include_stop = false) {
  StopStringMatcher matcher(stop, include_stop);
  Result result;
  for (size_t i = 0; i < text.size(); i += piece_size) {
    result.output += matcher.Append(text.substr(i, piece_size));
  }
  result.output += matcher.Flush();
  result.matched = matcher.matched();
  return result;
}

void ExpectScan(const std::vector<std::string>& stop,
                std::string_view text,
                const Result& expected,
                bool include_stop = false) {
  for (size_t piece_size = 1; piece_size <= text.size(); ++piece_size) {
    EXPECT_EQ(Scan(stop, text, piece_size, include_stop), expected)
        << "in pieces of " << piece_size;
  }
}

TEST(StopStringMatcher, FindsAStringWhereverTheTextIsCut) {
  ExpectScan({"STOP"}, "one STOP two", {"one ", "STOP"});
  ExpectScan({"\n\n", "User:"}, "Hi.\nUser: you", {"Hi.\n", "User:"});
  ExpectScan({"北京"}, "在北京。", {"在", "北京"});
}

TEST(StopStringMatcher, OutputsTheStopStringOnlyWhenAsked) {
  ExpectScan({"STOP"}, "one STOP two", {"one STOP", "STOP"}, /*include_stop=*/true);
}

TEST(StopStringMatcher, TextThatOnlyBeginsLikeAStopStringComesOutInTheEnd) {
  ExpectScan({"STOP"}, "STO STOO ST", {"STO STOO ST", std::nullopt});
  ExpectScan({"aab"}, "aaaab aa", {"aa", "aab"});
}

TEST(StopStringMatcher, TheMatchThatEndsFirstCountsAndThenTheLongest) {
  ExpectScan({"abc", "b"}, "xabc", {"xa", "b"});
  ExpectScan({"c", "abc"}, "xabc", {"x", "abc"});
  ExpectScan({"abc", "c"}, "xabc", {"x", "abc"});
}

TEST(StopStringMatcher, HoldsBackNoMoreThanAPossibleStart) {
  StopStringMatcher matcher({"</s>"}, /*include_stop_str_in_output=*/false);
  EXPECT_EQ(matcher.Append("text <"), "text ");
  EXPECT_EQ(matcher.Append("/"), "");
  EXPECT_EQ(matcher.Append("p> <"), "</p> ");
  EXPECT_EQ(matcher.Append("/s> more"), "");
  EXPECT_EQ(matcher.matched(), "</s>");
  EXPECT_EQ(matcher.Append("after"), "");
  EXPECT_EQ(matcher.Flush(), "");
}

TEST(StopStringMatcher, WithoutStopStringsTextPassesThrough) {
  ExpectScan({}, "anything", {"anything", std::nullopt});
}

TEST(StopStringMatcher, AnEmptyStopStringIsRefused) {
  EXPECT_THROW(StopStringMatcher({"a", ""}, false), Error);
}

}  // namespace
}  // namespace whinchat
