#include "agent/stream/object_ids.h"

#include <set>

#include "gtest/gtest.h"

namespace stallscope::agent {
namespace {

TEST(ObjectIds, NoObject_IsZero) {
  ObjectIds ids;
  ASSERT_TRUE(ids.Create());
  bool is_new = true;
  EXPECT_EQ(ids.IdOf(0, &is_new), 0u);
  EXPECT_FALSE(is_new);
  ids.Destroy();
}

TEST(ObjectIds, SameValue_SameIdIntroducedOncePerConnection) {
  ObjectIds ids;
  ASSERT_TRUE(ids.Create());
  bool is_new = false;
  const uint32_t id = ids.IdOf(0xabc0, &is_new);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(ids.IdOf(0xabc0, &is_new), id);
  EXPECT_FALSE(is_new);
  ids.ForgetIntroductions();
  EXPECT_EQ(ids.IdOf(0xabc0, &is_new), id);
  EXPECT_TRUE(is_new);
  ids.Destroy();
}

TEST(ObjectIds, MoreValuesThanTheTableHolds_NeverReuseAnId) {
  ObjectIds ids;
  ASSERT_TRUE(ids.Create());
  std::set<uint32_t> seen;
  bool is_new = false;
  for (uint64_t value = 1; value <= 200'000; ++value) {
    EXPECT_TRUE(seen.insert(ids.IdOf(value * 64, &is_new)).second);
    EXPECT_TRUE(is_new);
  }
  ids.Destroy();
}

}  // namespace
}  // namespace stallscope::agent
