// The last flush of a process: before its exit handlers take CUDA down where that can be known, else as early as the
// loader lets us.
#include "agent/cupti/session.h"
#include "agent/entry/exports.h"
#include "agent/entry/lifecycle.h"

namespace stallscope::agent {
namespace {

// For a main that returns, whose exit handlers have run by now. Destructors of one library run in the reverse order of
// its objects, and this folder is linked after entry, whose destructor says goodbye.
__attribute__((destructor)) void OnUnload() { FinishCupti(); }

}  // namespace

STALLSCOPE_EXPORT(void, exit, (int status)) {
  FinishCupti();
  void* real = ResolveNext("exit", nullptr, "libc.so.6");
  reinterpret_cast<void (*)(int)>(real)(status);
  __builtin_unreachable();
}

}  // namespace stallscope::agent
