#include "tests/gpu/cupti_access.h"

#include <dlfcn.h>
#include <time.h>

#include <cstdlib>
#include <mutex>

namespace gpu_probe {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

struct Returned {
  std::mutex mutex;
  std::vector<std::pair<uint8_t*, size_t>> buffers;  // kept until forgotten
};
Returned& ReturnedBuffers() {
  static auto* returned = new Returned;
  return *returned;
}

void CUPTIAPI Lend(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::calloc(1, kBufferBytes));
  *bytes = kBufferBytes;
  *max_records = 0;
}
void CUPTIAPI TakeBack(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  std::lock_guard lock(ReturnedBuffers().mutex);
  ReturnedBuffers().buffers.emplace_back(buffer, valid_bytes);
}

}  // namespace

const CuptiFunctions& Cupti() {
  static const CuptiFunctions functions = [] {
    void* library = nullptr;
    for (const char* name : {std::getenv("GPU_PROBE_CUPTI") == nullptr ? "" : std::getenv("GPU_PROBE_CUPTI"),
                             "libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
      if (*name != '\0' && (library = dlopen(name, RTLD_NOW)) != nullptr) break;
    }
    if (library == nullptr) throw NotAnswered("no libcupti.so.13 or .12 could be loaded");
    CuptiFunctions found{};
#define GPU_PROBE_RESOLVE(name)                                               \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name)); \
  if (found.name == nullptr) throw NotAnswered("this libcupti has no function " #name);
    GPU_PROBE_CUPTI(GPU_PROBE_RESOLVE)
#undef GPU_PROBE_RESOLVE
    return found;
  }();
  return functions;
}

std::string CuptiPath() {
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(Cupti().cuptiGetVersion), &info) != 0 ? info.dli_fname : "?";
}

void Check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = "?";
  Cupti().cuptiGetResultString(result, &text);
  throw NotAnswered(std::string(what) + ": " + text);
}
void Check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) throw NotAnswered(std::string(what) + ": " + cudaGetErrorString(result));
}

void StartRecording(std::initializer_list<CUpti_ActivityKind> kinds) {
  Check(Cupti().cuptiActivityRegisterCallbacks(Lend, TakeBack), "registering buffers");
  for (CUpti_ActivityKind kind : kinds) Check(Cupti().cuptiActivityEnable(kind), "enabling a kind");
}
void StopRecording(std::initializer_list<CUpti_ActivityKind> kinds) {
  for (CUpti_ActivityKind kind : kinds) Check(Cupti().cuptiActivityDisable(kind), "disabling a kind");
}

void Flush(bool forced) {
  Check(Cupti().cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0), "flushing");
}

std::vector<RecordBytes> AllRecords() {
  std::lock_guard lock(ReturnedBuffers().mutex);
  std::vector<RecordBytes> records;
  for (const auto& [buffer, valid_bytes] : ReturnedBuffers().buffers) {
    CUpti_Activity* record = nullptr;
    const uint8_t* before = nullptr;
    while (Cupti().cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      const auto* here = reinterpret_cast<const uint8_t*>(record);
      if (before != nullptr) records.push_back({before, static_cast<size_t>(here - before)});
      before = here;
    }
    if (before != nullptr) records.push_back({before, static_cast<size_t>(buffer + valid_bytes - before)});
  }
  return records;
}

void ForgetRecords() {
  std::lock_guard lock(ReturnedBuffers().mutex);
  for (const auto& [buffer, valid_bytes] : ReturnedBuffers().buffers) std::free(buffer);
  ReturnedBuffers().buffers.clear();
}

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace gpu_probe
