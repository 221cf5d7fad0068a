// What `stallscope attach` and the agent say to each other inside the target's memory.
//
// The injector writes an AttachRequest into memory that it mapped in the target, has the target load the agent and call
// stallscope_attach or stallscope_detach with its address, and reads the answer out of it. Written by: tools/attach, then
// the agent. Both sides check `bytes`: an agent of another version answers kOtherVersion and does nothing.
// Thread: whichever the injector made the target run it on; the agent keeps no pointer into it.
#pragma once

#include <cstdint>

namespace stallscope::wire {

// How it went. The agent writes it last: what else it has to say is there when it is not kNone.
enum class AttachOutcome : uint32_t {
  kNone = 0,          // not answered (yet)
  kDone = 1,          // recording, or detached
  kAlready = 2,       // it was recording, or detached, before
  kRefused = 3,       // `why` says it; nothing was changed
  kOtherVersion = 4,  // `bytes` is not what this agent's release has; nothing was changed
};

// Order and answer in one.
struct AttachRequest {
  uint32_t bytes;           // sizeof(AttachRequest)
  uint32_t level_plus_one;  // wire::Level; 0: as the environment says, and `stacks` means nothing
  uint32_t stacks;          // 1: with stacks of blocking calls, from the start
  char socket_path[112];    // of the collector; empty: where the agent looks by itself
  // --- the agent's answer
  uint32_t outcome;            // AttachOutcome
  uint32_t modules;            // whose call slots were looked at
  uint32_t slots;              // that lead to the agent now, or led to it before a detach
  uint32_t modules_not_ready;  // still being loaded; the agent looks again
  uint32_t streaming;          // 1: the streaming thread runs; 0: the collector reads the shared memory
  uint32_t cuda;               // 1: CUDA was initialised already, CUPTI was asked for
  uint32_t connected;          // 1: a collector was there
  uint32_t own_thread;         // by the injector: 1: called on a thread made for this; 0: on one of the program
  char why[160];               // of kRefused; ASCII, NUL-terminated; empty: nothing to say
};
static_assert(sizeof(AttachRequest) == 316);

// The value of the agent's exported variable stallscope_agent_state.
enum class AgentState : uint32_t {
  kNotSetUp = 0,   // loaded, and nobody has asked it to begin
  kRecording = 1,  // at whatever level, level off too
  kDetached = 2,   // an attach makes it record again
  kOff = 3,        // it cannot record in this process, and will not
};

}  // namespace stallscope::wire
