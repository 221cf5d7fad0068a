// Descriptors of our own inside somebody else's process.
//
// Kept at high numbers, close-on-exec, and remembered by identity: a program may close them (closefrom) and get the
// number for a file of its own, into which we must never write.
#pragma once

#include <cstdint>

namespace stallscope::agent {

inline constexpr int kFirstOwnFd = 100;

// Moves a fresh descriptor to a number >= kFirstOwnFd; closes the old one. -1: no such number (RLIMIT_NOFILE).
int MoveFdHigh(int fd) noexcept;

struct OwnFd {
  int fd = -1;
  uint64_t device = 0, inode = 0;
};

// Remembers what the descriptor is now.
OwnFd OwnFdOf(int fd) noexcept;

// Is it still what it was?
bool StillOurs(const OwnFd& own) noexcept;

// Closes it if it is still ours.
void CloseOwn(OwnFd* own) noexcept;

}  // namespace stallscope::agent
