// A program for a test: a second subscriber that shares, through the per-subscriber interface of CUPTI 13.3 found with
// dlsym, as JAX does. Works, records 100 fills of its own, works on, and unsubscribes only at the end.
//
// usage: cupti_sharing_client SECONDS    how long the work before and after it takes, each
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "agent/cupti/fill_work.h"
#include "agent/cupti/subscriber_interface.h"

namespace {

constexpr size_t kBufferBytes = 64 * 1024;

CUpti_SubscriberHandle g_subscriber = nullptr;
int g_fills = 0;

template <typename Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void Request(uint8_t** buffer, size_t* bytes, size_t* max_records, void*) {
  *bytes = kBufferBytes;
  *max_records = 0;
  *buffer = static_cast<uint8_t*>(calloc(1, kBufferBytes));
}

void Complete(uint8_t* buffer, size_t, size_t valid_bytes, void*) {
  using Next = CUptiResult (*)(CUpti_SubscriberHandle, uint8_t*, size_t, CUpti_Activity**);
  static const auto next = Find<Next>("cuptiActivityGetNextRecord_v2");
  CUpti_Activity* record = nullptr;
  while (next(g_subscriber, buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    g_fills += record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
  }
  free(buffer);
}

void Profile() {
  using Subscribe = CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, void*);
  using Register = CUptiResult (*)(CUpti_SubscriberHandle, decltype(&Request), decltype(&Complete));
  using Switch = CUptiResult (*)(CUpti_SubscriberHandle, CUpti_ActivityKind, void*);
  stallscope::agent::SubscriberParams parameters = {};
  parameters.struct_bytes = sizeof(parameters);
  parameters.allow_multiple_subscribers = 1;
  const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  std::printf("subscribe %d\n", Find<Subscribe>("cuptiSubscribe_v2")(&g_subscriber, ignore, nullptr, &parameters));
  Find<Register>("cuptiActivityRegisterCallbacks_v2")(g_subscriber, Request, Complete);
  Find<Switch>("cuptiActivityEnable_v2")(g_subscriber, CUPTI_ACTIVITY_KIND_MEMSET, nullptr);
  Fill(100);
  Find<Switch>("cuptiActivityDisable_v2")(g_subscriber, CUPTI_ACTIVITY_KIND_MEMSET, nullptr);
  Find<CUptiResult (*)(uint32_t)>("cuptiActivityFlushAll")(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::printf("fills %d\n", g_fills);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL) == nullptr) return 2;
  const double seconds = std::atof(argv[1]);
  FillFor(seconds);
  Profile();
  FillFor(seconds);
  std::printf("unsubscribe %d\n", Find<CUptiResult (*)(CUpti_SubscriberHandle)>("cuptiUnsubscribe")(g_subscriber));
}
