// Before a buffer of GPU records is decoded: room for them in the ring of the thread that does it.
//
// Decoding is ten times faster than a record may be written by the GPU, so buffers that were handed over late come in a
// burst that a ring cannot hold. CUPTI's buffers are the larger reserve: the thread that decodes (the agent's own or
// CUPTI's worker, never one of the program's) waits until the streaming thread has taken enough out. It waits for at most
// 100 ms a buffer, and not at all where nothing has been taken out in the last one: without a collector the oldest records
// go, as everywhere.
#pragma once

#include <cstdint>

namespace stallscope::agent {

void WaitForRingRoom(uint64_t records) noexcept;

}  // namespace stallscope::agent
