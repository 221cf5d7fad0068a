// Streamer's reports about itself: Health and Clock.
#include <time.h>

#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/stream/hello.h"
#include "agent/stream/level.h"
#include "agent/stream/streamer.h"

namespace stallscope::agent {
namespace {

uint64_t ClockNs(int clock) noexcept {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, clock, AsArgument(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void Streamer::WriteClock(uint64_t now_ns) noexcept {
  const uint64_t frame = output_.BeginFrame();
  const uint64_t clock = output_.BeginMessage(kFrameClock);
  output_.Uint(1, now_ns);
  output_.Uint(2, ClockNs(CLOCK_REALTIME) - (ClockNs(CLOCK_MONOTONIC) - now_ns));
  output_.Uint(3, g_header->clock.uncertainty_ns);
  output_.Uint(4, GpuClockUncertaintyNs());
  output_.EndMessage(clock);
  output_.EndFrame(frame);
}

void Streamer::WriteDrained(uint64_t now_ns) noexcept {
  const uint64_t frame = output_.BeginFrame();
  const uint64_t state = output_.BeginMessage(kFrameState);
  output_.Uint(1, kStateDrained);
  output_.Uint(2, now_ns);
  output_.EndMessage(state);
  output_.EndFrame(frame);
}

void Streamer::WriteHealth(uint64_t now_ns) noexcept {
  wire::Header* header = g_header;
  // Others add theirs to the same counter (agent/cupti).
  const uint64_t cpu_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  header->agent_cpu_ns.fetch_add(cpu_ns - counted_cpu_ns_, std::memory_order_relaxed);
  counted_cpu_ns_ = cpu_ns;
  uint64_t events = retired_events_, lost = retired_lost_, short_waits = retired_short_waits_;
  const uint64_t frame = output_.BeginFrame();
  const uint64_t health = output_.BeginMessage(kFrameHealth);
  output_.Uint(1, now_ns);
  const uint32_t slots = header->slots_used.load(std::memory_order_acquire);
  for (uint32_t index = 0; index < slots; ++index) {
    const wire::ThreadSlot* slot = SlotAt(index);  // zeros where it is free
    events += slot->head.load(std::memory_order_relaxed);
    short_waits += slot->short_waits.load(std::memory_order_relaxed);
    const uint64_t thread_lost = slot->lost.load(std::memory_order_relaxed);
    lost += thread_lost;
    if (thread_lost != 0 && cursors_[index].thread_id != 0) {
      const uint64_t loss = output_.BeginMessage(10);
      output_.Uint(1, cursors_[index].thread_id);
      output_.Uint(2, thread_lost);
      output_.EndMessage(loss);
    }
  }
  output_.Uint(2, events);
  output_.Uint(3, lost);
  output_.Uint(4, short_waits);
  uint8_t counters[10 * static_cast<uint32_t>(wire::Counter::kCount)];
  uint8_t* at = counters;
  for (uint32_t i = 0; i < static_cast<uint32_t>(wire::Counter::kCount); ++i) {
    at = PutVarint(at, header->counters[i].load(std::memory_order_relaxed));
  }
  output_.Bytes(5, counters, static_cast<uint64_t>(at - counters));
  output_.Uint(6, header->agent_cpu_ns.load(std::memory_order_relaxed));
  output_.Uint(7, ClockNs(CLOCK_PROCESS_CPUTIME_ID));
  output_.Uint(8, socket_bytes_);
  output_.Uint(9, header->control.load(std::memory_order_relaxed) & 0xff);
  if (const Governed governed = ShownGoverned(); governed.limit_ppm != 0) {
    const uint64_t governor = output_.BeginMessage(11);
    output_.Uint(1, static_cast<uint32_t>(governed.why));
    output_.Uint(2, governed.asked_level);
    output_.Uint(3, governed.cost_ppm);
    output_.Uint(4, governed.limit_ppm);
    output_.Uint(5, governed.node_window ? 1 : 0);
    output_.Uint(6, governed.callback_ns);
    output_.EndMessage(governor);
  }
  output_.EndMessage(health);
  output_.EndFrame(frame);
}

}  // namespace stallscope::agent
