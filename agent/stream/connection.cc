#include "agent/stream/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/entry/lifecycle.h"
#include "agent/entry/log.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

bool Join(char* path, uint32_t capacity, const char* first, const char* second) noexcept {
  const size_t first_bytes = strlen(first), second_bytes = strlen(second);
  if (first_bytes + second_bytes + 1 > capacity) return false;
  memcpy(path, first, first_bytes);
  memcpy(path + first_bytes, second, second_bytes + 1);
  return true;
}

bool PeerIsTrusted(int fd) noexcept {
  ucred peer = {};
  socklen_t bytes = sizeof(peer);
  if (RawSyscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, AsArgument(&peer), AsArgument(&bytes)) != 0) return false;
  return peer.uid == 0 || peer.uid == static_cast<uid_t>(RawSyscall(SYS_geteuid));
}

}  // namespace

bool CollectorSocketPath(char* path, uint32_t capacity) noexcept {
  if (AttachedSocketPath()[0] != '\0') return Join(path, capacity, AttachedSocketPath(), "");
  const char* given = STALLSCOPE_REAL(getenv)("STALLSCOPE_SOCKET");
  if (given != nullptr && *given != '\0') return Join(path, capacity, given, "");
  const char* runtime = STALLSCOPE_REAL(getenv)("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return Join(path, capacity, runtime, "/stallscope/collector.sock");
  auto uid = static_cast<uint32_t>(RawSyscall(SYS_geteuid));
  if (uid == 0) return Join(path, capacity, "/run/stallscope/collector.sock", "");
  char digits[48] = "/tmp/stallscope-";
  char* end = digits + strlen(digits);
  uint32_t divisor = 1;
  while (uid / divisor >= 10) divisor *= 10;
  for (; divisor != 0; divisor /= 10) *end++ = static_cast<char>('0' + uid / divisor % 10);
  *end = '\0';
  return Join(path, capacity, digits, "/collector.sock");
}

bool Connection::Connect(bool high) noexcept {
  Close();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (!CollectorSocketPath(address.sun_path, sizeof(address.sun_path))) {
    Log("the collector's socket path is too long");
    return false;
  }
  const long low = RawSyscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (low < 0) return false;
  const int fd = high ? MoveFdHigh(static_cast<int>(low)) : static_cast<int>(low);
  if (fd < 0) return false;
  const long connected = RawSyscall(SYS_connect, fd, AsArgument(&address), sizeof(address));
  if (connected != 0 || !PeerIsTrusted(fd)) {
    Log("no collector at", address.sun_path, connected);
    RawSyscall(SYS_close, fd);
    return false;
  }
  socket_ = OwnFdOf(fd);
  return true;
}

SendResult Connection::Send(const uint8_t* bytes, uint64_t count, uint64_t* sent, int pass_fd) noexcept {
  *sent = 0;
  if (!StillOurs(socket_)) {
    socket_.fd = -1;
    return SendResult::kClosed;
  }
  while (*sent < count) {
    iovec piece = {const_cast<uint8_t*>(bytes + *sent), count - *sent};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (pass_fd >= 0 && *sent == 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(header), &pass_fd, sizeof(int));
    }
    const long result = RawSyscall(SYS_sendmsg, socket_.fd, AsArgument(&message), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (result == -EINTR) continue;
    if (result == -EAGAIN) return SendResult::kWouldBlock;
    if (result < 0) {
      Close();
      return SendResult::kClosed;
    }
    *sent += static_cast<uint64_t>(result);
  }
  return SendResult::kDone;
}

int64_t Connection::Receive(uint8_t* buffer, uint64_t capacity) noexcept {
  if (!StillOurs(socket_)) {
    socket_.fd = -1;
    return -1;
  }
  for (;;) {
    const long result =
        RawSyscall(SYS_recvfrom, socket_.fd, AsArgument(buffer), static_cast<long>(capacity), MSG_DONTWAIT, 0, 0);
    if (result == -EINTR) continue;
    if (result == -EAGAIN) return 0;
    if (result <= 0) {
      Close();
      return -1;
    }
    return result;
  }
}

void Connection::Close() noexcept { CloseOwn(&socket_); }

}  // namespace stallscope::agent
