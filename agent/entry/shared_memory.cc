#include "agent/entry/shared_memory.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/entry/own_fd.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/string_table.h"

namespace stallscope::agent {
namespace {

struct Sizes {
  uint32_t slot_count, ring_records, big_ring_count, big_ring_records, string_capacity, string_bytes, stack_capacity;
};
// The memory is sparse: only touched pages exist, and strings and rings cannot be touched before OpenSharedMemory, so
// that a program which locks its memory (mlockall) does not fill all of it. 2,000 live threads fit, with room for the
// exited ones that wait to be drained.
constexpr Sizes kNormal = {2560, 4096, 24, 65536, 65536, 4u << 20, 16384};
// Where the program's address space is limited (ulimit -v), a mapping of ours must not eat what the program was given.
constexpr Sizes kSmall = {64, 1024, 1, 16384, 8192, 512u << 10, 1024};
constexpr uint64_t kSmallWorthIt = 512u << 20;

constexpr uint32_t kFramesPerStack = 24;  // on average

constexpr uint64_t PageUp(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

bool MapFailed(long result) noexcept { return result < 0 && result > -4096; }

uint64_t Limit(int resource) noexcept {
  rlimit64 limit = {};
  if (RawSyscall(SYS_prlimit64, 0, resource, 0, AsArgument(&limit)) != 0) return RLIM64_INFINITY;
  return limit.rlim_cur;
}

uint64_t Layout(const Sizes& sizes, wire::Header* header) noexcept {
  uint64_t at = 4096;
  header->waiters_offset = at;
  at = PageUp(at + uint64_t{kWaiterCount} * sizeof(uint32_t));
  header->slots_offset = at;
  at = PageUp(at + uint64_t{sizes.slot_count} * sizeof(wire::ThreadSlot));
  header->strings_offset = at;
  at = PageUp(at + uint64_t{sizes.string_capacity} * sizeof(uint32_t) + sizes.string_bytes);
  header->rings_offset = at;
  at += uint64_t{sizes.slot_count} * sizes.ring_records * sizeof(wire::Record);
  header->big_rings_offset = at;
  at += uint64_t{sizes.big_ring_count} * sizes.big_ring_records * sizeof(wire::Record);
  header->stacks_offset = at;
  header->stack_capacity = sizes.stack_capacity;
  header->stack_frame_capacity = sizes.stack_capacity * kFramesPerStack;
  at = PageUp(at + uint64_t{sizes.stack_capacity} * sizeof(wire::StackEntry) +
              uint64_t{header->stack_frame_capacity} * sizeof(uint64_t));
  header->total_bytes = at;
  header->waiter_count = kWaiterCount;
  header->slot_count = sizes.slot_count;
  header->string_capacity = sizes.string_capacity;
  header->string_bytes = sizes.string_bytes;
  header->ring_records = sizes.ring_records;
  header->big_ring_records = sizes.big_ring_records;
  header->big_ring_count = sizes.big_ring_count;
  return at;
}

int CreateSealedMemfd(uint64_t bytes) noexcept {
  const long low = RawSyscall(SYS_memfd_create, AsArgument("stallscope"), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (low < 0) return -1;
  const int fd = MoveFdHigh(static_cast<int>(low));
  if (fd < 0) return -1;
  if (RawSyscall(SYS_ftruncate, fd, static_cast<long>(bytes)) != 0 ||
      RawSyscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    RawSyscall(SYS_close, fd);
    return -1;
  }
  return fd;
}

}  // namespace

const char* CreateSharedMemory(uint64_t now_ns, SharedMemory* memory) noexcept {
  const uint64_t address_space = Limit(RLIMIT_AS);
  if (address_space < kSmallWorthIt) return "the address space is limited (ulimit -v)";
  const Sizes& sizes = address_space == RLIM64_INFINITY ? kNormal : kSmall;
  wire::Header plan = {};
  memory->bytes = Layout(sizes, &plan);
  // Growing a file past RLIMIT_FSIZE would send SIGXFSZ, which kills.
  if (Limit(RLIMIT_FSIZE) < memory->bytes) return "the file size is limited (ulimit -f)";
  memory->fd = CreateSealedMemfd(memory->bytes);
  if (memory->fd < 0) return "no memfd (open files limit, or not allowed)";
  long mapped = RawSyscall(SYS_mmap, 0, static_cast<long>(memory->bytes), PROT_NONE, MAP_SHARED, memory->fd, 0);
  if (MapFailed(mapped)) {
    RawSyscall(SYS_close, memory->fd);
    return "no room for the shared memory";
  }
  if (RawSyscall(SYS_mprotect, mapped, static_cast<long>(plan.strings_offset), PROT_READ | PROT_WRITE) != 0) {
    RawSyscall(SYS_munmap, mapped, static_cast<long>(memory->bytes));
    RawSyscall(SYS_close, memory->fd);
    return "the shared memory cannot be made writable";
  }
  memory->header = reinterpret_cast<wire::Header*>(mapped);
  memory->private_bytes =
      PageUp(uint64_t{sizes.slot_count} * sizeof(ThreadState)) + StringIndexBytes(sizes.string_capacity);
  mapped = RawSyscall(SYS_mmap, 0, static_cast<long>(memory->private_bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (MapFailed(mapped)) {
    RawSyscall(SYS_munmap, AsArgument(memory->header), static_cast<long>(memory->bytes));
    RawSyscall(SYS_close, memory->fd);
    return "no room for the thread table";
  }
  memory->private_base = reinterpret_cast<void*>(mapped);

  wire::Header* header = memory->header;
  Layout(sizes, header);
  // Rings would only bloat core files; header and slots stay in them (who was blocked in what).
  RawSyscall(SYS_madvise, AsArgument(header) + static_cast<long>(header->strings_offset),
             static_cast<long>(memory->bytes - header->strings_offset), MADV_DONTDUMP);
  header->version_major = wire::kVersionMajor;
  header->version_minor = wire::kVersionMinor;
  header->pid = static_cast<uint32_t>(RawSyscall(SYS_getpid));
  header->process_start_ns = now_ns;
  header->wait_threshold_ns.store(1000, std::memory_order_relaxed);
  header->control.store(static_cast<uint32_t>(wire::Level::kBudget) | wire::kControlRecording,
                        std::memory_order_relaxed);
  return nullptr;
}

void UseSharedMemory(const SharedMemory& memory, uint32_t epoch) noexcept {
  ForgetSlots();
  g_header = memory.header;
  g_waiters = reinterpret_cast<std::atomic<uint32_t>*>(reinterpret_cast<uint8_t*>(memory.header) +
                                                       memory.header->waiters_offset);
  g_threads = static_cast<ThreadState*>(memory.private_base);
  UseStringIndex(reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(memory.private_base) +
                                             PageUp(uint64_t{memory.header->slot_count} * sizeof(ThreadState))));
  // Readers take the header for real only once they see the magic.
  reinterpret_cast<std::atomic<uint64_t>*>(&memory.header->magic)->store(wire::kShmMagic, std::memory_order_release);
  g_epoch->epoch.store(epoch, std::memory_order_release);  // pairs with the acquire load in ClaimThread
}

void UnmapSharedMemory(const SharedMemory& memory) noexcept {
  RawSyscall(SYS_munmap, AsArgument(memory.header), static_cast<long>(memory.bytes));
  RawSyscall(SYS_munmap, AsArgument(memory.private_base), static_cast<long>(memory.private_bytes));
}

bool CreateEpochPage() noexcept {
  const long page = RawSyscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (MapFailed(page)) return false;
  if (RawSyscall(SYS_madvise, page, 4096, MADV_WIPEONFORK) != 0) {
    RawSyscall(SYS_munmap, page, 4096);
    return false;
  }
  g_epoch = reinterpret_cast<EpochPage*>(page);
  return true;
}

}  // namespace stallscope::agent
