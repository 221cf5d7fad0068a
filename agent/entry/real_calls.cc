#include "agent/entry/real_calls.h"

#include "agent/entry/early_calls.h"
#include "agent/entry/lifecycle.h"

namespace stallscope::agent {

constinit RealCalls g_real = {};

extern "C" {
void* stallscope_real_syscall = nullptr;
}

namespace {

template <typename Function>
void Resolve(Function* slot, const char* name, const char* version) noexcept {
  if (void* found = ResolveNext(name, version, nullptr)) *slot = reinterpret_cast<Function>(found);
}

}  // namespace

void ResolveRealCalls() noexcept {
  if (!IsRelocated() && !RelocateEarly()) return;
#define STALLSCOPE_X(type, name, parameters, version) Resolve(&g_real.name, #name, version);
  STALLSCOPE_REAL_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#define STALLSCOPE_X(type, field, symbol, parameters)             \
  Resolve(&g_real.condition_2_2_5.field, #symbol, "GLIBC_2.2.5"); \
  Resolve(&g_real.condition_2_3_2.field, #symbol, "GLIBC_2.3.2");
  STALLSCOPE_REAL_CONDITIONS(STALLSCOPE_X)
#undef STALLSCOPE_X
  // An architecture or a C library without the old condition variables has one kind of them.
  if (g_real.condition_2_2_5.wait == nullptr) g_real.condition_2_2_5 = g_real.condition_2_3_2;
  ResolveTimedCalls();
  stallscope_real_syscall = reinterpret_cast<void*>(g_real.syscall);
}

}  // namespace stallscope::agent
