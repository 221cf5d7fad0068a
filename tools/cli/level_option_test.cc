#include "tools/cli/level_option.h"

#include <set>
#include <utility>

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

TEST(LevelOf, EachName_MeansSomethingElse) {
  std::set<std::pair<wire::Level, bool>> meanings;
  for (const std::string& name : LevelNames()) {
    meanings.insert({LevelOf(name).level, LevelOf(name).stacks});
    EXPECT_NE(std::string(kLevelHelp).find(name), std::string::npos) << name;
  }
  meanings.insert({LevelOf("off").level, LevelOf("off").stacks});
  EXPECT_EQ(meanings.size(), LevelNames().size() + 1);
}

TEST(LevelOf, Stacks_AreTakenBesideTheBudget) {
  EXPECT_EQ(LevelOf("stacks").level, wire::Level::kBudget);
  EXPECT_TRUE(LevelOf("stacks").stacks);
  EXPECT_FALSE(LevelOf("nodes").stacks);
}

}  // namespace
}  // namespace stallscope::cli
