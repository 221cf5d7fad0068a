// Members of epoll sets that were added without epoll_ctl.
//
// libuv (1.46 and later, so node 20 and later) adds descriptors to its set through io_uring, and nothing of libc is
// called: seen on node 22.23 with kernel 6.x by `strace -e epoll_ctl,io_uring_enter node ...`. Then nobody would know
// that a write to the loop's eventfd wakes the thread in epoll_wait, and the wait would be blamed on outside input. The
// kernel tells the members in /proc/<pid>/fdinfo/<set>; the streaming thread reads it, never a thread of the program.
// Sets that are filled through epoll_ctl are never looked up, so a server's thousands of connections cost nothing here.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/os/fd_table.h"

namespace stallscope::agent {

// Out of line: a set that no epoll_ctl was seen on is waited on for the first time.
void NoteUnseenSet(int epoll_fd) noexcept;

// Program's threads, on the way into a wait: one load once the set is known.
inline void NoteEpollWait(int epoll_fd) noexcept {
  const FdEntry* entry = EntryOf(epoll_fd);
  if (entry == nullptr) return;
  const auto kind = static_cast<FdKind>(entry->kind_and_peer.load(std::memory_order_relaxed) & 0xff);
  if (__builtin_expect(kind != FdKind::kEpollSet && kind != FdKind::kUnseenEpollSet, 0)) NoteUnseenSet(epoll_fd);
}

// Program's threads, after an epoll_ctl that added a member: the set needs no looking up.
void NoteSeenSet(int epoll_fd) noexcept;

// For tests: notes the members listed in the text of an fdinfo file. Returns how many there were.
uint32_t NoteMembers(const char* fdinfo, int epoll_fd) noexcept;

}  // namespace stallscope::agent
