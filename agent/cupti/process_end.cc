// The last flush of a program that calls exit(): before its exit handlers, which take CUDA down. A main that returns
// runs those handlers first; its last flush comes with the agent's goodbye.
#include "agent/cupti/session.h"
#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"

namespace stallscope::agent {

STALLSCOPE_EXPORT(void, exit, (int status)) {
  auto* real = STALLSCOPE_REAL(exit);
  FinishCupti();
  real(status);
  __builtin_unreachable();
}

}  // namespace stallscope::agent
