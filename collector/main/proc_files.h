// What the kernel says about a process and its threads, from /proc (or a folder that looks like it, in tests).
//
// Stateless; any thread. Everything that a dying process makes unreadable comes back as nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stallscope {

struct ProcStat {
  char state = '?';     // 'R', 'S', 'Z' ...
  uint64_t cpu_ns = 0;  // user and system, of the whole process
  uint32_t threads = 0;
  uint64_t start_ticks = 0;  // clock ticks since boot
  std::string name;
};

struct ProcThreadTimes {
  uint64_t on_cpu_ns = 0, run_delay_ns = 0, runs = 0;  // /proc/PID/task/TID/schedstat
};

struct ProcThreadStatus {
  uint64_t voluntary_switches = 0, involuntary_switches = 0;
  std::string name;      // as it is now; the kernel escapes newlines and backslashes here
  uint32_t own_tid = 0;  // as the process itself sees it (its innermost pid namespace); 0: not said
};

class ProcFiles {
 public:
  explicit ProcFiles(std::string root = "/proc") : root_(std::move(root)) {}

  std::optional<ProcStat> Process(uint32_t pid) const;
  std::optional<ProcStat> Thread(uint32_t pid, uint32_t tid) const;
  std::vector<uint32_t> Threads(uint32_t pid) const;
  std::optional<ProcThreadTimes> ThreadTimes(uint32_t pid, uint32_t tid) const;
  std::optional<ProcThreadStatus> ThreadStatus(uint32_t pid, uint32_t tid) const;

  // Where a descriptor leads ("pipe:[4711]", a path); "" when it cannot be read.
  std::string DescriptorLink(uint32_t pid, uint32_t fd) const;
  // Whether the descriptor is a file of data or a disk; not a pipe that has a name, a terminal, or memory.
  bool IsDiskFile(uint32_t pid, uint32_t fd) const;
  // Device and inode of a descriptor that is a pipe with a name; "" when it is none.
  std::string NamedPipe(uint32_t pid, uint32_t fd) const;
  // Where a path of the process leads, from its folder if it is a relative one: the inode, 0 when it cannot be said.
  uint64_t InodeOfPath(uint32_t pid, const std::string& path) const;
  // The folder the process is in; "" when it cannot be read.
  std::string CurrentFolder(uint32_t pid) const;
  // A whole file by its path under the root, up to 4 MiB; "" when it cannot be read.
  std::string Text(const std::string& path) const;

  // The process with that start runs or could run again. A zombie whose other threads go on is alive.
  bool IsAlive(uint32_t pid, uint64_t start_ticks) const;

 private:
  const std::string root_;
};

}  // namespace stallscope
