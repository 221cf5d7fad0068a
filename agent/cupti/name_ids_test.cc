#include "agent/cupti/name_ids.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/cuda/fake_agent.h"

namespace stallscope::agent {
namespace {

class NameIdsTest : public testing::Test {
 protected:
  void SetUp() override { ResetFake(); }
  NameIds ids_;
};

TEST_F(NameIdsTest, TheSamePointer_AsksTheTableOnce) {
  char name[] = "gemm";
  const uint32_t id = ids_.IdOf(name);
  EXPECT_EQ(id, 1u);
  name[0] = 'G';  // CUPTI keeps its names; were it read again, this would be another one
  EXPECT_EQ(ids_.IdOf(name), id);
  EXPECT_EQ(Fake().strings.size(), 1u);
}

TEST_F(NameIdsTest, TwoNamesAtOnePlaceOfTheTable_AreNotMixedUp) {
  // 4096 bytes apart: the same entry.
  std::string memory(3 * 4096, '\0');
  char* one = memory.data();
  char* other = one + 4096;
  std::string("one").copy(one, 3);
  std::string("other").copy(other, 5);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(ids_.IdOf(one), 1u);
    EXPECT_EQ(ids_.IdOf(other), 2u);
  }
}

TEST_F(NameIdsTest, NoName_IsZero) {
  EXPECT_EQ(ids_.IdOf(nullptr), 0u);
  EXPECT_TRUE(Fake().strings.empty());
}

TEST_F(NameIdsTest, ANameWithoutAnEnd_IsCutWhereTheProtocolEnds) {
  const std::string endless(70'000, 'x');
  EXPECT_EQ(ids_.IdOf(endless.c_str()), 1u);
  EXPECT_EQ(Fake().strings[0].size(), 65'535u);
}

}  // namespace
}  // namespace stallscope::agent
