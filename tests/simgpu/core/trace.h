// What a tracer (the simulated CUPTI) sees: a table of hooks. While the table is absent the CUDA calls pay one relaxed
// load and nothing else.
//
// Hooks are called on the program's threads, inside the CUDA call, with no lock of the core held.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_TRACE_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_TRACE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "tests/simgpu/core/graph.h"
#include "tests/simgpu/core/timeline.h"

namespace simgpu {

enum class ApiDomain : uint8_t { kDriver, kRuntime };

// One API call of the program while somebody traces. Lives on the caller's stack.
struct ApiCall {
  ApiDomain domain;
  uint32_t cbid;       // CUPTI's number of the function
  const char* name;    // with version suffix, as CUPTI reports it
  const void* params;  // the toolkit's generated parameter struct; null for functions without parameters
  uint32_t correlation_id = 0;
  uint64_t begin_ns = 0;              // in the tracer's clock; 0: not recorded
  uint64_t correlation_data = 0;      // the subscriber's, kept from enter to exit
  const char* symbol_name = nullptr;  // kernel name, for launches
  uint32_t result = 0;                // cudaError_t or CUresult, at exit
  const void* result_address = nullptr;
};

// One operation of the device, with the span it will have or has.
struct Operation {
  const Work* work;
  Stream* stream;
  uint32_t correlation_id;
  uint64_t queued_ns;
  Span span;
  uint32_t graph_id = 0;
  uint64_t graph_node_id = 0;
};

struct GraphOperation {
  const GraphExec* exec;
  Stream* stream;
  uint32_t correlation_id;
  uint64_t queued_ns;
  Span span;
  const std::vector<Span>* node_spans;
};

// A context with a share of its device's multiprocessors.
struct GreenContext {
  uint32_t id, device, multiprocessors;
};

enum class WaitKind : uint8_t { kEvent, kStreamWaitsEvent, kStream, kContext };

struct Wait {
  WaitKind kind;
  uint32_t context_id;
  uint32_t stream_id;  // all ones: not a stream's
  uint32_t event_id;   // all ones: not an event's
  uint32_t correlation_id;
  uint64_t begin_ns, end_ns;
};

struct TraceHooks {
  void (*api_enter)(ApiCall* call);
  void (*api_exit)(ApiCall* call);
  void (*operation)(const Operation& operation);
  void (*graph)(const GraphOperation& operation);
  void (*wait)(const Wait& wait);
  void (*back_pressure)(uint64_t begin_ns, uint64_t end_ns);
  void (*stream_created)(Stream* stream);
  void (*kernel_loaded)(uint64_t begin_ns, uint64_t end_ns);  // at its first launch
  void (*green_context_created)(const GreenContext& context);
};

extern std::atomic<const TraceHooks*> trace_hooks;

inline const TraceHooks* Hooks() { return trace_hooks.load(std::memory_order_acquire); }

// The truth of the run (truth.h) wants each call, traced or not.
extern std::atomic<bool> calls_are_logged;
inline bool CallsAreWatched() {
  return trace_hooks.load(std::memory_order_relaxed) != nullptr || calls_are_logged.load(std::memory_order_relaxed);
}
// Whether somebody asked for one of the functions of state_queries.h.
extern std::atomic<bool> state_queries_are_traced;
inline bool StateQueriesAreWatched() {
  return state_queries_are_traced.load(std::memory_order_relaxed) || calls_are_logged.load(std::memory_order_relaxed);
}
// Whether a program or the truth wants to know how long the bodies of calls take.
extern std::atomic<bool> call_times_are_wanted;
// The simulation's time as a call's body begins, and the end of the call whose body began then.
uint64_t BeginOfBody();
void EndOfBody(const ApiCall& call, uint64_t begin_ns);

// Null ends tracing. The table must outlive the process: a call in flight may still use it.
void SetTraceHooks(const TraceHooks* hooks);

// The API call that this thread is in, outermost first; null while nobody traces.
ApiCall* CurrentCall();
void SetCurrentCall(ApiCall* call);
inline uint32_t CurrentCorrelationId() {
  const ApiCall* call = CurrentCall();
  return call == nullptr ? 0 : call->correlation_id;
}

// Wraps the body of one traced API function.
class ApiScope {
 public:
  ApiScope(ApiDomain domain, uint32_t cbid, const char* name, const void* params, const char* symbol_name = nullptr)
      : hooks_(Hooks()), outer_(CurrentCall()) {
    call_.domain = domain;
    call_.cbid = cbid;
    call_.name = name;
    call_.params = params;
    call_.symbol_name = symbol_name;
    if (hooks_ != nullptr) {
      // A driver call inside a runtime call carries the outer call's correlation id.
      if (outer_ != nullptr) call_.correlation_id = outer_->correlation_id;
      hooks_->api_enter(&call_);
      SetCurrentCall(&call_);
    }
    if (outer_ == nullptr && call_times_are_wanted.load(std::memory_order_relaxed)) body_begin_ns_ = BeginOfBody();
  }
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;
  ~ApiScope() {
    if (body_begin_ns_ != 0) EndOfBody(call_, body_begin_ns_);
    if (hooks_ == nullptr) return;
    SetCurrentCall(outer_);
    hooks_->api_exit(&call_);
  }

  template <typename Result>
  Result Return(Result result) {
    result_ = static_cast<uint32_t>(result);
    call_.result = result_;
    call_.result_address = &result_;
    return result;
  }

 private:
  const TraceHooks* const hooks_;
  ApiCall* const outer_;
  ApiCall call_{};
  uint64_t body_begin_ns_ = 0;
  uint32_t result_ = 0;
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_TRACE_H_
