#include "agent/os/fd_table.h"

#include "agent/os/transfer.h"

namespace stallscope::agent {

constinit FdEntry g_fd_table[kTrackedFds] = {};

namespace {

// Somebody reads the descriptor, or waits for the epoll set that it is in.
uint64_t WaitedFor(int fd) noexcept {
  if (SomebodyWaitsOn(wire::FdObject(fd))) return wire::FdObject(fd);
  const FdEntry* entry = EntryOf(fd);
  const uint32_t epoll = entry != nullptr ? entry->epoll_plus_one.load(std::memory_order_relaxed) : 0;
  if (epoll != 0 && SomebodyWaitsOn(wire::FdObject(static_cast<int>(epoll - 1)))) {
    return wire::FdObject(static_cast<int>(epoll - 1));
  }
  return 0;
}

}  // namespace

void SetFd(int fd, FdKind kind, int peer) noexcept {
  if (FdEntry* entry = EntryOf(fd)) {
    entry->epoll_plus_one.store(0, std::memory_order_relaxed);
    entry->kind_and_peer.store(static_cast<uint32_t>(kind) | static_cast<uint32_t>(peer) << 8,
                               std::memory_order_relaxed);
  }
}

void SetEpollSet(int fd, int epoll_fd) noexcept {
  if (FdEntry* entry = EntryOf(fd)) {
    entry->epoll_plus_one.store(static_cast<uint32_t>(epoll_fd + 1), std::memory_order_relaxed);
  }
}

void ForgetFd(int fd) noexcept {
  FdEntry* entry = EntryOf(fd);
  // Loads first: most descriptors were never noted, and their page of the table need not be touched.
  if (entry == nullptr) return;
  if (entry->epoll_plus_one.load(std::memory_order_relaxed) != 0)
    entry->epoll_plus_one.store(0, std::memory_order_relaxed);
  if (entry->kind_and_peer.load(std::memory_order_relaxed) != 0)
    entry->kind_and_peer.store(0, std::memory_order_relaxed);
}

uint64_t WokenByWrite(int fd) noexcept {
  const FdEntry* entry = EntryOf(fd);
  if (entry == nullptr) return 0;
  const uint32_t kind_and_peer = entry->kind_and_peer.load(std::memory_order_relaxed);
  switch (static_cast<FdKind>(kind_and_peer & 0xff)) {
    case FdKind::kPaired:
      return WaitedFor(static_cast<int>(kind_and_peer >> 8));
    case FdKind::kSocket:
      return 0;
    default:
      return WaitedFor(fd);
  }
}

// Of descriptors that are known to have another end: a log file's writes are not worth a record each.
__attribute__((noinline)) void CommitSilentWrite(const WaitFrame& frame, wire::OsCall name, int fd) noexcept {
  const FdEntry* entry = EntryOf(fd);
  if (entry == nullptr || frame.thread != CurrentThread()) return;
  switch (static_cast<FdKind>(entry->kind_and_peer.load(std::memory_order_relaxed) & 0xff)) {
    case FdKind::kSocket:
    case FdKind::kPaired:
    case FdKind::kEventFd:
      break;
    default:
      return;
  }
  CommitTo(frame.thread, {.begin = frame.begin_ticks,
                          .object = wire::FdObject(fd),
                          .kind = wire::RecordKind::kWake,
                          .call = static_cast<uint16_t>(name)});
}

}  // namespace stallscope::agent
