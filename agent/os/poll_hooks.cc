// epoll and poll: waits for outside input, or for a wake-up through a descriptor. (select: select_hooks.cc)
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/epoll_members.h"
#include "agent/os/fd_table.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

uint64_t MillisecondsNs(int timeout_ms) noexcept {
  return timeout_ms < 0 ? wire::kNoTimeout : static_cast<uint64_t>(timeout_ms) * 1'000'000u;
}

WaitOutcome Outcome(int result, uint64_t timeout_ns) noexcept {
  return {result < 0 ? -errno : result, timeout_ns, result > 0 ? static_cast<uint32_t>(result) : 0};
}

// A poll that will not wait has no waiter to announce.
uint64_t EpollObject(int epoll_fd, uint64_t timeout_ns) noexcept {
  NoteEpollWait(epoll_fd);
  return timeout_ns == 0 ? 0 : wire::FdObject(epoll_fd);
}

// A poll announces a waiter for its first few descriptors; those with many are rare in threads that wait for each
// other, and not worth trying first.
constexpr nfds_t kAnnounced = 4, kMostTried = 16;

struct PollFrame {
  WaitFrame wait;
  uint32_t announced = 0;
  int fds[kAnnounced];
};

// The array is the caller's memory, and may be none at all: it is read only once the kernel has accepted it. So a poll
// that would be announced is tried without waiting first. True: try.
bool StartPoll(PollFrame* frame, wire::OsCall call, nfds_t count, bool may_wait) noexcept {
  StartWait(&frame->wait, call, 0);
  return frame->wait.thread != nullptr && may_wait && count != 0 && count <= kMostTried;
}

// The try has found nothing ready, and so has read the whole array.
void AnnouncePoll(PollFrame* frame, const pollfd* fds, nfds_t count) noexcept {
  ThreadState* thread = frame->wait.thread;
  if (thread != CurrentThread()) return;
  frame->announced = static_cast<uint32_t>(count < kAnnounced ? count : kAnnounced);
  for (uint32_t i = 0; i < frame->announced; ++i) {
    frame->fds[i] = fds[i].fd;
    AddWaiterOf(thread, wire::FdObject(frame->fds[i]), reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  }
  RenameWait(thread, wire::FdObject(frame->fds[0]));
}

// The descriptor that ended the wait, so that the write to it can be found; else the first one.
inline uint64_t PolledObject(const pollfd* fds, nfds_t count, int result) noexcept {
  if (count == 0 || (result < 0 && errno != EINTR)) return 0;
  for (nfds_t i = 0; result > 0 && i < count && i < 64; ++i) {
    if (fds[i].revents != 0) return wire::FdObject(fds[i].fd);
  }
  return wire::FdObject(fds[0].fd);
}

void FinishPoll(PollFrame* frame, const pollfd* fds, nfds_t count, int result, uint64_t timeout_ns) noexcept {
  ThreadState* thread = frame->wait.thread;
  if (thread == nullptr || thread != CurrentThread()) return;
  for (uint32_t i = 0; i < frame->announced; ++i) RemoveWaiterOf(thread, wire::FdObject(frame->fds[i]));
  FinishWait(&frame->wait, Outcome(result, timeout_ns), PolledObject(fds, count, result));
}

// glibc's own ppoll reads the timeout before the kernel does.
bool WouldWait(const timespec* timeout) noexcept {
  if (timeout == nullptr) return true;
  const bool valid = timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < 1'000'000'000;
  return valid && (timeout->tv_sec != 0 || timeout->tv_nsec != 0);
}
constexpr timespec kNotAtAll = {0, 0};

}  // namespace

STALLSCOPE_EXPORT(int, epoll_wait, (int epoll_fd, epoll_event* events, int capacity, int timeout_ms)) {
  auto* real = STALLSCOPE_REAL(epoll_wait);
  WaitFrame frame;
  const uint64_t timeout_ns = MillisecondsNs(timeout_ms);
  StartWait(&frame, wire::OsCall::kEpollWait, EpollObject(epoll_fd, timeout_ns));
  const int result = real(epoll_fd, events, capacity, timeout_ms);
  FinishWait(&frame, Outcome(result, timeout_ns), wire::FdObject(epoll_fd));
  return result;
}

STALLSCOPE_EXPORT(int, epoll_pwait,
                  (int epoll_fd, epoll_event* events, int capacity, int timeout_ms, const sigset_t* mask)) {
  auto* real = STALLSCOPE_REAL(epoll_pwait);
  WaitFrame frame;
  const uint64_t timeout_ns = MillisecondsNs(timeout_ms);
  StartWait(&frame, wire::OsCall::kEpollPwait, EpollObject(epoll_fd, timeout_ns));
  const int result = real(epoll_fd, events, capacity, timeout_ms, mask);
  FinishWait(&frame, Outcome(result, timeout_ns), wire::FdObject(epoll_fd));
  return result;
}

STALLSCOPE_EXPORT(int, epoll_pwait2,
                  (int epoll_fd, epoll_event* events, int capacity, const timespec* timeout, const sigset_t* mask)) {
  auto* real = STALLSCOPE_REAL(epoll_pwait2);
  if (real == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kEpollPwait2, EpollObject(epoll_fd, wire::kNoTimeout));
  const int result = real(epoll_fd, events, capacity, timeout, mask);
  FinishWait(&frame, Outcome(result, DurationNsAfter(timeout, result)), wire::FdObject(epoll_fd));
  return result;
}

STALLSCOPE_EXPORT(int, epoll_ctl, (int epoll_fd, int operation, int fd, epoll_event* event)) {
  auto* real = STALLSCOPE_REAL(epoll_ctl);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kEpollCtl, 0);
  const int result = real(epoll_fd, operation, fd, event);
  FinishWait(&frame, {.result = result < 0 ? -errno : 0}, wire::FdObject(epoll_fd));
  if (result == 0 && operation == EPOLL_CTL_ADD) {
    NoteSeenSet(epoll_fd);
    SetEpollSet(fd, epoll_fd);
  }
  if (result == 0 && operation == EPOLL_CTL_DEL) SetEpollSet(fd, -1);
  return result;
}

STALLSCOPE_EXPORT(int, poll, (pollfd * fds, nfds_t count, int timeout_ms)) {
  auto* real = STALLSCOPE_REAL(poll);
  if (timeout_ms == 0) {  // announces nothing
    WaitFrame frame;
    StartWait(&frame, wire::OsCall::kPoll, 0);
    const int result = real(fds, count, 0);
    FinishWait(&frame, Outcome(result, 0), frame.thread != nullptr ? PolledObject(fds, count, result) : 0);
    return result;
  }
  PollFrame frame;
  int result = 0;
  if (StartPoll(&frame, wire::OsCall::kPoll, count, timeout_ms != 0)) {
    result = real(fds, count, 0);
    if (result == 0) AnnouncePoll(&frame, fds, count);
  }
  if (result == 0) result = real(fds, count, timeout_ms);
  FinishPoll(&frame, fds, count, result, MillisecondsNs(timeout_ms));
  return result;
}

STALLSCOPE_EXPORT(int, __poll_chk, (pollfd * fds, nfds_t count, int timeout_ms, size_t fds_bytes)) {
  auto* real = STALLSCOPE_REAL(__poll_chk);
  PollFrame frame;
  int result = 0;
  if (StartPoll(&frame, wire::OsCall::kPoll, count, timeout_ms != 0)) {
    result = real(fds, count, 0, fds_bytes);
    if (result == 0) AnnouncePoll(&frame, fds, count);
  }
  if (result == 0) result = real(fds, count, timeout_ms, fds_bytes);
  FinishPoll(&frame, fds, count, result, MillisecondsNs(timeout_ms));
  return result;
}

STALLSCOPE_EXPORT(int, ppoll, (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask)) {
  auto* real = STALLSCOPE_REAL(ppoll);
  PollFrame frame;
  int result = 0;
  if (StartPoll(&frame, wire::OsCall::kPpoll, count, WouldWait(timeout))) {
    result = real(fds, count, &kNotAtAll, mask);
    if (result == 0) AnnouncePoll(&frame, fds, count);
  }
  if (result == 0) result = real(fds, count, timeout, mask);
  FinishPoll(&frame, fds, count, result, DurationNsAfter(timeout, result));
  return result;
}

STALLSCOPE_EXPORT(int, __ppoll_chk,
                  (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask, size_t fds_bytes)) {
  auto* real = STALLSCOPE_REAL(__ppoll_chk);
  PollFrame frame;
  int result = 0;
  if (StartPoll(&frame, wire::OsCall::kPpoll, count, WouldWait(timeout))) {
    result = real(fds, count, &kNotAtAll, mask, fds_bytes);
    if (result == 0) AnnouncePoll(&frame, fds, count);
  }
  if (result == 0) result = real(fds, count, timeout, mask, fds_bytes);
  FinishPoll(&frame, fds, count, result, DurationNsAfter(timeout, result));
  return result;
}

}  // namespace stallscope::agent
