// A CUPTI client of the plain kind: activity buffers lent and walked, a callback on kernel launches. Several threads launch
// as fast as they can; at the end every launch must have exactly one API record and one kernel record with its correlation
// id, and nothing may have been dropped.
//
// usage: every_record_once [THREADS [LAUNCHES]]   (default 8 2000: each thread that many launches)
// Prints one JSON line {"launches","api_records","kernel_records","callbacks","dropped"}; exit code 1 with a reason on
// stderr when a record is missing, double or strange.
#include <cuda_runtime.h>
#include <cupti.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kBufferAlignment = 8;

[[noreturn]] void Fail(const char* what, long detail) {
  std::fprintf(stderr, "every_record_once: %s (%ld)\n", what, detail);
  std::exit(1);
}

void Check(CUptiResult result, const char* what) {
  if (result != CUPTI_SUCCESS) Fail(what, result);
}
void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) Fail(what, error);
}

// How often each correlation id came, by what it came in.
struct Counts {
  std::mutex mutex;
  std::map<uint32_t, int> api, kernels;
  std::set<uint32_t> launched;  // told by the callback
  std::map<uint32_t, uint64_t> api_begin_ns, kernel_begin_ns;
};
Counts counts;
std::atomic<long> callbacks{0};
uint32_t launch_cbids[2] = {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 0};

__global__ void busy_kernel(int* out) {
  if (out != nullptr) *out = static_cast<int>(threadIdx.x);
}

void CUPTIAPI Requested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *bytes = kBufferBytes;
  *max_records = 0;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
}

void Take(const CUpti_Activity* record) {
  if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    const auto* api = reinterpret_cast<const CUpti_ActivityAPI*>(record);
    if (api->cbid != launch_cbids[0] && api->cbid != launch_cbids[1]) return;
    if (api->end < api->start) Fail("an API record ends before it begins", static_cast<long>(api->correlationId));
    ++counts.api[api->correlationId];
    counts.api_begin_ns[api->correlationId] = api->start;
  } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    if (kernel->end <= kernel->start) Fail("a kernel takes no time", static_cast<long>(kernel->correlationId));
    ++counts.kernels[kernel->correlationId];
    counts.kernel_begin_ns[kernel->correlationId] = kernel->start;
  }
}

void CUPTIAPI Completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  std::lock_guard<std::mutex> lock(counts.mutex);
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) Take(record);
  std::free(buffer);
}

void CUPTIAPI Called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || (cbid != launch_cbids[0] && cbid != launch_cbids[1])) return;
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite != CUPTI_API_EXIT) return;
  callbacks.fetch_add(1);
  std::lock_guard<std::mutex> lock(counts.mutex);
  if (!counts.launched.insert(call->correlationId).second)
    Fail("two launches with one correlation id", call->correlationId);
}

// CUDA 13 launches through a function of its own, whose number this header may not name.
uint32_t FindCallback(const char* wanted) {
  for (uint32_t cbid = 1; cbid < 2000; ++cbid) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    if (std::string(name) == wanted) return cbid;
  }
  return 0;
}

void Launch(int launches) {
  cudaStream_t stream;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  for (int i = 0; i < launches; ++i) {
    busy_kernel<<<1, 32, 0, stream>>>(nullptr);
    Check(cudaGetLastError(), "launch");
  }
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  Check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

void CompareAll(long launches) {
  if (static_cast<long>(counts.launched.size()) != launches) Fail("not every launch had a callback", launches);
  if (static_cast<long>(counts.api.size()) != launches)
    Fail("API records are missing", static_cast<long>(counts.api.size()));
  if (static_cast<long>(counts.kernels.size()) != launches) {
    Fail("kernel records are missing", static_cast<long>(counts.kernels.size()));
  }
  for (uint32_t id : counts.launched) {
    if (counts.api[id] != 1) Fail("not one API record for a launch", counts.api[id]);
    if (counts.kernels[id] != 1) Fail("not one kernel record for a launch", counts.kernels[id]);
    if (counts.kernel_begin_ns[id] < counts.api_begin_ns[id]) Fail("a kernel begins before its launch", id);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int thread_count = argc > 1 ? std::atoi(argv[1]) : 8, launches = argc > 2 ? std::atoi(argv[2]) : 2000;
  launch_cbids[1] = FindCallback("__cudaLaunchKernel_v13000");
  CUpti_SubscriberHandle subscriber;
  Check(cuptiSubscribe(&subscriber, Called, nullptr), "cuptiSubscribe");
  Check(cuptiActivityRegisterCallbacks(Requested, Completed), "cuptiActivityRegisterCallbacks");
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), "cuptiActivityEnable");
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  for (uint32_t cbid : launch_cbids) {
    if (cbid != 0) Check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, cbid), "cuptiEnableCallback");
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(Launch, launches);
  for (std::thread& thread : threads) thread.join();
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Check(cuptiActivityFlushAll(0), "cuptiActivityFlushAll");
  size_t dropped = 0;
  Check(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), "cuptiActivityGetNumDroppedRecords");
  const long all = static_cast<long>(thread_count) * launches;
  CompareAll(all);
  if (dropped != 0) Fail("records were dropped", static_cast<long>(dropped));
  Check(cuptiUnsubscribe(subscriber), "cuptiUnsubscribe");
  std::printf("{\"launches\":%ld,\"api_records\":%zu,\"kernel_records\":%zu,\"callbacks\":%ld,\"dropped\":%zu}\n", all,
              counts.api.size(), counts.kernels.size(), callbacks.load(), dropped);
  return 0;
}
