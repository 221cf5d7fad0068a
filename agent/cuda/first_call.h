// What happens at the first CUDA call of a process: the streaming thread starts, CUPTI is set up, the calls' names are
// reported.
//
// Never earlier: setting CUPTI up initialises CUDA, and a process that only links CUDA must stay able to fork workers
// that use it.
#pragma once

#include <atomic>

namespace stallscope::agent {

inline std::atomic<bool> g_first_cuda_call_done{false};
inline bool FirstCallDone() noexcept { return g_first_cuda_call_done.load(std::memory_order_acquire); }

// Runs the set-up once; other threads that come meanwhile go on at once, their calls carry no correlation id. errno
// kept. `may_ask_runtime`: false from within cuInit, for which the runtime may be waiting.
void FirstCudaCall(bool may_ask_runtime) noexcept;

// Whether the runtime that the hooks lead to is older than CUDA 13, in which some functions have another form. Asks it
// once, from a hook (never from a callback of CUPTI's); false where it does not say. errno kept.
bool RuntimeIsBefore13() noexcept;

}  // namespace stallscope::agent
