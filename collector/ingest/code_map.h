// Where the addresses of a process's stacks lie: stacks, modules and named code, as Intern frames told of them.
//
// Written by: ProcessStream. Read by: whoever shows stacks, through ProcessNames. Single thread. What comes from outside may be
// anything: every number is checked against its limit, memory against kMaxCodeMapBytes; what passes it is refused and counted.
// Nothing here refers to anything else by more than a range of addresses, so there are no cycles.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/ingest/id_table.h"

namespace stallscope::v1 {
class Intern;
}

namespace stallscope::ingest {

class CodeMap {
 public:
  static constexpr size_t kMaxBytes = 64u << 20;
  static constexpr int kMaxFrames = 256;
  static constexpr uint32_t kMaxModules = 1u << 16;
  static constexpr size_t kMaxCodes = 1u << 17;

  void Add(const v1::Intern& intern);

  // nullptr: never introduced. Stays valid.
  const StackInfo* Stack(StackId id) const;
  // The module that held the address in that generation; nullptr: none is known.
  const ModuleInfo* Module(uint64_t address, uint32_t generation) const;
  // The latest name of the code at the address, "" when it has none.
  std::string_view CodeName(uint64_t address) const;

  uint64_t refused() const { return refused_; }

 private:
  bool Afford(size_t bytes);

  IdTable<StackInfo*> stacks_;
  std::deque<StackInfo> kept_;
  std::deque<ModuleInfo> modules_;
  IdTable<ModuleInfo*> modules_by_id_;
  std::multimap<uint64_t, const ModuleInfo*> modules_by_begin_;
  uint64_t largest_module_ = 0;
  struct Code {
    uint64_t end;
    std::string name;
  };
  std::map<uint64_t, Code> codes_;  // by begin; they do not overlap
  size_t bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace stallscope::ingest
