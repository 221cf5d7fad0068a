// The agent's life in a process, and what its folders tell each other about it.
//
// Set-up happens in the constructor (or at the first hooked call before it, whichever comes first): memfd, header,
// hello. The streaming thread starts when EnsureStreaming is called: by the pthread_create hook (the program has a
// second thread) or by agent/cuda at the first CUDA call. It is never started in the constructor.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// Sets the agent up once; later calls return at once. Async-signal-unsafe, never called from a signal handler's hook.
void EnsureSetUp() noexcept;

// The agent was loaded into a program that ran already (an injection, an attach): nothing is bound to its hooks. The
// constructor then leaves the set-up to InitializeInjection or stallscope_attach.
bool CameLate() noexcept;

// What `stallscope attach` asked for; before EnsureSetUp. `level_plus_one` 0: as the environment says, stacks too.
void SetAttachOrders(const char* socket_path, uint32_t level_plus_one, bool stacks) noexcept;
// The collector's socket that was asked for; empty: none.
const char* AttachedSocketPath() noexcept;
// This process was attached to: waits that were in flight then are not known to the agent.
bool WasAttached() noexcept;
// Why the agent is off, nullptr when it is not.
const char* WhyOff() noexcept;
// Recording, or not any more: the exported variable stallscope_agent_state (proto/wire/attach.h).
void SetAgentState(uint32_t state) noexcept;

// Starts the streaming thread if it is not running in this process. Called from program threads, at most once per
// process does it do anything (it then makes the system calls of one pthread_create with all signals blocked).
void EnsureStreaming() noexcept;

// A change worth a State frame (stallscope.v1.State.What); text may be nullptr. Any agent thread; rare.
void ReportState(uint32_t what, uint64_t value, const char* text) noexcept;

// The name of a CUDA callback id as its library says it, to be streamed as Intern.call_names. Rare: at CUPTI set-up for
// every call the agent records, or at first sight of an interposed call.
void ReportCallName(uint8_t domain, uint16_t call, const char* name) noexcept;

// Devices, for Intern.devices. uuid: 16 bytes or nullptr; the part's where the device is part of a GPU (MIG). Told again, the
// device is what it is told to be now.
struct DevicePart {
  bool mig = false;
  uint32_t gpu_instance = 0, compute_instance = 0;
};
void ReportDevice(uint32_t id, const char* name, const uint8_t* uuid, uint32_t multiprocessors, bool simulated,
                  const DevicePart& part = {}) noexcept;

// Contexts, for Intern.contexts; as devices.
struct ReportedContext {
  uint32_t id = 0, device = 0, multiprocessors = 0, parent = 0;
  bool mps = false, green = false;
};
void ReportContext(const ReportedContext& context) noexcept;

// What the program called something, for Intern.names. `kind`: stallscope.v1.Intern.Name.Kind. Any thread; rare.
inline constexpr uint32_t kNamedThread = 1, kNamedStream = 2, kNamedContext = 3, kNamedDevice = 4;
void ReportName(uint32_t kind, uint64_t value, const char* name) noexcept;

// Work of other folders on the streaming thread: called each round (every 5 to 100 ms), after the rings were drained.
// cupti: flush; check whether CUPTI was taken. At most 8 of them, registered before streaming starts or at any later
// time.
using StreamingRound = void (*)(uint64_t now_ns) noexcept;
void AddStreamingRound(StreamingRound round) noexcept;

// Called on the streaming thread when the collector changes the level (wire::Level as uint8_t).
using LevelChanged = void (*)(uint8_t level) noexcept;
void AddLevelChanged(LevelChanged changed) noexcept;

// What the collector said about cost (stallscope.v1.Control): the limit, and a window of node-level records that is
// wanted now (0: none); the window is taken by asking.
struct CostOrders {
  uint32_t limit_ppm, node_window_ms;
};
CostOrders TakeCostOrders() noexcept;

// The level in force is another than the one asked for: everybody who looks at the control word or the stream is to see
// it. Any agent thread.
void ShowLevel(uint8_t level, const char* why) noexcept;

// How far times of GPU records may be off, for Clock frames; 0: they come from our own clock. Any agent thread.
void SetGpuClockUncertainty(uint64_t uncertainty_ns) noexcept;

// What the cost governor does, for Health; as stallscope.v1.Health.Governor. Written by the keeper, read by the streaming
// thread, which may see a mixture of two for one report.
struct Governed {
  enum class Why : uint8_t { kAsAsked = 0, kLessDetail = 1, kNoGpuRecords = 2 };
  Why why;
  uint8_t asked_level;
  bool node_window;
  uint32_t cost_ppm, limit_ppm, callback_ns;  // limit 0: nothing is governed
};
void ShowGoverned(const Governed& governed) noexcept;

// Called before the process says goodbye, on the thread that ends it: `exec` false when it ends (exit, _exit, the last
// destructors), true before an exec, which may still fail. At most 8 of them; each must return soon. cupti: the last
// flush.
using BeforeGoodbye = void (*)(bool exec) noexcept;
void AddBeforeGoodbye(BeforeGoodbye before) noexcept;

// Called on the streaming thread when the collector detaches the agent for good, before recording ends. At most 8 of
// them; each must return soon. cupti: disable, flush, unsubscribe.
using DetachFunction = void (*)() noexcept;
void AddDetach(DetachFunction detach) noexcept;

// True in a child after fork (any kind): CUDA and CUPTI must not be touched by the agent any more in this process.
bool IsForkedChild() noexcept;

// Finds a function the program would have got without us: first definition after the agent in load order, then in any
// loaded module whose soname starts with `soname_prefix` (nullptr: none; "libcudart.so"). version nullptr: default. No
// dlsym, no malloc, no lock but the loader's own (dl_iterate_phdr). Returns nullptr when there is none.
void* ResolveNext(const char* name, const char* version, const char* soname_prefix) noexcept;

// A variable exported by any loaded module, the program first; nullptr when there is none or nothing was loaded since the
// last time somebody asked in vain.
const void* FindVariable(const char* name, uint64_t* bytes) noexcept;

// True when a module whose soname starts with the prefix is mapped.
bool ModuleLoaded(const char* soname_prefix) noexcept;

}  // namespace stallscope::agent
