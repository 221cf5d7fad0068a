#include "agent/attach/slot_table.h"

#include <gtest/gtest.h>

namespace stallscope::agent {
namespace {

class SlotTableTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(table_.Create()); }
  SlotTable table_;
};

TEST_F(SlotTableTest, WhatWasTaken_IsFoundUntilItIsForgotten) {
  EXPECT_EQ(table_.Find(0x1000), nullptr);
  EXPECT_TRUE(table_.Remember(0x1000, 0xaaaa, 0xbbbb));
  ASSERT_NE(table_.Find(0x1000), nullptr);
  EXPECT_EQ(table_.Find(0x1000)->original, 0xaaaau);
  EXPECT_EQ(table_.Find(0x1000)->hook, 0xbbbbu);
  EXPECT_EQ(table_.Find(0x1008), nullptr);
  table_.Forget();
  EXPECT_EQ(table_.Find(0x1000), nullptr);
  EXPECT_EQ(table_.count(), 0u);
  EXPECT_TRUE(table_.Remember(0x1000, 0xcccc, 0xbbbb));
  EXPECT_EQ(table_.Find(0x1000)->original, 0xccccu);
}

TEST_F(SlotTableTest, ASlotTakenTwice_CountsOnceWithItsNewValue) {
  table_.Remember(0x1000, 0xaaaa, 0xbbbb);
  table_.Remember(0x1000, 0xcccc, 0xbbbb);
  EXPECT_EQ(table_.count(), 1u);
  EXPECT_EQ(table_.Find(0x1000)->original, 0xccccu);
}

// A slot that nobody could give back must not be taken; the ones that are there still get their new values.
TEST_F(SlotTableTest, Full_RefusesNewSlotsAlone) {
  uint32_t taken = 0;
  for (uintptr_t slot = 8; slot <= SlotTable::kCapacity * 8; slot += 8) {
    if (!table_.Remember(slot, slot + 1, 0xbbbb)) break;
    ++taken;
  }
  EXPECT_EQ(taken, SlotTable::kCapacity / 4 * 3);
  EXPECT_EQ(table_.count(), taken);
  EXPECT_TRUE(table_.Remember(8, 0xdddd, 0xbbbb));
  EXPECT_EQ(table_.Find(8)->original, 0xddddu);
  for (uintptr_t slot = 16; slot <= uintptr_t{taken} * 8; slot += 8) {
    ASSERT_NE(table_.Find(slot), nullptr);
    ASSERT_EQ(table_.Find(slot)->original, slot + 1);
  }
}

TEST_F(SlotTableTest, WhatAHookForwardsTo_IsKeptByVersion) {
  EXPECT_EQ(table_.KnownReal(7, "GLIBC_2.2.5"), nullptr);
  table_.RememberReal(7, "GLIBC_2.2.5", 0x1234);
  ASSERT_NE(table_.KnownReal(7, "GLIBC_2.2.5"), nullptr);
  EXPECT_EQ(*table_.KnownReal(7, "GLIBC_2.2.5"), 0x1234u);
  EXPECT_EQ(table_.KnownReal(7, "GLIBC_2.3.2"), nullptr);
  EXPECT_EQ(table_.KnownReal(7, nullptr), nullptr);
  table_.RememberReal(8, nullptr, 0);  // not there yet: asked for again
  EXPECT_EQ(table_.KnownReal(8, nullptr), nullptr);
}

TEST(KnownModules, AModule_IsKnownByWhereItLies) {
  KnownModules modules;
  EXPECT_EQ(modules.Find(0x1000, 0x1800), nullptr);
  modules.Add(0x1000, 0x1800)->looks_left = 2;
  ASSERT_NE(modules.Find(0x1000, 0x1800), nullptr);
  EXPECT_EQ(modules.Find(0x1000, 0x1800)->looks_left, 2);
  EXPECT_EQ(modules.Find(0x1000, 0x1900), nullptr);
  modules.Forget();
  EXPECT_EQ(modules.Find(0x1000, 0x1800), nullptr);
}

TEST(KnownModules, AFullList_TakesNoMore) {
  KnownModules modules;
  uintptr_t base = 0x1000;
  while (modules.Add(base, base) != nullptr) base += 0x1000;
  EXPECT_EQ(base, 0x1000u + 2048 * 0x1000u);
  EXPECT_NE(modules.Find(0x1000, 0x1000), nullptr);
}

}  // namespace
}  // namespace stallscope::agent
