#include "agent/os/fd_kinds.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/entry/lifecycle.h"
#include "agent/hot/raw_syscall.h"
#include "agent/os/fd_table.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kMostAsked = 64;                   // between two rounds of the streaming thread
constinit std::atomic<int> g_asked[kMostAsked] = {};  // descriptor + 1
constinit std::atomic<bool> g_any_asked{false};

// Of the first thread's descriptor table: the streaming thread has one of its own, and self is the process.
void LinkPath(char* path, int fd) noexcept {
  constexpr char kFolder[] = "/proc/self/fd/";
  char digits[12];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) != 0);
  memcpy(path, kFolder, sizeof(kFolder) - 1);
  path += sizeof(kFolder) - 1;
  while (count > 0) *path++ = digits[--count];
  *path = '\0';
}

FdKind KindOf(int fd) noexcept {
  char path[32], link[32] = {};
  LinkPath(path, fd);
  struct stat status = {};
  if (RawSyscall(SYS_newfstatat, AT_FDCWD, AsArgument(path), AsArgument(&status), 0) != 0) return FdKind::kUnknown;
  if (S_ISFIFO(status.st_mode)) return FdKind::kPipe;
  if (S_ISSOCK(status.st_mode)) return FdKind::kSocket;
  constexpr char kEventFd[] = "anon_inode:[eventfd]";
  RawSyscall(SYS_readlinkat, AT_FDCWD, AsArgument(path), AsArgument(link), sizeof(link) - 1);
  return strcmp(link, kEventFd) == 0 ? FdKind::kEventFd : FdKind::kQuiet;
}

void AnswerAsked(uint64_t) noexcept {
  if (!g_any_asked.exchange(false, std::memory_order_acquire)) return;
  for (std::atomic<int>& asked : g_asked) {
    const int fd = asked.load(std::memory_order_relaxed) - 1;
    if (fd < 0) continue;
    asked.store(0, std::memory_order_release);  // first: what comes now is another question
    const FdKind kind = KindOf(fd);
    // Only what was asked about: closed, or made anew by a hook meanwhile, it is something else.
    FdEntry* entry = EntryOf(fd);
    uint32_t now = entry->kind_and_peer.load(std::memory_order_relaxed);
    while (static_cast<FdKind>(now & 0xff) == FdKind::kAsked &&
           !entry->kind_and_peer.compare_exchange_weak(now, static_cast<uint32_t>(kind), std::memory_order_relaxed)) {
    }
  }
}

}  // namespace

bool AskForKind(int fd) noexcept {
  for (std::atomic<int>& asked : g_asked) {
    int expected = 0;
    if (asked.load(std::memory_order_relaxed) == fd + 1) return true;
    if (!asked.compare_exchange_strong(expected, fd + 1, std::memory_order_acq_rel)) continue;
    AddStreamingRound(AnswerAsked);
    g_any_asked.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace stallscope::agent
