#include "collector/timeline/launch_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace stallscope {
namespace {

TEST(LaunchTable, UnknownId_IsNull) {
  LaunchTable table;
  EXPECT_EQ(table.Find(0), nullptr);
  EXPECT_EQ(table.Find(7), nullptr);
  table.At(8).begin = 1;
  EXPECT_EQ(table.Find(7), nullptr);  // a neighbour on the same page
}

TEST(LaunchTable, ForgottenId_ComesBackEmpty) {
  LaunchTable table;
  table.At(5).begin = 77;
  table.At(6).begin = 78;
  table.Forget(5);
  EXPECT_EQ(table.Find(5), nullptr);
  EXPECT_EQ(table.At(5).begin, 0);
  table.Forget(5);
  table.Forget(6);
  table.Forget(6);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.At(6).begin, 0);  // on a page that was spare
}

TEST(LaunchTable, References_StayWhenOthersCome) {
  LaunchTable table;
  Launch& first = table.At(1);
  for (uint32_t id = 2; id < 100'000; ++id) table.At(id);
  first.begin = 42;
  EXPECT_EQ(table.Find(1)->begin, 42);
}

TEST(LaunchTable, RandomUse_AgreesWithAMap) {
  LaunchTable table;
  std::map<uint32_t, HostNs> expected;
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    // Dense ids, ids that share a place in the cache, and the ends of the range.
    const uint32_t id = (random() % 4 == 0 ? 0xffffff00u : random() % 3 * 32 * 4096) + random() % 200 + 1;
    if (random() % 3 == 0) {
      table.Forget(id);
      expected.erase(id);
    } else {
      table.At(id).begin = i;
      expected[id] = i;
    }
    const uint32_t asked = id ^ (random() % 8);
    const Launch* found = table.Find(asked);
    const auto want = expected.find(asked);
    ASSERT_EQ(found != nullptr, want != expected.end()) << asked;
    if (found != nullptr) {
      ASSERT_EQ(found->begin, want->second);
    }
  }
  EXPECT_EQ(table.size(), expected.size());
}

}  // namespace
}  // namespace stallscope
