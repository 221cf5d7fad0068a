#include "agent/os/fd_table.h"

#include <fcntl.h>

#include "agent/os/fd_kinds.h"
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

// A file is hardly ever opened for writing without being made, emptied or appended to; a pipe with a name mostly is.
void NoteOpened(int fd, int flags) noexcept {
  if (fd < 0) return;
  const bool as_a_pipe =
      (flags & O_ACCMODE) != O_RDONLY && (flags & (O_CREAT | O_TRUNC | O_APPEND | O_DIRECT | O_SYNC | O_DSYNC)) == 0;
  // Loads first, as in ForgetFd.
  if (as_a_pipe) {
    SetFd(fd, FdKind::kUnknown, kAllWrites);
  } else {
    ForgetFd(fd);
  }
}

void NoteCopied(int fd, int copy) noexcept {
  const FdEntry* entry = EntryOf(fd);
  if (entry == nullptr || copy < 0 || copy == fd) return;
  const uint32_t kind_and_peer = entry->kind_and_peer.load(std::memory_order_relaxed);
  switch (static_cast<FdKind>(kind_and_peer & 0xff)) {
    case FdKind::kAsked:  // about the other number
      return SetFd(copy, FdKind::kUnknown, static_cast<int>(kind_and_peer >> 8));
    case FdKind::kEpollSet:
    case FdKind::kUnseenEpollSet:
      return ForgetFd(copy);
    default:
      return SetFd(copy, static_cast<FdKind>(kind_and_peer & 0xff), static_cast<int>(kind_and_peer >> 8));
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
    case FdKind::kQuiet:
      return 0;
    default:
      return WaitedFor(fd);
  }
}

namespace {

// Of an unknown descriptor: whether this write is still one of those that are recorded in doubt.
bool InDoubt(FdEntry* entry, int fd, uint32_t kind_and_peer) noexcept {
  const bool unknown = static_cast<FdKind>(kind_and_peer & 0xff) == FdKind::kUnknown;
  uint32_t left = kind_and_peer >> 8;
  if (unknown && left == 0) left = kWritesInDoubt;
  if (left == 0) return false;
  const uint32_t asked = static_cast<uint32_t>(FdKind::kAsked) | (left == kAllWrites ? left : left - 1) << 8;
  uint32_t seen = kind_and_peer;
  // Not over the answer, which may come meanwhile; and before the question, so that it is there to be answered.
  if (!entry->kind_and_peer.compare_exchange_strong(seen, asked, std::memory_order_relaxed)) return true;
  if (unknown && !AskForKind(fd)) {
    seen = asked;
    entry->kind_and_peer.compare_exchange_strong(seen, kind_and_peer, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace

// Of descriptors that are known to have another end, or may have: a log file's writes are not worth a record each.
__attribute__((noinline)) void CommitSilentWrite(const WaitFrame& frame, wire::OsCall name, int fd) noexcept {
  FdEntry* entry = EntryOf(fd);
  if (entry == nullptr || frame.thread != CurrentThread()) return;
  const uint32_t kind_and_peer = entry->kind_and_peer.load(std::memory_order_relaxed);
  switch (static_cast<FdKind>(kind_and_peer & 0xff)) {
    case FdKind::kSocket:
    case FdKind::kPaired:
    case FdKind::kEventFd:
    case FdKind::kPipe:
      break;
    case FdKind::kUnknown:
    case FdKind::kAsked:
      if (InDoubt(entry, fd, kind_and_peer)) break;
      return;
    case FdKind::kEpollSet:
    case FdKind::kUnseenEpollSet:
    case FdKind::kQuiet:
      return;
  }
  CommitTo(frame.thread, {.begin = frame.begin_ticks,
                          .object = wire::FdObject(fd),
                          .kind = wire::RecordKind::kWake,
                          .call = static_cast<uint16_t>(name)});
}

}  // namespace stallscope::agent
