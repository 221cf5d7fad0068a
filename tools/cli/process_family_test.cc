#include "tools/cli/process_family.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

using testing::ElementsAre;

TEST(ProcessFamily, ChildrenOfChildren_AreFound) {
  const ProcessFamily family = FamilyOf(R"({"processes":[
      {"pid":12,"parent_pid":11,"live":true},{"pid":11,"parent_pid":10,"live":false},
      {"pid":10,"parent_pid":1,"live":false},{"pid":20,"parent_pid":1,"live":true}]})",
                                        10);
  EXPECT_THAT(family.pids, ElementsAre(10, 11, 12));
  EXPECT_TRUE(family.ended);
}

TEST(ProcessFamily, CommandThatIsStillRead_HasNotEnded) {
  EXPECT_FALSE(FamilyOf(R"({"processes":[{"pid":10,"parent_pid":1,"live":true}]})", 10).ended);
}

TEST(ProcessFamily, CommandThatTheCollectorNeverSaw_IsAllThereIs) {
  const ProcessFamily family = FamilyOf(R"({"processes":[{"pid":11,"parent_pid":1,"live":false}]})", 10);
  EXPECT_THAT(family.pids, ElementsAre(10));
  EXPECT_FALSE(family.ended);
}

TEST(ProcessFamily, ParentsInACircle_End) {
  EXPECT_THAT(FamilyOf(R"({"processes":[{"pid":10,"parent_pid":11},{"pid":11,"parent_pid":10}]})", 10).pids,
              ElementsAre(10, 11));
}

TEST(ProcessFamily, AnswerOfAnotherKind_IsSurvived) {
  for (const char* document : {"", "[1]", R"({"processes":7})", R"({"processes":[1,{"pid":"x"},{"pid":-1}]})"}) {
    EXPECT_THAT(FamilyOf(document, 10).pids, ElementsAre(10)) << document;
  }
}

}  // namespace
}  // namespace stallscope::cli
