#include "agent/os/epoll_members.h"

#include <string.h>

#include "agent/entry/lifecycle.h"
#include "agent/entry/proc_files.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kMostSets = 16;  // event loops of a process; more stay unknown
constexpr uint64_t kFirstLookAgainNs = 20'000'000, kLookAgainNs = 1'000'000'000;
constexpr uint32_t kFdinfoBytes = 16 * 1024;  // some 200 members; a longer list is read once and no more

struct UnseenSet {
  std::atomic<int> fd_plus_one;
  uint64_t next_look_ns, interval_ns;  // streaming thread only
};
constinit UnseenSet g_sets[kMostSets] = {};
char g_fdinfo[kFdinfoBytes];  // streaming thread only

// "/proc/self/fdinfo/<fd>". Of the first thread's descriptor table: the streaming thread has one of its own, and self
// is the process.
void FdinfoPath(char* path, int fd) noexcept {
  char digits[12];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) != 0);
  memcpy(path, "/proc/self/fdinfo/", 18);
  for (int i = 0; i < count; ++i) path[18 + i] = digits[count - 1 - i];
  path[18 + count] = '\0';
}

FdKind KindOf(const FdEntry* entry) noexcept {
  return static_cast<FdKind>(entry->kind_and_peer.load(std::memory_order_relaxed) & 0xff);
}

void LookAtSets(uint64_t now_ns) noexcept {
  for (UnseenSet& set : g_sets) {
    const int fd = set.fd_plus_one.load(std::memory_order_acquire) - 1;  // pairs with NoteUnseenSet's exchange
    if (fd < 0 || now_ns < set.next_look_ns) continue;
    char path[32];
    FdinfoPath(path, fd);
    const long bytes = KindOf(EntryOf(fd)) == FdKind::kUnseenEpollSet ? ReadSmallFile(path, g_fdinfo, kFdinfoBytes) : 0;
    const uint32_t members = bytes > 0 ? NoteMembers(g_fdinfo, fd) : 0;
    if (bytes <= 0 || bytes >= static_cast<long>(kFdinfoBytes - 1)) {  // closed, seen after all, or too long a list
      set.next_look_ns = set.interval_ns = 0;
      set.fd_plus_one.store(0, std::memory_order_release);
      continue;
    }
    // Often while the loop is being set up, then now and then.
    const bool settled = members != 0 && set.interval_ns != 0;
    set.interval_ns = settled ? kLookAgainNs : kFirstLookAgainNs;
    set.next_look_ns = now_ns + set.interval_ns;
  }
}

}  // namespace

void NoteUnseenSet(int epoll_fd) noexcept {
  SetFd(epoll_fd, FdKind::kUnseenEpollSet);
  for (UnseenSet& set : g_sets) {
    int expected = 0;
    if (set.fd_plus_one.load(std::memory_order_relaxed) == epoll_fd + 1) return;
    if (set.fd_plus_one.compare_exchange_strong(expected, epoll_fd + 1, std::memory_order_acq_rel)) {
      AddStreamingRound(LookAtSets);
      return;
    }
  }
}

void NoteSeenSet(int epoll_fd) noexcept {
  const FdEntry* entry = EntryOf(epoll_fd);
  if (entry != nullptr && KindOf(entry) != FdKind::kEpollSet) SetFd(epoll_fd, FdKind::kEpollSet);
}

uint32_t NoteMembers(const char* fdinfo, int epoll_fd) noexcept {
  uint32_t members = 0;
  for (const char* line = fdinfo; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, "tfd:", 4) != 0) continue;
    const char* digit = line + 4;
    while (*digit == ' ') ++digit;
    uint32_t fd = 0;
    bool any = false;
    for (; *digit >= '0' && *digit <= '9' && fd < kTrackedFds; ++digit, any = true) {
      fd = fd * 10 + static_cast<uint32_t>(*digit - '0');
    }
    if (!any || *digit == '\0') break;  // cut in the middle of a number
    SetEpollSet(static_cast<int>(fd), epoll_fd);
    ++members;
  }
  return members;
}

}  // namespace stallscope::agent
