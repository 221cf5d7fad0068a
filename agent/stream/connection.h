// One unix stream socket to the collector, never blocking.
//
// The peer is checked by SO_PEERCRED: the agent talks to a collector of its own user or of root, to nobody else. Before
// each use the descriptor's identity is checked, since the program may have closed it. Used by one thread at a time.
#pragma once

#include <cstdint>

#include "agent/entry/own_fd.h"

namespace stallscope::agent {

enum class SendResult { kDone, kWouldBlock, kClosed };

class Connection {
 public:
  bool open() const noexcept { return socket_.fd >= 0; }
  // `high`: the descriptor goes into the program's table, so it must lie out of the program's way.
  bool Connect(bool high) noexcept;
  // As much as the socket takes; `sent` tells how much that was. `pass_fd` >= 0 goes along with the first byte.
  SendResult Send(const uint8_t* bytes, uint64_t count, uint64_t* sent, int pass_fd = -1) noexcept;
  // Bytes read, 0: nothing there now; -1: closed by the peer or no longer ours.
  int64_t Receive(uint8_t* buffer, uint64_t capacity) noexcept;
  void Close() noexcept;
  int fd() const noexcept { return socket_.fd; }
  // The same socket under another number.
  void Use(int fd) noexcept { socket_ = OwnFdOf(fd); }
  // The descriptor is another process's business now.
  void Forget() noexcept { socket_ = {}; }

 private:
  OwnFd socket_;
};

// $STALLSCOPE_SOCKET, else where collector/main/collector.h says. False: too long for a socket address.
bool CollectorSocketPath(char* path, uint32_t capacity) noexcept;

}  // namespace stallscope::agent
