// What tracing costs a launch on the simulated GPU itself: what is measured on it must not drown in it. CPU time.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstdlib>
#include <initializer_list>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);

namespace {

void KernelStub() {}

// A device that is never behind, so that only the call's own work is left.
const bool prepared = [] {
  for (const char* key : {"SIMGPU_LAUNCH_CALL_NS", "SIMGPU_STREAM_GAP_NS", "SIMGPU_LAUNCH_LATENCY_NS"}) {
    setenv(key, "0", 1);
  }
  setenv("SIMGPU_KERNEL_NS", "1", 1);
  __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(&KernelStub), nullptr, "_Z10test_kernelv", -1, nullptr,
                         nullptr, nullptr, nullptr, nullptr);
  return true;
}();

void CUPTIAPI Lend(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *bytes = 1 << 20;
  *buffer = static_cast<uint8_t*>(std::malloc(*bytes));
  *max_records = 0;
}
void CUPTIAPI TakeBack(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }
void CUPTIAPI Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void Launches(benchmark::State& state, bool callbacks, std::initializer_list<CUpti_ActivityKind> kinds) {
  (void)prepared;
  cuptiActivityRegisterCallbacks(Lend, TakeBack);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (callbacks) {
    cuptiSubscribe(&subscriber, Ignore, nullptr);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  }
  for (CUpti_ActivityKind kind : kinds) cuptiActivityEnable(kind);
  for (auto step : state) {
    cudaLaunchKernel(reinterpret_cast<const void*>(&KernelStub), dim3(2), dim3(64), nullptr, 0, nullptr);
  }
  for (CUpti_ActivityKind kind : kinds) cuptiActivityDisable(kind);
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (callbacks) cuptiUnsubscribe(subscriber);
}

BENCHMARK_CAPTURE(Launches, Untraced, false, {});
BENCHMARK_CAPTURE(Launches, Callbacks, true, {});
BENCHMARK_CAPTURE(Launches, KernelRecords, false, {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
BENCHMARK_CAPTURE(Launches, CallbacksKernelAndRuntimeRecords, true,
                  {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});

}  // namespace
