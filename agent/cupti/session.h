// The agent's use of CUPTI in this process: found, subscribed, enabled by level, flushed, given up when another client
// needs it, taken back when that is done.
//
// CUPTI's process-wide interface has one client and no way to share; the agent takes it when it is free, says so when it
// is not, tries again every second, and never calls cuptiFinalize unless the user asked for that (it stops every other
// user of CUPTI and has crashed processes).
#pragma once

#include <cstdint>

#include "proto/wire/calls.h"

namespace stallscope::agent {

// Finds the process's libcupti, subscribes and enables what the level asks for. Once, from the first CUDA call; reports
// the outcome as a state. The caller has marked the thread with InsideAgent and OwnCudaCalls.
void SetUpCupti() noexcept;

// The process is about to end: gets what CUPTI has, once, and never calls it again. Waits at most 100 ms.
void FinishCupti() noexcept;

// After a detach: CUPTI is taken again, when it was not given up for good. The caller has marked the thread as for
// SetUpCupti.
void ReopenCupti() noexcept;

// Another client is about to use CUPTI: lets go of it. When this returns (usually some 150 ms, at most 500 ms later), nothing of ours is
// enabled or subscribed, and CUPTI's settings are as they were. `client`: its name, for people. Any thread.
void YieldCupti(const char* client) noexcept;

// The agent holds a subscription that others may share.
bool CuptiIsShared() noexcept;

// The name of a callback id in the library's own spelling; nullptr without a library or for an id it does not know.
const char* CuptiCallName(wire::CudaDomain domain, uint16_t callback_id) noexcept;

}  // namespace stallscope::agent
