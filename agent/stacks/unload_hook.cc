// dlclose: counted before and after, so that no stack is taken while a module goes, and none taken before is read by the
// map of modules after it. Unloads that do not come by here (the C library's own modules) are found a round later, by the
// loader's count (module_map.cc).
#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/stacks/stack_state.h"

namespace stallscope::agent {

STALLSCOPE_EXPORT(int, dlclose, (void* handle)) {
  auto* real = STALLSCOPE_REAL(dlclose);
  g_unloads_begun.fetch_add(1, std::memory_order_seq_cst);
  const int result = real(handle);
  g_unloads_ended.fetch_add(1, std::memory_order_seq_cst);
  return result;
}

}  // namespace stallscope::agent
