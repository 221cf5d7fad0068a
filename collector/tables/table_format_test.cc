#include "collector/tables/table_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stallscope {
namespace {

using testing::HasSubstr;

std::vector<DurationRow> Named(const std::string& name) {
  DurationRow row;
  row.key = name;
  row.share_tenths_percent = 1000;
  row.total_ns = row.min_ns = row.max_ns = 1'234'567;
  row.count = 1;
  row.average_tenths_ns = row.median_tenths_ns = 12'345'670;
  return {row};
}

TEST(FormatCsv, NamesWithCommasQuotesAndLineBreaks_AreQuoted) {
  EXPECT_THAT(FormatCsv(kSummaries[0], Named("plain")), testing::EndsWith(",0.0,plain\n"));
  EXPECT_THAT(FormatCsv(kSummaries[0], Named("f<int, 2>")), testing::EndsWith(",\"f<int, 2>\"\n"));
  EXPECT_THAT(FormatCsv(kSummaries[0], Named("say \"x\"")), testing::EndsWith(",\"say \"\"x\"\"\"\n"));
  EXPECT_THAT(FormatCsv(kSummaries[0], Named("a\nb")), testing::EndsWith(",\"a\nb\"\n"));
}

TEST(FormatText, NumbersAreGroupedAndRightAligned) {
  const std::string text = FormatText(kSummaries[0], Named("read"));
  EXPECT_THAT(text, HasSubstr("  1,234,567 "));
  EXPECT_THAT(text, HasSubstr("1,234,567.0"));
  EXPECT_THAT(text, testing::EndsWith(" read\n\n"));
}

// A range may be called anything.
TEST(FormatText, AName_StaysOneLineAndDoesNotSteerTheTerminal) {
  const std::string text = FormatText(kSummaries[0], Named("a\nb\x1b[2J"));
  EXPECT_THAT(text, testing::EndsWith(" a?b?[2J\n\n"));
}

TEST(FormatText, ALongName_IsCutBetweenCharacters) {
  EXPECT_THAT(FormatText(kSummaries[0], Named(std::string(120, 'x'))),
              testing::EndsWith(" " + std::string(120, 'x') + "\n\n"));
  EXPECT_THAT(FormatText(kSummaries[0], Named(std::string(121, 'x'))),
              testing::EndsWith(" " + std::string(117, 'x') + "...\n\n"));
  std::string euros = "x";
  for (int i = 0; i < 60; ++i) euros += "\xe2\x82\xac";
  const std::string text = FormatText(kSummaries[0], Named(euros));
  EXPECT_THAT(text, testing::EndsWith("\xe2\x82\xac...\n\n"));
}

TEST(FormatJson, NumbersAreNumbersAndBytesThatAreNoUtf8AreReplaced) {
  const std::string json = FormatJson(kSummaries[0], Named("a\xff"));
  EXPECT_THAT(json, HasSubstr("\"Total Time (ns)\": 1234567"));
  EXPECT_THAT(json, HasSubstr("\"Avg (ns)\": 1234567.0"));
  EXPECT_THAT(json, HasSubstr("\"Name\": \"a\xef\xbf\xbd\""));
  EXPECT_EQ(FormatJson(kSummaries[0], {}), "[]\n");
}

}  // namespace
}  // namespace stallscope
