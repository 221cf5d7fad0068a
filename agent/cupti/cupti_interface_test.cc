#include "agent/cupti/cupti_interface.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace stallscope::agent {
namespace {

// What the library was asked, and what it answers.
struct Library {
  std::vector<std::string> calls;
  uint32_t version = 130'000;
  CUptiResult subscribe = CUPTI_SUCCESS, subscribe_v2 = CUPTI_SUCCESS, dump = CUPTI_SUCCESS;
  size_t struct_bytes = 0;
  uint8_t shared = 7;
};
Library g_library;

auto* const kHandle = reinterpret_cast<CUpti_SubscriberHandle>(0x1234);

CUptiResult CUPTIAPI GetVersion(uint32_t* version) {
  *version = g_library.version;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI SubscribeOne(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*) {
  g_library.calls.push_back("cuptiSubscribe");
  if (g_library.subscribe == CUPTI_SUCCESS) *handle = kHandle;
  return g_library.subscribe;
}
CUptiResult CUPTIAPI SubscribeTwo(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*,
                                  CUpti_SubscriberParams* parameters) {
  g_library.calls.push_back("cuptiSubscribe_v2");
  SubscriberParams whole = {};
  std::memcpy(&whole, parameters, parameters->structSize);
  g_library.struct_bytes = whole.struct_bytes;
  g_library.shared = whole.struct_bytes == sizeof(whole) ? whole.allow_multiple_subscribers : 7;
  if (g_library.subscribe_v2 == CUPTI_SUCCESS) {
    *handle = kHandle;
  } else {
    std::strncpy(whole.old_subscriber_name, "Nsight Systems", whole.old_subscriber_bytes - 1);
  }
  return g_library.subscribe_v2;
}
CUptiResult CUPTIAPI Unsubscribe(CUpti_SubscriberHandle handle) {
  g_library.calls.push_back(handle == kHandle ? "cuptiUnsubscribe" : "cuptiUnsubscribe of another");
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI Enable(CUpti_ActivityKind) {
  g_library.calls.push_back("cuptiActivityEnable");
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI EnableTwo(CUpti_SubscriberHandle handle, CUpti_ActivityKind, void*) {
  g_library.calls.push_back(handle == kHandle ? "cuptiActivityEnable_v2" : "cuptiActivityEnable_v2 of another");
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI EnableAndDump(CUpti_ActivityKind) {
  g_library.calls.push_back("cuptiActivityEnableAndDump");
  return g_library.dump;
}

class CuptiInterfaceTest : public testing::Test {
 protected:
  void SetUp() override {
    g_library = {};
    cupti_.functions.cuptiGetVersion = GetVersion;
    cupti_.functions.cuptiSubscribe = SubscribeOne;
    cupti_.functions.cuptiSubscribe_v2 = SubscribeTwo;
    cupti_.functions.cuptiUnsubscribe = Unsubscribe;
    cupti_.functions.cuptiActivityEnable = Enable;
    cupti_.functions.cuptiActivityEnable_v2 = EnableTwo;
    cupti_.functions.cuptiActivityEnableAndDump = EnableAndDump;
  }
  CUptiResult Subscribe(bool per_subscriber) {
    return cupti_.Subscribe(per_subscriber, nullptr, holder_, sizeof(holder_));
  }
  // Of the family of 13.3, all but the last.
  void HaveAFamilyWithoutTimestamp() {
    auto& f = cupti_.functions;
    f.cuptiActivityRegisterCallbacks_v2 = [](auto...) { return CUPTI_SUCCESS; };
    f.cuptiActivityDisable_v2 = f.cuptiActivityEnableAndDump_v2 = EnableTwo;
    f.cuptiActivitySetAttribute_v2 = [](auto...) { return CUPTI_SUCCESS; };
    f.cuptiActivityGetNextRecord_v2 = [](auto...) { return CUPTI_SUCCESS; };
    f.cuptiActivityGetNumDroppedRecords_v2 = [](auto...) { return CUPTI_SUCCESS; };
  }

  CuptiInterface cupti_;
  char holder_[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "left over";
};

using Calls = std::vector<std::string>;

TEST_F(CuptiInterfaceTest, PerSubscriber_NeedsTheVersionAndTheWholeFamily) {
  g_library.version = kPerSubscriberVersion;
  cupti_.SetUp();
  EXPECT_EQ(cupti_.version(), kPerSubscriberVersion);
  EXPECT_FALSE(cupti_.CanBePerSubscriber());
  HaveAFamilyWithoutTimestamp();
  EXPECT_FALSE(cupti_.CanBePerSubscriber());
  cupti_.functions.cuptiGetTimestamp_v2 = [](auto...) { return CUPTI_SUCCESS; };
  EXPECT_TRUE(cupti_.CanBePerSubscriber());
  g_library.version = kPerSubscriberVersion - 1;
  cupti_.SetUp();
  EXPECT_FALSE(cupti_.CanBePerSubscriber());
}

TEST_F(CuptiInterfaceTest, SharedSubscription_AsksForItInTheNewForm) {
  EXPECT_EQ(Subscribe(true), CUPTI_SUCCESS);
  EXPECT_EQ(g_library.calls, Calls({"cuptiSubscribe_v2"}));
  EXPECT_EQ(g_library.struct_bytes, sizeof(SubscriberParams));
  EXPECT_EQ(g_library.shared, 1);
  EXPECT_EQ(cupti_.subscriber(), kHandle);
  cupti_.Enable(CUPTI_ACTIVITY_KIND_MEMCPY);
  EXPECT_EQ(g_library.calls.back(), "cuptiActivityEnable_v2");
}

TEST_F(CuptiInterfaceTest, ProcessWide_UsesTheOldFunctionsAlone) {
  EXPECT_EQ(Subscribe(false), CUPTI_SUCCESS);
  cupti_.Enable(CUPTI_ACTIVITY_KIND_MEMCPY);
  EXPECT_EQ(g_library.calls, Calls({"cuptiSubscribe", "cuptiActivityEnable"}));
  EXPECT_STREQ(holder_, "");
}

TEST_F(CuptiInterfaceTest, HeldByAnother_TheSecondFormSaysByWhom) {
  cupti_.SetUp();
  g_library.subscribe = g_library.subscribe_v2 = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_EQ(Subscribe(false), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(holder_, "Nsight Systems");
  EXPECT_EQ(g_library.struct_bytes, sizeof(CUpti_SubscriberParams));  // an older library knows no more
  EXPECT_EQ(cupti_.subscriber(), nullptr);
}

// The question who holds it must not leave us subscribed.
TEST_F(CuptiInterfaceTest, FreeAgainWhenAsked_IsLetGo) {
  cupti_.SetUp();
  g_library.subscribe = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_EQ(Subscribe(false), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(g_library.calls, Calls({"cuptiSubscribe", "cuptiSubscribe_v2", "cuptiUnsubscribe"}));
}

// There the second form begins an interface of its own, which cannot be mixed with this one.
TEST_F(CuptiInterfaceTest, HeldByAnotherOnANewLibrary_IsNotAskedFurther) {
  g_library.version = kSubscriberSessionsVersion;
  cupti_.SetUp();
  g_library.subscribe = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  Subscribe(false);
  EXPECT_EQ(g_library.calls, Calls({"cuptiSubscribe"}));
}

TEST_F(CuptiInterfaceTest, DumpThatIsNotThereOrFails_IsAnEnable) {
  Subscribe(false);
  g_library.calls.clear();
  EXPECT_EQ(cupti_.EnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE), CUPTI_SUCCESS);
  EXPECT_EQ(g_library.calls, Calls({"cuptiActivityEnableAndDump"}));
  g_library.dump = CUPTI_ERROR_NOT_SUPPORTED;
  EXPECT_EQ(cupti_.EnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE), CUPTI_SUCCESS);
  EXPECT_EQ(g_library.calls.back(), "cuptiActivityEnable");
  cupti_.functions.cuptiActivityEnableAndDump = nullptr;
  g_library.calls.clear();
  EXPECT_EQ(cupti_.EnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE), CUPTI_SUCCESS);
  EXPECT_EQ(g_library.calls, Calls({"cuptiActivityEnable"}));
}

TEST_F(CuptiInterfaceTest, FlagsOfTheProcess_AreNotReadWhereSubscribersShare) {
  Subscribe(true);
  uint8_t value = 9;
  EXPECT_EQ(cupti_.GetFlag(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &value), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(value, 9);
}

}  // namespace
}  // namespace stallscope::agent
