// The agent's side of stallscope_step.h.
#include <errno.h>

#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

extern "C" __attribute__((visibility("default"))) void stallscope_report_step(uint64_t tokens) {
  namespace agent = stallscope::agent;
  namespace wire = stallscope::wire;
  if (!agent::Recording()) {
    if (agent::SharedHeader() != nullptr) return;
    const int saved_errno = errno;
    agent::EnsureSetUp();  // the first hook of a forked child
    errno = saved_errno;
  }
  agent::RecordFields fields;
  fields.begin = agent::Ticks();
  fields.argument = tokens;
  fields.kind = wire::RecordKind::kRange;
  fields.call = static_cast<uint16_t>(wire::RangeKind::kStepMarker);
  agent::Commit(fields);
}
