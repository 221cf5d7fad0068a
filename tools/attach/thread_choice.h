// Which of the target's threads is borrowed: those that are parked in a call that may be interrupted, the best first.
//
// Those that were looked at and do not suit are not looked at again while they stand in the same call. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/attach/target_memory.h"
#include "tools/attach/waits_in_flight.h"

namespace stallscope::attach {

struct Candidate {
  int tid = 0, rank = 0;  // rank as InterruptionRank says
  ParkedCall call;
};

class ThreadChoice {
 public:
  // `libc`: a call must have been made by it. `pid` is also the number of the first thread.
  ThreadChoice(int pid, const MappedModule& libc) : pid_(pid), libc_(libc) {}

  std::vector<Candidate> Rank(const ParkedThreads& parked);
  void RuleOut(const Candidate& candidate, const std::string& why);
  // Why the last thread that did not suit did not; empty: there was none.
  const std::string& last_why() const { return last_why_; }

 private:
  const int pid_;
  const MappedModule libc_;
  std::string last_why_;
  ParkedThreads unfit_;  // where each was when it was ruled out
};

}  // namespace stallscope::attach
