#include "agent/stream/level.h"

#include <atomic>

#include "agent/entry/lifecycle.h"
#include "agent/hot/process_state.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kMostListeners = 8;
constinit std::atomic<StreamingRound> g_rounds[kMostListeners] = {};
constinit std::atomic<LevelChanged> g_listeners[kMostListeners] = {};
constinit std::atomic<DetachFunction> g_detach[kMostListeners] = {};
constinit std::atomic<BeforeGoodbye> g_before_goodbye[kMostListeners] = {};

constinit std::atomic<uint32_t> g_cost_limit_ppm{10'000}, g_node_window_ms{0};
constinit std::atomic<uint64_t> g_gpu_clock_uncertainty_ns{0};
// why, asked level and window in bytes 0 to 2; cost and limit; callback.
constinit std::atomic<uint32_t> g_governed_how{0}, g_governed_callback_ns{0};
constinit std::atomic<uint64_t> g_governed_cost{0};

template <typename Function>
void Register(std::atomic<Function>* table, Function function) noexcept {
  for (uint32_t i = 0; i < kMostListeners; ++i) {
    Function empty = nullptr;
    if (table[i].compare_exchange_strong(empty, function) || empty == function) return;
  }
}

}  // namespace

void AddStreamingRound(StreamingRound round) noexcept { Register(g_rounds, round); }

void AddLevelChanged(LevelChanged changed) noexcept { Register(g_listeners, changed); }

void AddBeforeGoodbye(BeforeGoodbye before) noexcept { Register(g_before_goodbye, before); }

void AddDetach(DetachFunction detach) noexcept { Register(g_detach, detach); }

void RunDetach() noexcept {
  for (auto& entry : g_detach) {
    if (DetachFunction detach = entry.load(std::memory_order_acquire)) detach();
  }
}

void SetLevel(uint8_t level) noexcept {
  wire::Header* header = g_header;
  const uint32_t stacks = header->control.load(std::memory_order_relaxed) & wire::kControlStacks;
  header->control.store(level | stacks | (level != 0 ? wire::kControlRecording : 0), std::memory_order_relaxed);
  for (auto& listener : g_listeners) {
    if (LevelChanged changed = listener.load(std::memory_order_acquire)) changed(level);
  }
}

void SetStacks(bool on) noexcept {
  if (on) {
    g_header->control.fetch_or(wire::kControlStacks, std::memory_order_relaxed);
  } else {
    g_header->control.fetch_and(~wire::kControlStacks, std::memory_order_relaxed);
  }
}

void ShowLevel(uint8_t level, const char* why) noexcept {
  g_header->control.fetch_and(~0xffu, std::memory_order_relaxed);
  g_header->control.fetch_or(level, std::memory_order_relaxed);
  ReportState(kStateLevel, level, why);
}

void SetCostOrders(uint32_t limit_ppm, uint32_t node_window_ms) noexcept {
  if (limit_ppm != 0) g_cost_limit_ppm.store(limit_ppm, std::memory_order_relaxed);
  if (node_window_ms != 0) g_node_window_ms.store(node_window_ms, std::memory_order_relaxed);
}

CostOrders TakeCostOrders() noexcept {
  return {g_cost_limit_ppm.load(std::memory_order_relaxed), g_node_window_ms.exchange(0, std::memory_order_relaxed)};
}

void SetGpuClockUncertainty(uint64_t uncertainty_ns) noexcept {
  g_gpu_clock_uncertainty_ns.store(uncertainty_ns, std::memory_order_relaxed);
}
uint64_t GpuClockUncertaintyNs() noexcept { return g_gpu_clock_uncertainty_ns.load(std::memory_order_relaxed); }

void ShowGoverned(const Governed& governed) noexcept {
  const uint32_t how =
      static_cast<uint32_t>(governed.why) | uint32_t{governed.asked_level} << 8 | (governed.node_window ? 1u << 16 : 0);
  g_governed_how.store(how, std::memory_order_relaxed);
  g_governed_callback_ns.store(governed.callback_ns, std::memory_order_relaxed);
  g_governed_cost.store(uint64_t{governed.limit_ppm} << 32 | governed.cost_ppm, std::memory_order_relaxed);
}

Governed ShownGoverned() noexcept {
  const uint32_t how = g_governed_how.load(std::memory_order_relaxed);
  const uint64_t cost = g_governed_cost.load(std::memory_order_relaxed);
  return {static_cast<Governed::Why>(how & 0xff),
          static_cast<uint8_t>(how >> 8),
          (how >> 16) != 0,
          static_cast<uint32_t>(cost),
          static_cast<uint32_t>(cost >> 32),
          g_governed_callback_ns.load(std::memory_order_relaxed)};
}

void RunStreamingRounds(uint64_t now_ns) noexcept {
  for (auto& entry : g_rounds) {
    if (StreamingRound round = entry.load(std::memory_order_acquire)) round(now_ns);
  }
}

void RunBeforeGoodbye(bool exec) noexcept {
  for (auto& entry : g_before_goodbye) {
    if (BeforeGoodbye before = entry.load(std::memory_order_acquire)) before(exec);
  }
}

}  // namespace stallscope::agent
