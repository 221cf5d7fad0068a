#include "agent/stacks/thread_extents.h"

#include <fcntl.h>
#include <string.h>

#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

// The first thread's stack grows down into nothing: the kernel keeps at least 128 MiB free below it.
constexpr uint64_t kFirstStackBytes = 128u << 20;

// The lines of /proc/self/maps, one at a time. A line longer than the buffer is cut.
class Maps {
 public:
  Maps() noexcept
      : fd_(static_cast<int>(RawSyscall(SYS_openat, AT_FDCWD, AsArgument("/proc/self/maps"), O_RDONLY | O_CLOEXEC))) {}
  ~Maps() {
    if (fd_ >= 0) RawSyscall(SYS_close, fd_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  // nullptr at the end.
  const char* NextLine() noexcept {
    for (;;) {
      if (auto* end = static_cast<char*>(memchr(buffer_ + at_, '\n', filled_ - at_))) {
        const char* line = buffer_ + at_;
        *end = '\0';
        at_ = static_cast<uint64_t>(end - buffer_) + 1;
        return line;
      }
      if (fd_ < 0) return nullptr;
      memmove(buffer_, buffer_ + at_, filled_ - at_);
      filled_ -= at_;
      at_ = 0;
      if (filled_ == sizeof(buffer_)) filled_ = 0;
      const long got = RawSyscall(SYS_read, fd_, AsArgument(buffer_) + static_cast<long>(filled_),
                                  static_cast<long>(sizeof(buffer_) - filled_));
      if (got <= 0) return nullptr;
      filled_ += static_cast<uint64_t>(got);
    }
  }

 private:
  int fd_;
  uint64_t at_ = 0, filled_ = 0;
  char buffer_[8192];
};

const char* ReadHex(const char* at, uint64_t* value) noexcept {
  *value = 0;
  for (;; ++at) {
    const int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : -1;
    if (digit < 0) return at;
    *value = *value << 4 | static_cast<uint64_t>(digit);
  }
}

void Set(uint32_t index, uint32_t tid, uint64_t low, uint64_t high) noexcept {
  ThreadState* thread = &g_threads[index];
  thread->stack_low.store(low, std::memory_order_relaxed);
  thread->stack_high.store(high, std::memory_order_relaxed);
  thread->stack_tid.store(tid, std::memory_order_release);  // pairs with ExtentFrom's acquire
}

bool Wanted(uint32_t index) noexcept {
  return SlotAt(index)->state.load(std::memory_order_acquire) == static_cast<uint32_t>(wire::SlotState::kLive) &&
         g_threads[index].stack_tid.load(std::memory_order_relaxed) != SlotAt(index)->tid;
}

}  // namespace

void LearnThreadExtents(uint32_t slots) noexcept {
  Maps maps;
  uint64_t low = 0, high = 0;  // of neighbouring writable mappings
  while (const char* line = maps.NextLine()) {
    uint64_t begin = 0, end = 0;
    const char* at = ReadHex(line, &begin);
    if (*at != '-') continue;
    at = ReadHex(at + 1, &end);
    if (strncmp(at, " rw", 3) != 0) continue;
    if (begin != high) low = begin;
    high = end;
    const bool first = strstr(at, "[stack]") != nullptr;
    for (uint32_t index = 0; index < slots; ++index) {
      const wire::ThreadSlot* slot = SlotAt(index);
      const uint64_t handle = slot->handle;
      const uint32_t tid = slot->tid;
      if (tid == g_header->pid ? first : handle >= begin && handle < end) {
        if (Wanted(index))
          Set(index, tid, tid == g_header->pid ? end - kFirstStackBytes : low,
              tid == g_header->pid ? end : handle & ~uint64_t{7});
      }
    }
  }
  // Whoever was not found is not asked for again.
  for (uint32_t index = 0; index < slots; ++index) {
    if (Wanted(index)) Set(index, SlotAt(index)->tid, ~uint64_t{0}, 0);
  }
}

}  // namespace stallscope::agent
