// Names of code that no file holds: found in the map files that interpreters and compilers write for perf, for the addresses
// that stand in stacks, and said in frames (Intern.Code) that go to the analysis and the capture alike.
//
// The file is /tmp/perf-PID.map of the process's own file system and pid namespace; a line is "begin bytes name", in
// hexadecimal, and lines are only added. Read on from where the last look ended. Single thread. Foreign data: only a regular
// file of the process's user is read, never through a symbolic link, up to kMostNames lines.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "collector/base/event.h"

namespace stallscope::v1 {
class Intern;
}

namespace stallscope {

class JitNames {
 public:
  static constexpr size_t kMostNames = 1 << 19, kMostWanted = 1 << 16;

  // `root`: of the process's file system ("/proc/4711/root", or "" for ours); `own_pid`: as the process sees it.
  JitNames(std::string root, uint32_t own_pid, uint32_t uid);

  // Remembers the frames that lie in no module. True: there is something new to look up.
  bool OnStacks(const v1::Intern& intern, const ProcessNames& names);
  // Adds what the file says about them to `found`.
  void LookUp(v1::Intern* found);

 private:
  void ReadOn();
  void TakeLine(std::string_view line);

  const std::string root_, path_;
  const uint32_t uid_;
  off_t read_until_ = 0;
  std::string cut_line_;
  struct Code {
    uint64_t bytes;
    std::string name;
  };
  std::map<uint64_t, Code> codes_;
  absl::flat_hash_set<uint64_t> wanted_, said_;  // return addresses; begins of code
};

}  // namespace stallscope
