// The agent's side of stallscope_marker.h.
#include "agent/entry/exports.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

STALLSCOPE_EXPORT(void, stallscope_step_v1, (unsigned tokens)) {
  Commit({.begin = Ticks(),
          .argument = tokens,
          .kind = wire::RecordKind::kRange,
          .call = static_cast<uint16_t>(wire::RangeKind::kStepMarker)});
}

}  // namespace stallscope::agent
