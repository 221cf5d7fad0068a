// select and pselect.
//
// Their sets are the caller's memory, which may be none at all, and the kernel overwrites them; trying first, as poll does,
// would lose what was asked for. So the set of descriptors to read is copied through process_vm_readv, which answers EFAULT
// where a load would crash: one short system call before each select that names descriptors. Where a sandbox forbids it,
// nobody is named as having woken the wait.
#include <errno.h>
#include <string.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/raw_syscall.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kAnnounced = 4;

struct SelectFrame {
  WaitFrame wait;
  uint32_t announced = 0;
  int fds[kAnnounced];
};

// Descriptors of a set of `bits` bits, the first `capacity` of them.
uint32_t Members(const uint64_t* words, int bits, int* fds, uint32_t capacity) noexcept {
  uint32_t count = 0;
  for (int base = 0; base < bits && count < capacity; base += 64) {
    for (uint64_t word = words[base / 64]; word != 0 && count < capacity; word &= word - 1) {
      const int fd = base + __builtin_ctzll(word);
      if (fd < bits) fds[count++] = fd;
    }
  }
  return count;
}

void StartSelect(SelectFrame* frame, wire::OsCall call, int count, const fd_set* readable) noexcept {
  StartWait(&frame->wait, call, 0);
  ThreadState* thread = frame->wait.thread;
  if (thread == nullptr || readable == nullptr || count <= 0 || g_confined.load(std::memory_order_relaxed)) return;
  const int bits = count < FD_SETSIZE ? count : FD_SETSIZE;
  uint64_t words[FD_SETSIZE / 64] = {};
  iovec here = {words, static_cast<size_t>((bits + 63) / 64) * 8};
  iovec there = {const_cast<fd_set*>(readable), here.iov_len};
  const long pid = RawSyscall(SYS_getpid);
  if (RawSyscall(SYS_process_vm_readv, pid, AsArgument(&here), 1, AsArgument(&there), 1) <= 0) return;
  frame->announced = Members(words, bits, frame->fds, kAnnounced);
  for (uint32_t i = 0; i < frame->announced; ++i) {
    AddWaiterOf(thread, wire::FdObject(frame->fds[i]), reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  }
  if (frame->announced != 0) RenameWait(thread, wire::FdObject(frame->fds[0]));
}

void FinishSelect(SelectFrame* frame, int count, const fd_set* readable, int result, uint64_t timeout_ns) noexcept {
  ThreadState* thread = frame->wait.thread;
  if (thread == nullptr || thread != CurrentThread()) return;
  for (uint32_t i = 0; i < frame->announced; ++i) RemoveWaiterOf(thread, wire::FdObject(frame->fds[i]));
  uint64_t object = frame->announced != 0 ? wire::FdObject(frame->fds[0]) : 0;
  // The kernel has written the set, so it can be read: the first descriptor that is ready ended the wait.
  int ready;
  if (result > 0 && readable != nullptr) {
    uint64_t words[FD_SETSIZE / 64] = {};
    const int bits = count < FD_SETSIZE ? count : FD_SETSIZE;
    memcpy(words, readable, static_cast<size_t>((bits + 63) / 64) * 8);
    if (Members(words, bits, &ready, 1) == 1) object = wire::FdObject(ready);
  }
  FinishWait(&frame->wait,
             {.result = result < 0 ? -errno : result,
              .timeout_ns = timeout_ns,
              .count = result > 0 ? static_cast<uint32_t>(result) : 0},
             object);
}

}  // namespace

STALLSCOPE_EXPORT(int, select, (int count, fd_set* readable, fd_set* writable, fd_set* exceptional, timeval* timeout)) {
  auto* real = STALLSCOPE_REAL(select);
  SelectFrame frame;
  StartSelect(&frame, wire::OsCall::kSelect, count, readable);
  const int result = real(count, readable, writable, exceptional, timeout);
  // Linux has overwritten the timeout with what was left of it, and before the call the pointer must not be trusted: a
  // select that ran into its timeout tells it by its duration.
  FinishSelect(&frame, count, readable, result, wire::kNoTimeout);
  return result;
}

STALLSCOPE_EXPORT(int, pselect,
                  (int count, fd_set* readable, fd_set* writable, fd_set* exceptional, const timespec* timeout,
                   const sigset_t* mask)) {
  auto* real = STALLSCOPE_REAL(pselect);
  SelectFrame frame;
  StartSelect(&frame, wire::OsCall::kPselect, count, readable);
  const int result = real(count, readable, writable, exceptional, timeout, mask);
  FinishSelect(&frame, count, readable, result, DurationNsAfter(timeout, result));
  return result;
}

}  // namespace stallscope::agent
