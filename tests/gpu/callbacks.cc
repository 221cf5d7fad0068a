// What a launch tells the callback API, the correlation ids of its records, and external ids.
#include <map>
#include <set>
#include <utility>

#include "tests/gpu/cupti_access.h"
#include "tests/gpu/kernels.h"
#include "tests/gpu/questions.h"

namespace gpu_probe {
namespace {

struct Seen {
  Answer calls = Answer::array();
};

bool IsRuntimeLaunch(CUpti_CallbackId cbid) {
  return cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 ||
         cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000 ||
         cbid == CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000 ||
         cbid == CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000;
}

// Whether the call's parameters, read as the structure that we believe it has, hold the grid that was launched.
Answer GridRead(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params) {
  if (params == nullptr) return "no parameters";
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && IsRuntimeLaunch(cbid)) {
    const auto& p = *static_cast<const cudaLaunchKernel_v7000_params*>(params);
    return p.gridDim.x == 2 && p.gridDim.y == 3 && p.blockDim.x == 64 ? "as launched" : "something else";
  }
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
    const auto& p = *static_cast<const cuLaunchKernel_params*>(params);
    return p.gridDimX == 2 && p.gridDimY == 3 && p.blockDimX == 64 ? "as launched" : "something else";
  }
  return nullptr;
}

void CUPTIAPI OnCall(void* to, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite != CUPTI_API_ENTER) return;
  Answer entry = {{"domain", domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "runtime" : "driver"},
                  {"cbid", cbid},
                  {"name", call->functionName},
                  {"symbol", call->symbolName == nullptr ? Answer() : Answer(call->symbolName)},
                  {"correlation_id", call->correlationId}};
  const Answer grid = GridRead(domain, cbid, call->functionParams);
  if (!grid.is_null()) entry["grid"] = grid;
  static_cast<Seen*>(to)->calls.push_back(entry);
}

constexpr uint64_t kExternalId = 4711;

void CUPTIAPI PushAndPop(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) {
    Cupti().cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, kExternalId);
  } else {
    uint64_t last = 0;
    Cupti().cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
  }
}

void WarmUp() {
  Check(cudaFree(nullptr), "starting CUDA");
  LaunchShort(nullptr);
  Check(cudaDeviceSynchronize(), "the first kernel");
}

}  // namespace

Answer AskLaunchCallbacks() {
  WarmUp();
  Seen seen;
  CUpti_SubscriberHandle subscriber;
  Check(Cupti().cuptiSubscribe(&subscriber, OnCall, &seen), "subscribing");
  Check(Cupti().cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), "enabling runtime callbacks");
  Check(Cupti().cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "enabling driver callbacks");
  LaunchShort(nullptr);
  Check(Cupti().cuptiUnsubscribe(subscriber), "unsubscribing");
  Check(cudaDeviceSynchronize(), "the kernel");
  return {{"calls_of_one_launch", seen.calls}};
}

Answer AskCorrelation() {
  WarmUp();
  StartRecording({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  LaunchShort(nullptr);
  Check(cudaDeviceSynchronize(), "the kernel");
  Flush(true);
  Answer answer = {{"runtime", Answer::array()}, {"driver", Answer::array()}, {"kernel", Answer::array()}};
  std::set<uint32_t> runtime_ids, driver_ids;
  for (const auto& record : Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME)) {
    answer["runtime"].push_back({{"cbid", record.cbid}, {"id", record.correlationId}});
    runtime_ids.insert(record.correlationId);
  }
  for (const auto& record : Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER)) {
    answer["driver"].push_back({{"cbid", record.cbid}, {"id", record.correlationId}});
    driver_ids.insert(record.correlationId);
  }
  bool of_runtime = true, of_driver = true;
  for (const auto& record : Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
    answer["kernel"].push_back(record.correlationId);
    of_runtime = of_runtime && runtime_ids.count(record.correlationId) != 0;
    of_driver = of_driver && driver_ids.count(record.correlationId) != 0;
  }
  answer["kernel_has_id_of_runtime_record"] = of_runtime;
  answer["kernel_has_id_of_driver_record"] = of_driver;
  return answer;
}

Answer AskExternalIds() {
  WarmUp();
  CUpti_SubscriberHandle subscriber;
  Check(Cupti().cuptiSubscribe(&subscriber, PushAndPop, nullptr), "subscribing");
  for (CUpti_CallbackId cbid :
       {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000}) {
    Cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, cbid);  // an older library lacks the second
  }
  StartRecording({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  LaunchShort(nullptr);
  Check(cudaDeviceSynchronize(), "the kernel");
  Check(Cupti().cuptiUnsubscribe(subscriber), "unsubscribing");
  Flush(true);
  int records = 0, of_launch = 0;
  std::set<uint32_t> launches;
  for (const auto& record : Records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME)) {
    if (IsRuntimeLaunch(record.cbid)) launches.insert(record.correlationId);
  }
  for (const auto& record : Records<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    if (record.externalId != kExternalId) continue;
    ++records;
    of_launch += launches.count(record.correlationId) != 0;
  }
  return {{"records_with_the_pushed_id", records}, {"of_the_launch", of_launch}};
}

}  // namespace gpu_probe
