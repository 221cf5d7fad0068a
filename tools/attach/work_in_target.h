// What a borrowed thread is made to do: the memory that is mapped in the target for it, the injected code in there, and
// the answer that is read out of it.
//
// A process that has several threads gets one more for the work, on which it happens while the borrowed one is back
// already; a process of one thread does it on that. One use, from the injector's one thread. Where it fails, the memory
// stays in the target only if somebody may be in it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/wire/attach.h"
#include "tools/attach/injected_code.h"
#include "tools/attach/target_functions.h"
#include "tools/attach/tracee.h"
#include "tools/attach/undertaking.h"

namespace stallscope::attach {

// What the data page says when the work is over. `error_text`: the loader's, where it failed.
absl::Status JudgeAnswer(const InjectedData& data, const std::string& error_text, const Undertaking& undertaking);

class WorkInTarget {
 public:
  // `data`: what is asked of the agent, the rest of it 0. `way_back_at`: of the borrowed thread; 0: it has none.
  WorkInTarget(Undertaking undertaking, const TargetFunctions& functions, uint64_t way_back_at, bool own_thread,
               const InjectedData& data);

  // On the stopped thread, which the caller puts back afterwards, whatever comes out of this.
  absl::Status Begin(Tracee* thread);
  // After the borrowed thread went on: waits for the thread of the work, if there is one, and reads what came of it.
  absl::Status Finish(wire::AttachRequest* answer);

 private:
  uint64_t DataAt() const { return region_ + kPageBytes; }
  void FillIn(const InjectedCode& code, uint64_t extended_at);
  absl::Status RunInRegion(Tracee* thread, bool* may_unmap);
  absl::Status WaitForThread();
  void ReadData();
  void Tell(size_t offset) const;  // writes 1 to a field of the data

  const Undertaking undertaking_;
  const TargetFunctions functions_;
  const uint64_t way_back_at_;
  const bool own_thread_;
  InjectedData data_;
  uint64_t region_ = 0;
  std::string error_text_;
};

}  // namespace stallscope::attach
