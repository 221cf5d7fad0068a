// recv, send, accept, connect.
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/fd_table.h"
#include "agent/os/transfer.h"

namespace stallscope::agent {
namespace {

// A send wakes somebody here only when the other end is ours too.
uint64_t WokenBySend(int fd) noexcept {
  const FdEntry* entry = EntryOf(fd);
  if (entry == nullptr) return 0;
  const uint32_t kind = entry->kind_and_peer.load(std::memory_order_relaxed) & 0xff;
  return static_cast<FdKind>(kind) == FdKind::kPaired ? WokenByWrite(fd) : 0;
}

}  // namespace

STALLSCOPE_EXPORT(ssize_t, recv, (int fd, void* buffer, size_t bytes, int flags)) {
  auto* real = STALLSCOPE_REAL(recv);
  return Receive(wire::OsCall::kRecv, fd, [&]() { return real(fd, buffer, bytes, flags); });
}

STALLSCOPE_EXPORT(ssize_t, __recv_chk, (int fd, void* buffer, size_t bytes, size_t buffer_bytes, int flags)) {
  auto* real = STALLSCOPE_REAL(__recv_chk);
  return Receive(wire::OsCall::kRecv, fd, [&]() { return real(fd, buffer, bytes, buffer_bytes, flags); });
}

STALLSCOPE_EXPORT(ssize_t, recvfrom,
                  (int fd, void* buffer, size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes)) {
  auto* real = STALLSCOPE_REAL(recvfrom);
  return Receive(wire::OsCall::kRecvfrom, fd, [&]() { return real(fd, buffer, bytes, flags, from, from_bytes); });
}

STALLSCOPE_EXPORT(ssize_t, __recvfrom_chk,
                  (int fd, void* buffer, size_t bytes, size_t buffer_bytes, int flags, sockaddr* from,
                   socklen_t* from_bytes)) {
  auto* real = STALLSCOPE_REAL(__recvfrom_chk);
  return Receive(wire::OsCall::kRecvfrom, fd,
                 [&]() { return real(fd, buffer, bytes, buffer_bytes, flags, from, from_bytes); });
}

STALLSCOPE_EXPORT(ssize_t, recvmsg, (int fd, msghdr* message, int flags)) {
  auto* real = STALLSCOPE_REAL(recvmsg);
  return Receive(wire::OsCall::kRecvmsg, fd, [&]() { return real(fd, message, flags); });
}

STALLSCOPE_EXPORT(ssize_t, send, (int fd, const void* buffer, size_t bytes, int flags)) {
  auto* real = STALLSCOPE_REAL(send);
  return Transmit(wire::OsCall::kSend, fd, WokenBySend(fd), [&]() { return real(fd, buffer, bytes, flags); });
}

STALLSCOPE_EXPORT(ssize_t, sendto,
                  (int fd, const void* buffer, size_t bytes, int flags, const sockaddr* to, socklen_t to_bytes)) {
  auto* real = STALLSCOPE_REAL(sendto);
  return Transmit(wire::OsCall::kSendto, fd, WokenBySend(fd),
                  [&]() { return real(fd, buffer, bytes, flags, to, to_bytes); });
}

STALLSCOPE_EXPORT(ssize_t, sendmsg, (int fd, const msghdr* message, int flags)) {
  auto* real = STALLSCOPE_REAL(sendmsg);
  return Transmit(wire::OsCall::kSendmsg, fd, WokenBySend(fd), [&]() { return real(fd, message, flags); });
}

STALLSCOPE_EXPORT(int, accept, (int fd, sockaddr* address, socklen_t* address_bytes)) {
  auto* real = STALLSCOPE_REAL(accept);
  const int accepted = Receive(wire::OsCall::kAccept, fd, [&]() { return real(fd, address, address_bytes); });
  if (accepted >= 0) SetFd(accepted, FdKind::kSocket);
  return accepted;
}

STALLSCOPE_EXPORT(int, accept4, (int fd, sockaddr* address, socklen_t* address_bytes, int flags)) {
  auto* real = STALLSCOPE_REAL(accept4);
  const int accepted = Receive(wire::OsCall::kAccept, fd, [&]() { return real(fd, address, address_bytes, flags); });
  if (accepted >= 0) SetFd(accepted, FdKind::kSocket);
  return accepted;
}

STALLSCOPE_EXPORT(int, connect, (int fd, const sockaddr* address, socklen_t address_bytes)) {
  auto* real = STALLSCOPE_REAL(connect);
  if (FdEntry* entry = EntryOf(fd)) {
    entry->kind_and_peer.store(static_cast<uint32_t>(FdKind::kSocket), std::memory_order_relaxed);
  }
  return Receive(wire::OsCall::kConnect, fd, [&]() { return real(fd, address, address_bytes); });
}

}  // namespace stallscope::agent
