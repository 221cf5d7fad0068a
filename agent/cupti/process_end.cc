// The last flush of a program that calls exit(): before its exit handlers, which take CUDA down. A main that returns
// runs those handlers first; its last flush comes with the agent's goodbye.
#include "agent/cupti/session.h"
#include "agent/entry/exports.h"
#include "agent/entry/lifecycle.h"

namespace stallscope::agent {

STALLSCOPE_EXPORT(void, exit, (int status)) {
  FinishCupti();
  void* real = ResolveNext("exit", nullptr, "libc.so.6");
  reinterpret_cast<void (*)(int)>(real)(status);
  __builtin_unreachable();
}

}  // namespace stallscope::agent
