// Whether this process's GPU work goes through MPS, and what follows.
//
// Under MPS a cooperative launch can hang while concurrent kernels are traced, so kernels are not traced there: neither when a
// context says so, nor while none has said anything and the MPS control daemon's pipe is there. The user can ask for kernels
// all the same (STALLSCOPE_MPS_KERNELS=1: "this program makes no cooperative launches").
#pragma once

#include "agent/cupti/activity_decoder.h"

namespace stallscope::agent {

// At set-up: the environment, and the pipe in the folder that the driver would look in. Makes one system call.
void LookForMps() noexcept;

// `said`: what the contexts say so far. Reports a change. Set-up thread, then the keeper.
bool KernelsMayBeTraced(ActivityDecoder::Mps said) noexcept;

}  // namespace stallscope::agent
