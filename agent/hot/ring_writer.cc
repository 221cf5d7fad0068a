// The ring writer: one record, one cache line, no lock, no shared counter, safe against the thread's own signal
// handlers.
#include "agent/hot/ring_writer.h"

#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

void Commit(const RecordFields& fields) noexcept {
  if (!ProcessRecords()) return;
  if (ThreadState* state = CurrentThread()) CommitTo(state, fields);
}

void CountShortWait() noexcept {
  if (ThreadState* state = CurrentThread()) CountShortWaitOf(state);
}

}  // namespace stallscope::agent
