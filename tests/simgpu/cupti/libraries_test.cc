// The drop-ins beside each other: each library in a process of its own, opened by name as a program does.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/simgpu/cupti/activity_client.h"

namespace simgpu::cupti {
namespace {

std::string Folder() { return std::string(std::getenv("STALLSCOPE_BUILD")) + "/lib/simgpu/"; }

template <typename Function>
Function Symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void ExpectSays(void (*body)(), const char* text) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((body(), std::_Exit(0)), testing::ExitedWithCode(0), text);
}

void SayVersionAndKernelBytes(const std::string& file) {
  void* library = dlopen((Folder() + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s", dlerror());
    return;
  }
  uint32_t version = 0;
  Symbol<CUptiResult (*)(uint32_t*)>(library, "cuptiGetVersion")(&version);
  uint32_t words[128];
  for (uint32_t& word : words) word = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  auto* buffer = reinterpret_cast<uint8_t*>(words);
  const auto next = Symbol<CUptiResult (*)(uint8_t*, size_t, CUpti_Activity**)>(library, "cuptiActivityGetNextRecord");
  CUpti_Activity* record = nullptr;
  next(buffer, sizeof words, &record);
  next(buffer, sizeof words, &record);
  std::fprintf(stderr, "version %u kernel %td shares %d", version, reinterpret_cast<uint8_t*>(record) - buffer,
               dlsym(library, "cuptiActivityEnable_v2") != nullptr);
}

TEST(CuptiLibrariesDeathTest, EachName_HasItsOwnLayouts) {
  ExpectSays([] { SayVersionAndKernelBytes("libcupti.so.11.8"); }, "version 18 kernel 200 shares 0");
  ExpectSays([] { SayVersionAndKernelBytes("libcupti.so.12"); }, "version 28 kernel 208 shares 0");
  ExpectSays([] { SayVersionAndKernelBytes("libcupti.so.13"); }, "version 130001 kernel 216 shares 0");
  ExpectSays([] { SayVersionAndKernelBytes("cupti-13.3/libcupti.so.13"); }, "version 130300 kernel 216 shares 1");
}

TEST(CuptiLibrariesDeathTest, LayoutKey_OverridesTheName) {
  ExpectSays(
      [] {
        setenv("SIMGPU_CUPTI_LAYOUT", "12.4", 1);
        SayVersionAndKernelBytes("libcupti.so.12");
      },
      "version 22 kernel 208");
  ExpectSays(
      [] {
        setenv("SIMGPU_CUPTI_LAYOUT", "12.3", 1);
        SayVersionAndKernelBytes("libcupti.so.12");
      },
      "no record layouts of CUDA 12.3 .*\n.*version 28 kernel 208");
}

// As the headers of CUDA 13.3 declare them; those that this is compiled with are older.
struct SharingParams {
  CUpti_SubscriberParams params{};
  uint8_t allow_multiple_subscribers = 0;
  uint8_t padding[7] = {};
};
int buffers_of[2] = {0, 0};
template <int kWho>
void RequestShared(uint8_t** buffer, size_t* bytes, size_t* max_records, void*) {
  *buffer = static_cast<uint8_t*>(std::malloc(4096));
  *bytes = 4096;
  *max_records = 0;
}
template <int kWho>
void CompleteShared(uint8_t* buffer, size_t, size_t valid_bytes, void*) {
  buffers_of[kWho] += valid_bytes != 0;
  std::free(buffer);
}

void ShareBetweenTwo() {
  void* library = dlopen((Folder() + "cupti-13.3/libcupti.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto subscribe = Symbol<CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, SharingParams*)>(
      library, "cuptiSubscribe_v2");
  const auto register_callbacks =
      Symbol<CUptiResult (*)(CUpti_SubscriberHandle, void (*)(uint8_t**, size_t*, size_t*, void*),
                             void (*)(uint8_t*, size_t, size_t, void*))>(library, "cuptiActivityRegisterCallbacks_v2");
  const auto enable =
      Symbol<CUptiResult (*)(CUpti_SubscriberHandle, CUpti_ActivityKind, void*)>(library, "cuptiActivityEnable_v2");
  SharingParams params[2];
  CUpti_SubscriberHandle handles[2];
  char first_name[64] = {};
  for (int i = 0; i < 2; ++i) {
    params[i].params.structSize = sizeof(CUpti_SubscriberParams) + 1;
    params[i].params.subscriberName = i == 0 ? "one" : "two";
    params[i].params.oldSubscriberName = first_name;
    params[i].params.oldSubscriberSize = sizeof first_name;
    params[i].allow_multiple_subscribers = 1;
    if (subscribe(&handles[i], nullptr, nullptr, &params[i]) != CUPTI_SUCCESS) std::fprintf(stderr, "refused ");
  }
  register_callbacks(handles[0], RequestShared<0>, CompleteShared<0>);
  register_callbacks(handles[1], RequestShared<1>, CompleteShared<1>);
  enable(handles[0], CUPTI_ACTIVITY_KIND_RUNTIME, nullptr);
  const CUptiResult mixed =
      Symbol<CUptiResult (*)(CUpti_ActivityKind)>(library, "cuptiActivityEnable")(CUPTI_ACTIVITY_KIND_RUNTIME);
  void* device = nullptr;
  cudaMalloc(&device, 16);
  Symbol<CUptiResult (*)(uint32_t)>(library, "cuptiActivityFlushAll")(0);
  std::fprintf(stderr, "first %s, records %d and %d, mixing %d", first_name, buffers_of[0], buffers_of[1], mixed);
}

TEST(CuptiLibrariesDeathTest, SharingSubscribers_HaveKindsAndBuffersOfTheirOwn) {
  ExpectSays(ShareBetweenTwo, "first one, records 1 and 0, mixing 14");
}

// Costs are passed by spinning, so they are a lower bound of the time that the call takes, whatever else runs.
void LaunchUnderCosts(bool record, bool call_back) {
  setenv("SIMGPU_CUPTI_RECORD_NS", "3000000", 1);
  setenv("SIMGPU_CUPTI_CALLBACK_NS", "5000000", 1);
  setenv("SIMGPU_LAUNCH_CALL_NS", "0", 1);
  StartClient();
  CUpti_SubscriberHandle subscriber;
  cuptiSubscribe(&subscriber, nullptr, nullptr);
  if (record) cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
  if (call_back) {
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  }
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  LaunchKernel(nullptr);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const int64_t took_ns = (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec;
  std::fprintf(stderr, "at least 3 ms %d, 10 ms %d", took_ns >= 3'000'000, took_ns >= 10'000'000);
}

TEST(CuptiLibrariesDeathTest, Costs_AreSpentInTheCall) {
  ExpectSays([] { LaunchUnderCosts(true, false); }, "at least 3 ms 1");
  ExpectSays([] { LaunchUnderCosts(false, true); }, "at least 3 ms 1, 10 ms 1");  // at enter and at exit
}

}  // namespace
}  // namespace simgpu::cupti
