#include "agent/hot/process_state.h"

#include <sys/mman.h>

#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

constinit thread_local ThreadLocal t_local = {};

constinit EpochPage g_no_epoch = {};
constinit wire::Header g_no_header = {};
constinit std::atomic<uint32_t> g_no_waiters[kWaiterCount] = {};

constinit EpochPage* g_epoch = &g_no_epoch;
constinit wire::Header* g_header = &g_no_header;
constinit std::atomic<uint32_t>* g_waiters = g_no_waiters;
constinit ThreadState* g_threads = nullptr;
constinit bool g_use_tsc = false;
constinit std::atomic<bool> g_confined = false;
constinit std::atomic<uint32_t> g_bell = kBellSilenced;
constinit std::atomic<uint32_t> g_fresh_claims{0};
constinit std::atomic<uint64_t> g_ticks_per_ns_q20 = 1u << 20;

bool Recording() noexcept { return t_local.inside == 0 && ProcessRecords(); }

wire::Header* SharedHeader() noexcept {
  return g_epoch->epoch.load(std::memory_order_relaxed) != 0 ? g_header : nullptr;
}

bool OpenSharedMemory(uint64_t offset, uint64_t bytes) noexcept {
  const long address = AsArgument(reinterpret_cast<uint8_t*>(g_header) + offset);
  return RawSyscall(SYS_mprotect, address, static_cast<long>(bytes), PROT_READ | PROT_WRITE) == 0;
}

void Count(wire::Counter counter, uint64_t by) noexcept {
  // Before set-up this adds to memory that nobody reads.
  g_header->counters[static_cast<uint32_t>(counter)].fetch_add(by, std::memory_order_relaxed);
}

InsideAgent::InsideAgent() noexcept { ++t_local.inside; }
InsideAgent::~InsideAgent() noexcept { --t_local.inside; }

}  // namespace stallscope::agent
