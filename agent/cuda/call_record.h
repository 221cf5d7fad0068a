// One record for each CUDA call, whoever saw it first: the interposed function, CUPTI's callback, or both.
//
// The interposed function opens a call, CUPTI's callback (on the same thread, inside the real function) adds the
// correlation id, and the function closes it: one kCudaCall record. Where no function of ours was called (a library
// with its own copy of the runtime, driver calls), the callback opens and closes the call itself. Calls that CUDA makes
// inside another call belong to the outer one and are not recorded.
//
// Threads: everything works on the calling thread's state alone. noexcept, errno kept, no lock, no allocation; the
// first CUDA call of a thread takes a state from a fixed pool (and makes one gettid).
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/cuda/call_table.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

// A call that is running; lives in the frame of the interposed function, or in the thread's state.
struct ActiveCall {
  uint64_t begin_ticks = 0;
  uint32_t correlation_id = 0;  // set by CUPTI's callback; 0: none came
  uint16_t callback_id = 0;  // CUPTI's runtime id where it differs from the table's (another version of the function)
  bool wait_published = false;
  bool loads = false;  // of class kModuleLoad
  SavedWait saved_wait;
};

// Opens a call of an interposed function. False: pass straight through and record nothing (recording is off, or this
// call is made by CUDA, CUPTI or the agent inside another). `object` is what the live view shows a blocked thread to
// wait for.
bool BeginCall(const CudaCallInfo& call, uint64_t object, ActiveCall* active) noexcept;

// Closes it. `result` is the cudaError_t; the arguments are read after the call.
void EndCall(const CudaCallInfo& call, ActiveCall* active, const CudaCallArguments& arguments, int32_t result) noexcept;

// CUPTI's callbacks, on the thread that makes the call. `parameters` as CUPTI gives them. Entering returns when the
// thread's outermost CUDA call began (ticks; 0: none is being recorded): reading the clock again would cost more than
// all else here.
uint64_t OnCallbackEnter(const CudaCallInfo& call, uint32_t correlation_id, const void* parameters) noexcept;
void OnCallbackExit(const CudaCallInfo& call, const void* parameters, int32_t result) noexcept;

// Graph launches so far and the time they took, as the program saw it. Any thread.
struct GraphLaunchTotals {
  uint64_t count, ticks;
};
GraphLaunchTotals ReadGraphLaunchTotals() noexcept;

// Whether the calling thread ever was in a CUDA call of the program.
bool ThreadMadeCudaCalls() noexcept;

// While one lives, CUDA calls and callbacks of this thread are the agent's own (CUPTI's set-up, questions to the
// runtime).
class OwnCudaCalls {
 public:
  OwnCudaCalls() noexcept;
  ~OwnCudaCalls() noexcept;
  OwnCudaCalls(const OwnCudaCalls&) = delete;
  OwnCudaCalls& operator=(const OwnCudaCalls&) = delete;

 private:
  void* saved_ = nullptr;
};

}  // namespace stallscope::agent
