// Whether streams are being captured into graphs: work enqueued then runs later, if at all, so no GPU record will come
// for it.
//
// Any thread. The runtime is asked (cudaStreamIsCapturing) only while at least one capture is known to run.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/cuda/call_table.h"

namespace stallscope::agent {

inline std::atomic<int32_t> g_captures_running{0};

inline bool CapturesRunning() noexcept { return g_captures_running.load(std::memory_order_relaxed) > 0; }

// Keeps the count, and which streams are captured: looks at every call's end.
void NoteCapture(const CudaCallInfo& call, int32_t result, const CudaCallArguments& arguments) noexcept;

// As far as begins of captures, events and waits for them tell; asks nobody, so in CUPTI's callbacks too.
bool StreamIsKnownToCapture(uint64_t stream) noexcept;

// Only from an interposed function, after the real call: never in CUPTI's callbacks, where CUDA must not be called. The
// legacy default stream cannot be captured, and asking about it during a capture would set an error that the program
// could read.
bool StreamIsCapturing(uint64_t stream) noexcept;

}  // namespace stallscope::agent
