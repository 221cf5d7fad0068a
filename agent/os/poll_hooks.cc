// epoll, poll, select: waits for outside input, or for a wake-up through a descriptor.
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

// Waiters are announced for the first few descriptors of a poll; more are rare in threads that wait for each other.
constexpr nfds_t kAnnounced = 4;

struct PollFrame {
  WaitFrame wait;
  nfds_t announced = 0;
};

void StartPoll(PollFrame* frame, wire::OsCall call, const pollfd* fds, nfds_t count, uint64_t timeout_ns) noexcept {
  const bool announce = timeout_ns != 0 && count != 0;
  StartWait(&frame->wait, call, announce ? wire::FdObject(fds[0].fd) : 0);
  if (frame->wait.thread == nullptr || !announce) return;
  frame->announced = count < kAnnounced ? count : kAnnounced;
  for (nfds_t i = 1; i < frame->announced; ++i) {
    AddWaiterOf(frame->wait.thread, wire::FdObject(fds[i].fd), reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  }
}

void FinishPoll(PollFrame* frame, const pollfd* fds, nfds_t count, int result, uint64_t timeout_ns) noexcept {
  if (frame->wait.thread == nullptr || frame->wait.thread != CurrentThread()) return;
  for (nfds_t i = 1; i < frame->announced; ++i) RemoveWaiterOf(frame->wait.thread, wire::FdObject(fds[i].fd));
  // The record names the descriptor that ended the wait, so that the write to it can be found.
  uint64_t object = count != 0 ? wire::FdObject(fds[0].fd) : 0;
  for (nfds_t i = 0; result > 0 && i < count && i < 64; ++i) {
    if (fds[i].revents != 0) {
      object = wire::FdObject(fds[i].fd);
      break;
    }
  }
  FinishWait(&frame->wait, Outcome(result, timeout_ns), object);
}

}  // namespace

STALLSCOPE_EXPORT(int, epoll_wait, (int epoll_fd, epoll_event* events, int capacity, int timeout_ms)) {
  WaitFrame frame;
  const uint64_t timeout_ns = MillisecondsNs(timeout_ms);
  StartWait(&frame, wire::OsCall::kEpollWait, EpollObject(epoll_fd, timeout_ns));
  const int result = STALLSCOPE_REAL(epoll_wait)(epoll_fd, events, capacity, timeout_ms);
  FinishWait(&frame, Outcome(result, timeout_ns), wire::FdObject(epoll_fd));
  return result;
}

STALLSCOPE_EXPORT(int, epoll_pwait,
                  (int epoll_fd, epoll_event* events, int capacity, int timeout_ms, const sigset_t* mask)) {
  WaitFrame frame;
  const uint64_t timeout_ns = MillisecondsNs(timeout_ms);
  StartWait(&frame, wire::OsCall::kEpollPwait, EpollObject(epoll_fd, timeout_ns));
  const int result = STALLSCOPE_REAL(epoll_pwait)(epoll_fd, events, capacity, timeout_ms, mask);
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
  const int result = STALLSCOPE_REAL(epoll_ctl)(epoll_fd, operation, fd, event);
  if (result == 0 && operation == EPOLL_CTL_ADD) {
    NoteSeenSet(epoll_fd);
    SetEpollSet(fd, epoll_fd);
  }
  if (result == 0 && operation == EPOLL_CTL_DEL) SetEpollSet(fd, -1);
  return result;
}

STALLSCOPE_EXPORT(int, poll, (pollfd * fds, nfds_t count, int timeout_ms)) {
  PollFrame frame;
  const uint64_t timeout_ns = MillisecondsNs(timeout_ms);
  StartPoll(&frame, wire::OsCall::kPoll, fds, count, timeout_ns);
  const int result = STALLSCOPE_REAL(poll)(fds, count, timeout_ms);
  FinishPoll(&frame, fds, count, result, timeout_ns);
  return result;
}

STALLSCOPE_EXPORT(int, __poll_chk, (pollfd * fds, nfds_t count, int timeout_ms, size_t fds_bytes)) {
  PollFrame frame;
  const uint64_t timeout_ns = MillisecondsNs(timeout_ms);
  StartPoll(&frame, wire::OsCall::kPoll, fds, count, timeout_ns);
  const int result = STALLSCOPE_REAL(__poll_chk)(fds, count, timeout_ms, fds_bytes);
  FinishPoll(&frame, fds, count, result, timeout_ns);
  return result;
}

STALLSCOPE_EXPORT(int, ppoll, (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask)) {
  PollFrame frame;
  StartPoll(&frame, wire::OsCall::kPpoll, fds, count, wire::kNoTimeout);
  const int result = STALLSCOPE_REAL(ppoll)(fds, count, timeout, mask);
  FinishPoll(&frame, fds, count, result, DurationNsAfter(timeout, result));
  return result;
}

STALLSCOPE_EXPORT(int, __ppoll_chk,
                  (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask, size_t fds_bytes)) {
  PollFrame frame;
  StartPoll(&frame, wire::OsCall::kPpoll, fds, count, wire::kNoTimeout);
  const int result = STALLSCOPE_REAL(__ppoll_chk)(fds, count, timeout, mask, fds_bytes);
  FinishPoll(&frame, fds, count, result, DurationNsAfter(timeout, result));
  return result;
}

STALLSCOPE_EXPORT(int, select, (int count, fd_set* readable, fd_set* writable, fd_set* exceptional, timeval* timeout)) {
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kSelect, 0);
  const int result = STALLSCOPE_REAL(select)(count, readable, writable, exceptional, timeout);
  // Linux has overwritten the timeout with what was left of it, and before the call the pointer must not be trusted: a
  // select that ran into its timeout tells it by its duration.
  FinishWait(&frame, Outcome(result, wire::kNoTimeout));
  return result;
}

STALLSCOPE_EXPORT(int, pselect,
                  (int count, fd_set* readable, fd_set* writable, fd_set* exceptional, const timespec* timeout,
                   const sigset_t* mask)) {
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPselect, 0);
  const int result = STALLSCOPE_REAL(pselect)(count, readable, writable, exceptional, timeout, mask);
  FinishWait(&frame, Outcome(result, DurationNsAfter(timeout, result)));
  return result;
}

}  // namespace stallscope::agent
