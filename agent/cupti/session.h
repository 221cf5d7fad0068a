// The agent's use of CUPTI in this process: found, subscribed, enabled by level, flushed, given up when another tool
// holds it.
//
// CUPTI has one subscriber a process and no way to share; the agent takes it when it is free, says so when it is not,
// tries again every second, and never calls cuptiFinalize (it stops every other user of CUPTI and has crashed
// processes).
#pragma once

#include <cstdint>

#include "proto/wire/calls.h"

namespace stallscope::agent {

// Finds the process's libcupti, subscribes and enables what the level asks for. Once, from the first CUDA call; reports
// the outcome as a state. The caller has marked the thread with InsideAgent and OwnCudaCalls.
void SetUpCupti() noexcept;

// The process is about to end: gets what CUPTI has, once, and never calls it again. Waits at most 100 ms.
void FinishCupti() noexcept;

// The name of a callback id in the library's own spelling; nullptr without a library or for an id it does not know.
const char* CuptiCallName(wire::CudaDomain domain, uint16_t callback_id) noexcept;

}  // namespace stallscope::agent
