// read, write and their kin on any descriptor; eventfd; and the calls that make descriptors which wake each other.
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/fd_table.h"
#include "agent/os/transfer.h"

namespace stallscope::agent {

STALLSCOPE_EXPORT(ssize_t, read, (int fd, void* buffer, size_t bytes)) {
  auto* real = STALLSCOPE_REAL(read);
  return Receive(wire::OsCall::kRead, fd, [&]() { return real(fd, buffer, bytes); });
}

STALLSCOPE_EXPORT(ssize_t, __read_chk, (int fd, void* buffer, size_t bytes, size_t buffer_bytes)) {
  auto* real = STALLSCOPE_REAL(__read_chk);
  return Receive(wire::OsCall::kRead, fd, [&]() { return real(fd, buffer, bytes, buffer_bytes); });
}

STALLSCOPE_EXPORT(ssize_t, readv, (int fd, const iovec* pieces, int count)) {
  auto* real = STALLSCOPE_REAL(readv);
  return Receive(wire::OsCall::kReadv, fd, [&]() { return real(fd, pieces, count); });
}

STALLSCOPE_EXPORT(ssize_t, write, (int fd, const void* buffer, size_t bytes)) {
  auto* real = STALLSCOPE_REAL(write);
  return Transmit(wire::OsCall::kWrite, fd, WokenByWrite(fd), [&]() { return real(fd, buffer, bytes); });
}

STALLSCOPE_EXPORT(ssize_t, writev, (int fd, const iovec* pieces, int count)) {
  auto* real = STALLSCOPE_REAL(writev);
  return Transmit(wire::OsCall::kWritev, fd, WokenByWrite(fd), [&]() { return real(fd, pieces, count); });
}

STALLSCOPE_EXPORT(int, eventfd_read, (int fd, uint64_t* value)) {
  auto* real = STALLSCOPE_REAL(eventfd_read);
  return Receive(wire::OsCall::kEventfdRead, fd, [&]() { return real(fd, value); });
}

STALLSCOPE_EXPORT(int, eventfd_write, (int fd, uint64_t value)) {
  auto* real = STALLSCOPE_REAL(eventfd_write);
  return Transmit(wire::OsCall::kEventfdWrite, fd, WokenByWrite(fd), [&]() { return real(fd, value); });
}

// From here on: also noted who wakes whom.

STALLSCOPE_EXPORT(int, eventfd, (unsigned value, int flags)) {
  const int fd = STALLSCOPE_REAL(eventfd)(value, flags);
  if (fd >= 0) SetFd(fd, FdKind::kEventFd);
  return fd;
}

namespace {

void NotePipe(int result, const int* ends) noexcept {
  if (result != 0) return;
  SetFd(ends[0], FdKind::kUnknown);
  SetFd(ends[1], FdKind::kPaired, ends[0]);
}

}  // namespace

STALLSCOPE_EXPORT(int, pipe, (int* ends)) {
  auto* real = STALLSCOPE_REAL(pipe);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPipe, 0);
  const int result = real(ends);
  FinishWait(&frame, {.result = result < 0 ? -errno : 0});
  NotePipe(result, ends);
  return result;
}

STALLSCOPE_EXPORT(int, pipe2, (int* ends, int flags)) {
  auto* real = STALLSCOPE_REAL(pipe2);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPipe2, 0);
  const int result = real(ends, flags);
  FinishWait(&frame, {.result = result < 0 ? -errno : 0});
  NotePipe(result, ends);
  return result;
}

STALLSCOPE_EXPORT(int, socketpair, (int domain, int type, int protocol, int* ends)) {
  auto* real = STALLSCOPE_REAL(socketpair);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kSocketpair, 0);
  const int result = real(domain, type, protocol, ends);
  FinishWait(&frame, {.result = result < 0 ? -errno : 0});
  if (result == 0) {
    SetFd(ends[0], FdKind::kPaired, ends[1]);
    SetFd(ends[1], FdKind::kPaired, ends[0]);
  }
  return result;
}

STALLSCOPE_EXPORT(int, close, (int fd)) {
  auto* real = STALLSCOPE_REAL(close);
  ForgetFd(fd);
  return real(fd);
}

}  // namespace stallscope::agent
