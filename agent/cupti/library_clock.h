// CUPTI's clock against ours, where the library takes no timestamp callback (before CUDA 11.6).
#pragma once

#include <cstdint>

#include "agent/cupti/cupti_interface.h"

namespace stallscope::agent {

// What to add to the library's timestamps to get CLOCK_MONOTONIC, from the tightest of a few bracketed readings. About
// 0.5 us.
int64_t LibraryClockOffset(CuptiInterface* cupti) noexcept;

}  // namespace stallscope::agent
