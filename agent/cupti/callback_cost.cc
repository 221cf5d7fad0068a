#include "agent/cupti/callback_cost.h"

#include "agent/cupti/session_state.h"
#include "agent/entry/lifecycle.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kRounds = 6, kCalls = 32;
constexpr uint64_t kMostNs = 100'000;  // a callback that is said to cost more was not measured but interrupted

using GetVersion = int (*)(int*);

// Calls that do nothing and need no context. A program whose runtime has not loaded libcuda is one on a simulated GPU.
struct Probe {
  const char* symbol;
  const char* library;
  CUpti_CallbackDomain domain;
  CUpti_CallbackId callback_id;
};
constexpr Probe kProbes[] = {
    {"cuDriverGetVersion", "libcuda.so", CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion},
    {"cudaRuntimeGetVersion", "libcudart.so", CUPTI_CB_DOMAIN_RUNTIME_API,
     CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020},
};

std::atomic<uint32_t> g_unlisted{0};

// Nanoseconds that kCalls calls take, in the fastest round.
uint64_t FastestRound(GetVersion get_version) noexcept {
  uint64_t fastest_ns = UINT64_MAX;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint64_t begin_ns = MonotonicNs();
    for (uint32_t i = 0; i < kCalls; ++i) {
      int version = 0;
      get_version(&version);
    }
    const uint64_t took_ns = MonotonicNs() - begin_ns;
    if (took_ns < fastest_ns) fastest_ns = took_ns;
  }
  return fastest_ns;
}

uint32_t Measure(const Probe& probe, GetVersion get_version) noexcept {
  CuptiInterface& cupti = g_cupti_session.cupti;
  const auto switch_to = [&probe](uint32_t on) {
    return cupti.functions.cuptiEnableCallback(on, cupti.subscriber(), probe.domain, probe.callback_id) ==
           CUPTI_SUCCESS;
  };
  const uint64_t without_ns = FastestRound(get_version);
  if (!switch_to(1)) return 0;
  g_unlisted.store(0, std::memory_order_relaxed);
  const uint64_t with_ns = FastestRound(get_version);
  switch_to(0);
  const uint32_t callbacks = g_unlisted.load(std::memory_order_relaxed);
  if (callbacks < 2 * kRounds * kCalls || with_ns <= without_ns) return 0;
  const uint64_t each_ns = (with_ns - without_ns) / (2 * kCalls);
  return each_ns > kMostNs ? 0 : static_cast<uint32_t>(each_ns);
}

}  // namespace

void NoteUnlistedCallback() noexcept { g_unlisted.fetch_add(1, std::memory_order_relaxed); }

uint32_t MeasureCallbackCost() noexcept {
  for (const Probe& probe : kProbes) {
    const auto get_version = reinterpret_cast<GetVersion>(ResolveNext(probe.symbol, nullptr, probe.library));
    if (get_version != nullptr) return Measure(probe, get_version);
  }
  return 0;
}

}  // namespace stallscope::agent
