#include "agent/hot/current_wait.h"

namespace stallscope::agent {

SavedWait BeginWait(wire::RecordKind kind, uint16_t call, uint64_t object, uint64_t begin_ticks) noexcept {
  ThreadState* state = CurrentThread();
  return state != nullptr ? ReplaceWait(state, kind, call, object, begin_ticks) : SavedWait{};
}

void EndWait(const SavedWait& saved) noexcept {
  if (ThreadState* state = CurrentThread()) RestoreWait(state, saved);
}

}  // namespace stallscope::agent
