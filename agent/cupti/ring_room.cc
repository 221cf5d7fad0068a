#include "agent/cupti/ring_room.h"

#include <linux/futex.h>
#include <time.h>

#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kLongestNs = 100'000'000, kLookAgainNs = 200'000, kForgetNs = 1'000'000'000;

// Until when nobody is expected to take anything out. Of one thread at most times; a mixture of two does no harm.
std::atomic<uint64_t> g_no_reader_until_ns{0};

void WakeReader() noexcept {
  // A silenced one stays so: where nobody listens, threads keep their rings.
  uint32_t waits = kBellWaits;
  if (g_bell.compare_exchange_strong(waits, kBellRung))
    RawSyscall(SYS_futex, AsArgument(&g_bell), FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace

void WaitForRingRoom(uint64_t records) noexcept {
  const ThreadState* state = t_local.state;
  if (state == nullptr || state->slot == nullptr) return;
  const wire::ThreadSlot& slot = *state->slot;
  const uint64_t ring_records = state->ring_mask + 1;
  if (records > ring_records) records = ring_records;
  const uint64_t head = slot.head.load(std::memory_order_relaxed);
  uint64_t drained = slot.drained.load(std::memory_order_acquire);
  if (head - drained + records <= ring_records) return;
  const uint64_t begin_ns = MonotonicNs();
  if (begin_ns < g_no_reader_until_ns.load(std::memory_order_relaxed)) return;
  const uint64_t drained_before = drained;
  WakeReader();
  const timespec pause = {0, static_cast<long>(kLookAgainNs)};
  while (head - drained + records > ring_records && MonotonicNs() - begin_ns < kLongestNs) {
    RawSyscall(SYS_nanosleep, AsArgument(&pause), 0);
    drained = slot.drained.load(std::memory_order_acquire);
  }
  if (drained == drained_before) g_no_reader_until_ns.store(MonotonicNs() + kForgetNs, std::memory_order_relaxed);
}

}  // namespace stallscope::agent
