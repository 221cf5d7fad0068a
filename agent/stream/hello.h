// The frames that introduce and end a process.
#pragma once

#include "agent/stream/proto_writer.h"

namespace stallscope::agent {

// Field numbers of stallscope.v1.Frame.
enum FrameField : uint32_t {
  kFrameHello = 2,
  kFrameIntern = 3,
  kFrameBatch = 4,
  kFrameClock = 5,
  kFrameHealth = 6,
  kFrameControl = 7,
  kFrameState = 8,
  kFrameGoodbye = 9,
};

// Asks the loader. At set-up, and on the streaming thread with each hello: never from a hook in between, where a thread
// of the program may hold the loader's lock.
void LookForSimulatedGpu() noexcept;

// Each writes one length-prefixed frame; false when it does not fit.
bool WriteHello(ProtoWriter* writer, uint64_t reconnects, bool streaming) noexcept;
bool WriteGoodbye(ProtoWriter* writer, uint64_t now_ns, bool exec) noexcept;

}  // namespace stallscope::agent
