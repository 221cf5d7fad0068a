#include "agent/cupti/callback_cost.h"

#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"
#include "agent/cupti/session_state.h"

namespace stallscope::agent {
namespace {

// The call of the measurement, and what its callbacks cost.
struct Driver {
  bool callback_on = false, refuses = false;
  uint32_t callbacks_of_a_call = 2;
  uint64_t call_ns = 20, callback_ns = 150;
  uint32_t switched = 0;
};
Driver g_driver;

int GetVersion(int* version) {
  *version = 13000;
  Fake().ticks += g_driver.call_ns;
  if (!g_driver.callback_on) return 0;
  for (uint32_t i = 0; i < g_driver.callbacks_of_a_call; ++i) {
    Fake().ticks += g_driver.callback_ns;
    NoteUnlistedCallback();
  }
  return 0;
}
CUptiResult CUPTIAPI EnableCallback(uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  ++g_driver.switched;
  if (g_driver.refuses) return CUPTI_ERROR_INVALID_PARAMETER;
  g_driver.callback_on = on != 0;
  return CUPTI_SUCCESS;
}

class CallbackCost : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    Fake().ticks_per_reading = 0;
    g_driver = {};
    g_cupti_session.cupti.functions.cuptiEnableCallback = EnableCallback;
    Fake().symbols["cuDriverGetVersion"] = reinterpret_cast<void*>(&GetVersion);
  }
};

TEST_F(CallbackCost, OfACallWithTwoCallbacks_IsThatOfOne) {
  EXPECT_EQ(MeasureCallbackCost(), 150u);
  EXPECT_FALSE(g_driver.callback_on);
}

TEST_F(CallbackCost, WithoutADriver_IsMeasuredAtTheRuntime) {
  Fake().symbols.clear();
  EXPECT_EQ(MeasureCallbackCost(), 0u);
  Fake().symbols["cudaRuntimeGetVersion"] = reinterpret_cast<void*>(&GetVersion);
  EXPECT_EQ(MeasureCallbackCost(), 150u);
}

TEST_F(CallbackCost, ALibraryThatRefusesTheCallback_IsNotMeasured) {
  g_driver.refuses = true;
  EXPECT_EQ(MeasureCallbackCost(), 0u);
}

TEST_F(CallbackCost, CallbacksThatDoNotCome_AreNotTakenForCheapOnes) {
  g_driver.callbacks_of_a_call = 1;
  EXPECT_EQ(MeasureCallbackCost(), 0u);
  EXPECT_FALSE(g_driver.callback_on);
}

TEST_F(CallbackCost, WhatCannotBe_IsNotKnown) {
  g_driver.callback_ns = 0;  // not slower than without
  EXPECT_EQ(MeasureCallbackCost(), 0u);
  g_driver.callback_ns = 100'001;  // interrupted in every round
  EXPECT_EQ(MeasureCallbackCost(), 0u);
  g_driver.callback_ns = 100'000;
  EXPECT_EQ(MeasureCallbackCost(), 100'000u);
}

}  // namespace
}  // namespace stallscope::agent
