#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/simgpu/cupti/activity_client.h"

namespace simgpu::cupti {
namespace {

struct SeenCall {
  CUpti_ApiCallbackSite site;
  std::string name;
  uint32_t correlation_id;
  std::thread::id thread;
  size_t bytes;
};

void CUPTIAPI OnCall(void* user_data, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  const auto* params = static_cast<const cudaMalloc_v3020_params*>(call->functionParams);
  static_cast<std::vector<SeenCall>*>(user_data)->push_back(
      {call->callbackSite, call->functionName, call->correlationId, std::this_thread::get_id(), params->size});
}

TEST_F(CuptiActivity, SecondSubscriber_IsRefusedAndHearsWhoWasFirst) {
  CUpti_SubscriberHandle first, second;
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "first tool";
  ASSERT_EQ(cuptiSubscribe_v2(&first, OnCall, nullptr, &params), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&second, OnCall, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  char holder[64] = {};
  params.subscriberName = "second tool";
  params.oldSubscriberName = holder;
  params.oldSubscriberSize = sizeof holder;
  EXPECT_EQ(cuptiSubscribe_v2(&second, OnCall, nullptr, &params), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(holder, "first tool");
  EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_SUCCESS);
}

TEST_F(CuptiActivity, EnabledCallback_SeesTheRealParametersOnTheCallingThread) {
  std::vector<SeenCall> seen;
  CUpti_SubscriberHandle subscriber;
  ASSERT_EQ(cuptiSubscribe(&subscriber, OnCall, &seen), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020),
            CUPTI_SUCCESS);
  void* device;
  cudaMalloc(&device, 12345);
  cudaFree(device);
  cuptiUnsubscribe(subscriber);
  void* unseen;
  cudaMalloc(&unseen, 1);
  cudaFree(unseen);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(seen[1].site, CUPTI_API_EXIT);
  EXPECT_EQ(seen[0].name, "cudaMalloc_v3020");
  EXPECT_EQ(seen[0].bytes, 12345u);
  EXPECT_EQ(seen[0].correlation_id, seen[1].correlation_id);
  EXPECT_NE(seen[0].correlation_id, 0u);
  EXPECT_EQ(seen[0].thread, std::this_thread::get_id());
}

}  // namespace
}  // namespace simgpu::cupti
