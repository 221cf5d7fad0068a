#include "agent/cuda/first_call.h"

#include <errno.h>

#include "agent/cuda/call_record.h"
#include "agent/cuda/call_table.h"
#include "agent/cuda/real_function.h"
#include "agent/cupti/session.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

// stallscope.v1.State.What (the agent never sees the generated header).
constexpr uint32_t kStateCudaInitialized = 6;
constexpr uint32_t kStateSimulatedGpu = 7;

std::atomic<void*> g_runtime_get_version{nullptr};

uint64_t RuntimeVersion() noexcept {
  using GetVersion = int (*)(int*);
  const auto get = reinterpret_cast<GetVersion>(RealFunction(&g_runtime_get_version, "cudaRuntimeGetVersion"));
  int version = 0;
  if (get == nullptr || get(&version) != 0 || version < 0) return 0;
  return static_cast<uint64_t>(version);
}

}  // namespace

bool RuntimeIsBefore13() noexcept {
  static constinit std::atomic<uint64_t> known{0};
  uint64_t version = known.load(std::memory_order_relaxed);
  if (__builtin_expect(version == 0, 0)) {
    const int saved_errno = errno;
    const InsideAgent inside;
    const OwnCudaCalls own;
    version = RuntimeVersion();
    known.store(version, std::memory_order_relaxed);
    errno = saved_errno;
  }
  return version != 0 && version < 13000;
}

void FirstCudaCall(bool may_ask_runtime) noexcept {
  static std::atomic<bool> taken{false};
  if (taken.exchange(true, std::memory_order_acq_rel)) return;
  const int saved_errno = errno;
  {
    const InsideAgent inside;
    const OwnCudaCalls own;
    EnsureStreaming();
    ReportState(kStateCudaInitialized, may_ask_runtime ? RuntimeVersion() : 0, nullptr);
    if (ModuleLoaded("libsimgpu.so")) ReportState(kStateSimulatedGpu, 0, nullptr);
    SetUpCupti();
    for (uint32_t i = 0; i < kCudaCallCount; ++i) {
      const CudaCallInfo& call = kCudaCalls[i];
      const char* name = CuptiCallName(call.domain, call.callback_id);
      ReportCallName(static_cast<uint8_t>(call.domain), call.callback_id, name != nullptr ? name : call.cupti_name);
    }
  }
  g_first_cuda_call_done.store(true, std::memory_order_release);
  errno = saved_errno;
}

}  // namespace stallscope::agent
