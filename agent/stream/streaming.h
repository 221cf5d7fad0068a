// The connection to the collector, as the rest of the agent sees it.
//
// A process with one thread and no CUDA has no streaming thread: it says Hello{streaming: false} once, from the thread
// that sets the agent up, and leaves the connection open; the collector reads the memfd. Once there is a streaming
// thread, it alone talks. All functions keep errno and return whatever the collector does.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// Set-up, on the program's thread. Does nothing when there is no collector.
void SayHelloWithoutThread() noexcept;

// Starts the thread unless it runs. One pthread_create with all signals blocked.
void StartStreamingThread() noexcept;
bool StreamingStarted() noexcept;

// Ends the thread and waits for that; then goes on as a process without one. For a fork that must find no second
// thread.
void StopStreamingThread() noexcept;
// The same, and it never starts again in this process.
void LeaveStreamingForGood() noexcept;

// The process ends here on purpose, or becomes another program: what is recorded so far goes out, then Goodbye. Waits
// at most 200 ms for the streaming thread to do it.
void SayGoodbye(bool exec) noexcept;
// It did not: connect anew.
void ResumeAfterFailedExec() noexcept;

// Ends recording and streaming for good, as the collector's detach does: everything that AddDetach registered, the last
// records, goodbye. False: not done after `timeout_ns`. The calling thread is none of the agent's own.
bool DetachFromHere(uint64_t timeout_ns) noexcept;
// Takes "for good" back, once a detach is over.
bool ResumeAfterDetach(uint8_t level, bool stacks) noexcept;
bool HasDetached() noexcept;
bool ConnectedToCollector() noexcept;

// In a forked child, before it is set up again: the parent's thread and connection are none of ours.
void ForgetParentStream() noexcept;
// The same for the connection alone, as early as possible.
void CloseParentsConnection() noexcept;

}  // namespace stallscope::agent
