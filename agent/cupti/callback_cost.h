// What CUPTI itself spends around one of our callbacks, which no clock of ours stands around.
//
// Measured in the process: a call that does nothing (cuDriverGetVersion, which needs no cuInit) is made with its callback
// off and on, on the keeper thread, some hundred times. The fastest of a few rounds counts, so that a busy
// machine does not. A call on a thread of the program may find colder caches: it is an estimate from below. Once for each
// subscription, some 50 us.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// Nanoseconds a callback (one of the two of a call); 0 when this library or driver cannot be measured.
uint32_t MeasureCallbackCost() noexcept;

// CUPTI's callback told us of a call that nobody asked for but the measurement.
void NoteUnlistedCallback() noexcept;

}  // namespace stallscope::agent
