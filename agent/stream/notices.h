// What other agent threads want said: states, names of CUDA calls, devices. Kept until the streaming thread has sent
// it.
//
// Bounded tables under one spin lock; rare. States are sent once; names and devices again on each connection.
#pragma once

#include <cstdint>

#include "agent/stream/proto_writer.h"

namespace stallscope::agent {

// Appends Intern and State frames for what is new. False: no room, nothing was taken.
bool WriteNotices(ProtoWriter* out) noexcept;

// A new connection: names and devices must go out again.
void RepeatNotices() noexcept;

// A forked child has nothing to say about its parent's devices.
void ForgetNotices() noexcept;

}  // namespace stallscope::agent
