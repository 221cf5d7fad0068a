#include "tests/simgpu/core/trace.h"

#include "tests/simgpu/core/given_call.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

thread_local ApiCall* current_call = nullptr;

}  // namespace

std::atomic<const TraceHooks*> trace_hooks{nullptr};
std::atomic<bool> calls_are_logged{false};
std::atomic<bool> call_times_are_wanted{false};
std::atomic<bool> state_queries_are_traced{false};

uint64_t BeginOfBody() { return Simulator::Get().clock().NowNs(); }

void EndOfBody(const ApiCall& call, uint64_t begin_ns) {
  Simulator& simulator = Simulator::Get();
  const uint64_t end_ns = simulator.clock().NowNs();
  NoteCallDuration(end_ns - begin_ns);
  if (simulator.truth().enabled()) simulator.truth().AddCall(call.name, begin_ns, end_ns);
}

void SetTraceHooks(const TraceHooks* hooks) { trace_hooks.store(hooks, std::memory_order_release); }

ApiCall* CurrentCall() { return current_call; }
void SetCurrentCall(ApiCall* call) { current_call = call; }

}  // namespace simgpu
