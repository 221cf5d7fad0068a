// The level of detail: what the collector asked for, and who in the agent wants to know.
#pragma once

#include <cstdint>

#include "agent/entry/lifecycle.h"

namespace stallscope::agent {

// stallscope.v1.State.What
inline constexpr uint32_t kStateLevel = 1;
inline constexpr uint32_t kStateDetached = 8;
inline constexpr uint32_t kStateStreaming = 10;
inline constexpr uint32_t kStateDrained = 12;

// Writes the control word and tells the listeners (AddLevelChanged). Streaming thread.
void SetLevel(uint8_t level) noexcept;

// Stacks of blocking calls on or off, whatever the level.
void SetStacks(bool on) noexcept;

// Remembers what a Control frame asked for. Streaming thread.
void SetCostOrders(uint32_t limit_ppm, uint32_t node_window_ms) noexcept;

uint64_t GpuClockUncertaintyNs() noexcept;

// What ShowGoverned was last told.
Governed ShownGoverned() noexcept;

// Runs what AddStreamingRound registered. Streaming thread.
void RunStreamingRounds(uint64_t now_ns) noexcept;

// Runs what AddDetach registered. Streaming thread, while records still go out.
void RunDetach() noexcept;

// Runs what AddBeforeGoodbye registered. The thread that ends the process.
void RunBeforeGoodbye(bool exec) noexcept;

}  // namespace stallscope::agent
