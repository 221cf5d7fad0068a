#include "tools/tui/styled_text.h"

#include <gtest/gtest.h>

namespace stallscope::tui {
namespace {

TEST(PlainText, SpansOfALine_AreJoinedWithoutBlanksAtTheEnd) {
  EXPECT_EQ(PlainText({{{"idle", Style::kIdle}, {"  12 %  "}}, {}, {{"  "}, {"x"}}}), "idle  12 %\n\n  x\n");
  EXPECT_EQ(PlainText({}), "");
}

// A thread or a range may be called anything.
TEST(PlainText, ANameThatWouldSteerTheTerminal_DoesNot) {
  EXPECT_EQ(PlainText({{{"a\x1b[2Jb\nc\td\x7f"}}}), "a?[2Jb?c?d?\n");
}

TEST(OneLine, TextOfOtherAlphabets_IsKept) {
  EXPECT_EQ(OneLine("sch\xc3\xb6n \xe2\x82\xac"), "sch\xc3\xb6n \xe2\x82\xac");
}

}  // namespace
}  // namespace stallscope::tui
