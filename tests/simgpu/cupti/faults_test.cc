#include "tests/simgpu/cupti/faults.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace simgpu::cupti {
namespace {

void CUPTIAPI IgnoreCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Faults are read once a process: each runs in a fresh process of its own.
TEST(CuptiFaultDeathTest, Busy_RefusesSubscribersAndNamesTheHolder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("SIMGPU_CUPTI_FAULT", "busy", 1);
        CUpti_SubscriberHandle subscriber;
        char holder[64] = {};
        CUpti_SubscriberParams params{};
        params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        params.oldSubscriberName = holder;
        params.oldSubscriberSize = sizeof holder;
        const CUptiResult result = cuptiSubscribe_v2(&subscriber, IgnoreCall, nullptr, &params);
        std::fprintf(stderr, "%d %s", result, holder);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "39 nsys");
}

TEST(CuptiFaultDeathTest, NoDriver_AnswersUnknown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("SIMGPU_CUPTI_FAULT", "no_driver", 1);
        CUpti_SubscriberHandle subscriber;
        std::fprintf(stderr, "%d %d", cuptiSubscribe(&subscriber, IgnoreCall, nullptr),
                     cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "999 999");
}

}  // namespace
}  // namespace simgpu::cupti
