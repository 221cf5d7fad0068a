#include "agent/nvtx/ranges.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/cuda/fake_agent.h"
#include "agent/nvtx/text_ids.h"

namespace stallscope::agent {
namespace {

using wire::RangeKind;

class Ranges : public testing::Test {
 protected:
  void SetUp() override {
    while (PopRange(0) >= 0 || PopRange(5) >= 0) {
    }
    ResetFake();
  }
  std::vector<RecordFields>& records() { return Fake().records; }
};

TEST_F(Ranges, PushAndPop_MakeOneRecordAtThePop) {
  EXPECT_EQ(PushRange({0, 3, 12}), 0);
  EXPECT_EQ(PushRange({0, 4, 0}), 1);
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(PopRange(0), 1);
  EXPECT_EQ(PopRange(0), 0);
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[0].object, 4u);
  EXPECT_EQ(records()[1].object, 3u);
  EXPECT_EQ(records()[1].argument, 12u);
  EXPECT_EQ(records()[1].call, static_cast<uint16_t>(RangeKind::kPush));
  EXPECT_GT(records()[1].duration, records()[0].duration);
}

TEST_F(Ranges, PopOfNothing_IsNegative) { EXPECT_LT(PopRange(0), 0); }

TEST_F(Ranges, Domains_PopTheirOwn) {
  PushRange({0, 1, 0});
  PushRange({5, 2, 0});
  EXPECT_GE(PopRange(0), 0);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].object, 1u);
  EXPECT_GE(PopRange(5), 0);
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[1].detail, 5u);
}

TEST_F(Ranges, DeeperThanTheStack_ReturnsToBalance) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(PushRange({0, 1, 0}), i);
  for (int i = 49; i >= 0; --i) EXPECT_EQ(PopRange(0), i);
  EXPECT_EQ(records().size(), 30u);
  EXPECT_EQ(Fake().CountOf(wire::Counter::kInternal), 20u);
}

TEST_F(Ranges, StartAndEnd_AreJoinedById) {
  const uint64_t first = StartRange({0, 1, 0}), second = StartRange({0, 2, 0});
  EXPECT_NE(first, 0u);
  EndRange(first);
  EndRange(first);  // ended already
  EndRange(second);
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[0].object, 1u);
  EXPECT_EQ(records()[0].call, static_cast<uint16_t>(RangeKind::kStartEnd));
}

TEST_F(Ranges, TooManyStarted_AreRefusedAndCounted) {
  std::vector<uint64_t> ids;
  uint64_t id = 0;
  while ((id = StartRange({0, 1, 0})) != 0) ids.push_back(id);
  EXPECT_EQ(ids.size(), 1024u);
  EXPECT_EQ(Fake().CountOf(wire::Counter::kInternal), 1u);
  for (const uint64_t started : ids) EndRange(started);
  EXPECT_EQ(records().size(), 1024u);
}

TEST_F(Ranges, Mark_HasNoDuration) {
  RecordMark({0, 9, 0});
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].duration, 0u);
  EXPECT_EQ(records()[0].call, static_cast<uint16_t>(RangeKind::kMark));
}

TEST_F(Ranges, RecordingOff_KeepsTheBalance) {
  PushRange({0, 1, 0});
  Fake().recording = false;
  EXPECT_EQ(PopRange(0), 0);
  EXPECT_TRUE(records().empty());
}

TEST(TextIds, SameBytesAtAnotherAddress_HaveTheSameId) {
  ResetFake();
  std::string first = "a range of the text id test", second = first;
  const uint32_t id = TextId(first.c_str());
  EXPECT_NE(id, 0u);
  EXPECT_EQ(TextId(second.c_str()), id);
  second[0] = 'b';
  EXPECT_NE(TextId(second.c_str()), id);
  EXPECT_EQ(Fake().strings.size(), 2u);
}

TEST(TextIds, NullIsNoText) { EXPECT_EQ(TextId(nullptr), 0u); }

TEST(TextIds, WideText_BecomesUtf8) {
  ResetFake();
  WideTextId(L"sch\u00f6n \u20ac");
  ASSERT_EQ(Fake().strings.size(), 1u);
  EXPECT_EQ(Fake().strings[0], "sch\xc3\xb6n \xe2\x82\xac");
}

}  // namespace
}  // namespace stallscope::agent
