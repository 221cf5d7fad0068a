// Which descriptors wake whom: the epoll set a descriptor is in, and the other end of a pipe or socket pair.
//
// Filled by the hooks that create descriptors, read by those that write to them. Process memory, so a forked child
// inherits what it inherits descriptors with. Descriptors made behind our back are "unknown", and so are those of open:
// only the kernel knows what lies behind a path. The streaming thread asks it (fd_kinds.h) once such a one is written to.
// Only a hint: a wrong entry costs a wrong wake edge, or a missing one.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/hot/waiters.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {

inline constexpr int kTrackedFds = 65536;

enum class FdKind : uint8_t {
  kUnknown = 0,     // a write may wake readers of the same descriptor, and others; `peer`: as of kAsked, or 0
  kEventFd,         // it does
  kPaired,          // a write wakes the other end, known as `peer`
  kSocket,          // the other end lies outside
  kEpollSet,        // its members came through epoll_ctl
  kUnseenEpollSet,  // some came another way (epoll_members.h)
  kAsked,           // unknown, and written to: the streaming thread is to say what it is. `peer`: how many more writes
                    // are recorded until it does
  kPipe,   // the other end is somewhere, or this very descriptor: named pipes, and pipes that we did not see made
  kQuiet,  // nobody waits at its other end: a file, a device
};

struct FdEntry {
  std::atomic<uint32_t> epoll_plus_one;
  std::atomic<uint32_t> kind_and_peer;  // FdKind in bits 0-7, peer in bits 8-31
};
extern FdEntry g_fd_table[kTrackedFds];

inline FdEntry* EntryOf(int fd) noexcept { return static_cast<unsigned>(fd) < kTrackedFds ? &g_fd_table[fd] : nullptr; }

// Until it is known what an unknown descriptor is, so many writes that were too short to be recorded as calls are recorded
// as what may have woken somebody: the first of a log file, all of what was opened as only a pipe is.
inline constexpr uint32_t kWritesInDoubt = 1000, kAllWrites = 0xffffff;

void SetFd(int fd, FdKind kind, int peer = 0) noexcept;
// After an open with these flags.
void NoteOpened(int fd, int flags) noexcept;
// After a dup.
void NoteCopied(int fd, int copy) noexcept;
void SetEpollSet(int fd, int epoll_fd) noexcept;
void ForgetFd(int fd) noexcept;

// The object that a write to `fd` wakes and somebody waits for; 0: none.
uint64_t WokenByWrite(int fd) noexcept;

}  // namespace stallscope::agent
