// recv, send, accept, connect.
#include <errno.h>
#include <stddef.h>
#include <sys/un.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/fd_table.h"
#include "agent/os/transfer.h"
#include "proto/wire/unix_name.h"

namespace stallscope::agent {
namespace {

// A send wakes somebody here only when the other end is ours too.
uint64_t WokenBySend(int fd) noexcept {
  const FdEntry* entry = EntryOf(fd);
  if (entry == nullptr) return 0;
  const uint32_t kind = entry->kind_and_peer.load(std::memory_order_relaxed) & 0xff;
  return static_cast<FdKind>(kind) == FdKind::kPaired ? WokenByWrite(fd) : 0;
}

// A datagram that went to a name, not through a connection: only the name says whom it woke. After the call, when the kernel
// has read the address. False: it went to none, or to one of another kind.
__attribute__((noinline)) bool TellName(const WaitFrame& frame, wire::OsCall call, int fd, const void* address,
                                        size_t bytes) noexcept {
  constexpr size_t kBeforeName = offsetof(sockaddr_un, sun_path);
  const auto* to = static_cast<const sockaddr_un*>(address);
  if (to == nullptr || bytes <= kBeforeName || to->sun_family != AF_UNIX) return false;
  if (frame.thread == nullptr || frame.thread != CurrentThread()) return false;
  const size_t room = bytes - kBeforeName < sizeof(to->sun_path) ? bytes - kBeforeName : sizeof(to->sun_path);
  const size_t name_bytes = wire::UnixNameBytes(to->sun_path, room);
  if (name_bytes == 0) return false;
  CommitTo(frame.thread, {.begin = frame.begin_ticks,
                          .object = wire::UnixNameObject(to->sun_path, name_bytes),
                          .detail = static_cast<uint64_t>(fd) + 1,
                          .kind = wire::RecordKind::kWake,
                          .call = static_cast<uint16_t>(call)});
  return true;
}

// A batch may go to many; the first few are told of.
constexpr int kMostTold = 16;
bool TellNames(const WaitFrame& frame, int fd, const mmsghdr* messages, int sent) noexcept {
  bool any = false;
  for (int i = 0; i < sent && i < kMostTold; ++i) {
    const msghdr& message = messages[i].msg_hdr;
    any |= TellName(frame, wire::OsCall::kSendmmsg, fd, message.msg_name, message.msg_namelen);
  }
  return any;
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
  return TransmitTo(
      wire::OsCall::kSendto, fd, WokenBySend(fd), [&]() { return real(fd, buffer, bytes, flags, to, to_bytes); },
      [&](const WaitFrame& frame) {
        return to != nullptr && TellName(frame, wire::OsCall::kSendto, fd, to, to_bytes);
      });
}

STALLSCOPE_EXPORT(ssize_t, sendmsg, (int fd, const msghdr* message, int flags)) {
  auto* real = STALLSCOPE_REAL(sendmsg);
  return TransmitTo(
      wire::OsCall::kSendmsg, fd, WokenBySend(fd), [&]() { return real(fd, message, flags); },
      [&](const WaitFrame& frame) {
        return message->msg_name != nullptr &&
               TellName(frame, wire::OsCall::kSendmsg, fd, message->msg_name, message->msg_namelen);
      });
}

STALLSCOPE_EXPORT(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags)) {
  auto* real = STALLSCOPE_REAL(sendmmsg);
  int sent = 0;
  return TransmitTo(
      wire::OsCall::kSendmmsg, fd, WokenBySend(fd), [&]() { return sent = real(fd, messages, count, flags); },
      [&](const WaitFrame& frame) { return TellNames(frame, fd, messages, sent); });
}

STALLSCOPE_EXPORT(int, recvmmsg, (int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout)) {
  auto* real = STALLSCOPE_REAL(recvmmsg);
  return Receive(wire::OsCall::kRecvmmsg, fd, [&]() { return real(fd, messages, count, flags, timeout); });
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
