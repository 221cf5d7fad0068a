#include "tests/simgpu/core/trace.h"

namespace simgpu {
namespace {

thread_local ApiCall* current_call = nullptr;

}  // namespace

std::atomic<const TraceHooks*> trace_hooks{nullptr};

void SetTraceHooks(const TraceHooks* hooks) { trace_hooks.store(hooks, std::memory_order_release); }

ApiCall* CurrentCall() { return current_call; }
void SetCurrentCall(ApiCall* call) { current_call = call; }

}  // namespace simgpu
