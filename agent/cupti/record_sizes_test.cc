#include "agent/cupti/record_sizes.h"

#include <gtest/gtest.h>

#include "agent/cupti/activity_bytes.h"

namespace stallscope::agent {
namespace {

TEST(RecordSizes, Probe_FindsTheParsersStrides) {
  UseStridesOf130();
  const RecordSizes sizes = ProbeRecordSizes(TestNextRecord);
  for (uint32_t kind = 0; kind < RecordSizes::kKinds; ++kind) EXPECT_EQ(sizes.Of(kind), g_test_strides[kind]) << kind;
}

TEST(RecordSizes, OlderLibrary_IsSeenByItsShorterRecords) {
  UseStridesOf130();
  g_test_strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = 200;
  EXPECT_EQ(ProbeRecordSizes(TestNextRecord).Of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 200u);
}

TEST(RecordSizes, KindsBeyondTheTable_AreUnknown) { EXPECT_EQ(RecordSizes{}.Of(1u << 30), 0u); }

}  // namespace
}  // namespace stallscope::agent
