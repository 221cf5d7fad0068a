#include "agent/entry/lifecycle.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <atomic>

#include "agent/entry/early_calls.h"
#include "agent/entry/log.h"
#include "agent/entry/proc_files.h"
#include "agent/entry/process_memory.h"
#include "agent/entry/real_calls.h"
#include "agent/entry/shared_memory.h"
#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"
#include "agent/os/python_lock.h"
#include "agent/stacks/stacks.h"
#include "agent/stream/hello.h"
#include "agent/stream/streaming.h"
#include "proto/wire/attach.h"

namespace stallscope::agent {
namespace {

enum SetUpState : uint32_t { kFresh, kBusy, kReady, kOff };
constinit std::atomic<uint32_t> g_set_up{kFresh};
constinit bool g_forked_child = false;
constinit uint32_t g_epoch_count = 0;
constinit SharedMemory g_memory = {};
constinit OwnFd g_memfd = {};
constinit bool g_has_sanitizer_thread = false;
constinit const char* g_why_off = nullptr;
// From `stallscope attach`.
constinit char g_attached_socket[112] = {};
constinit uint32_t g_attached_level_plus_one = 0;
constinit bool g_attached_stacks = false;
constinit bool g_was_attached = false;

bool EpochIsZero() noexcept { return g_epoch->epoch.load(std::memory_order_acquire) == 0; }

void ApplyEnvironment(wire::Header* header) noexcept {
  uint32_t level = static_cast<uint32_t>(wire::Level::kBudget);
  bool stacks = false;
  if (const char* text = STALLSCOPE_REAL(getenv)("STALLSCOPE_LEVEL")) {
    if (strcmp(text, "off") == 0) level = static_cast<uint32_t>(wire::Level::kOff);
    if (strcmp(text, "kernels") == 0) level = static_cast<uint32_t>(wire::Level::kKernels);
    if (strcmp(text, "nodes") == 0) level = static_cast<uint32_t>(wire::Level::kNodes);
    stacks = strcmp(text, "stacks") == 0;
  }
  header->control.store(level | (level != 0 ? wire::kControlRecording : 0) | (stacks ? wire::kControlStacks : 0),
                        std::memory_order_relaxed);
  if (const char* text = STALLSCOPE_REAL(getenv)("STALLSCOPE_STACK_THRESHOLD_NS")) {
    SetStackThreshold(strtoul(text, nullptr, 10));
  }
  if (const char* text = STALLSCOPE_REAL(getenv)("STALLSCOPE_WAIT_THRESHOLD_NS")) {
    header->wait_threshold_ns.store(static_cast<uint32_t>(strtoul(text, nullptr, 10)), std::memory_order_relaxed);
  }
  if (g_attached_level_plus_one > 1) {
    header->control.store(
        (g_attached_level_plus_one - 1) | wire::kControlRecording | (g_attached_stacks ? wire::kControlStacks : 0),
        std::memory_order_relaxed);
  }
}

bool MakeMemory() noexcept {
  SharedMemory memory;
  if (const char* why = CreateSharedMemory(MonotonicNs(), &memory)) {
    Log("not tracing this process:", why);
    g_why_off = why;
    return false;
  }
  StartClock(memory.header, g_epoch_count == 0 ? TscIsTrustworthy() : g_use_tsc);
  if (g_epoch_count == 0) {
    ApplyEnvironment(memory.header);
  } else {
    // A child goes on with what the parent was told.
    memory.header->control.store(g_memory.header->control.load(std::memory_order_relaxed), std::memory_order_relaxed);
    memory.header->wait_threshold_ns.store(g_memory.header->wait_threshold_ns.load(std::memory_order_relaxed),
                                           std::memory_order_relaxed);
  }
  g_memory = memory;
  g_memfd = OwnFdOf(memory.fd);
  UseSharedMemory(memory, ++g_epoch_count);
  return true;
}

void SetUpFirstTime() noexcept {
  ResolveRealCalls();
  g_has_sanitizer_thread = ModuleLoaded("libtsan.so");
  // A setuid program does not take orders from its caller's environment, and neither do we.
  if (getauxval(AT_SECURE) != 0 || !CreateEpochPage() || !MakeMemory()) {
    if (g_why_off == nullptr) g_why_off = "a privileged program, or a kernel before 4.14";
    SetAgentState(static_cast<uint32_t>(wire::AgentState::kOff));
    g_set_up.store(kOff, std::memory_order_release);
    return;
  }
  LookForSimulatedGpu();
  LookForPython();
  g_set_up.store(kReady, std::memory_order_release);
  SetAgentState(static_cast<uint32_t>(wire::AgentState::kRecording));
  Log("recording, threshold ns", nullptr, g_header->wait_threshold_ns.load(std::memory_order_relaxed));
  SayHelloWithoutThread();
}

// A child of fork, whichever way it was made: a new process with its own memory, identity and connection.
void BeReborn() noexcept {
  g_forked_child = true;
  ForgetStacks(/*forked=*/true);
  const SharedMemory parents = g_memory;
  CloseOwn(&g_memfd);
  ForgetParentStream();
  const bool made = MakeMemory();
  g_set_up.store(made ? kReady : kOff, std::memory_order_release);
  if (!made) {
    // The hooks keep finding epoch 0 and static tables; the parent's memory must not be read any more.
    g_header = &g_no_header;
    g_waiters = g_no_waiters;
  }
  UnmapSharedMemory(parents);
  if (made) SayHelloWithoutThread();
}

__attribute__((constructor)) void OnLoad() {
  if (!CameLate()) EnsureSetUp();
}

__attribute__((destructor)) void OnUnload() { SayGoodbye(/*exec=*/false); }

}  // namespace

// Read by the injector from outside.
extern "C" {
__attribute__((visibility("default"))) constinit std::atomic<uint32_t> stallscope_agent_state{0};
}

void SetAgentState(uint32_t state) noexcept { stallscope_agent_state.store(state, std::memory_order_release); }

void SetAttachOrders(const char* socket_path, uint32_t level_plus_one, bool stacks) noexcept {
  strncpy(g_attached_socket, socket_path, sizeof(g_attached_socket) - 1);
  g_attached_level_plus_one = level_plus_one;
  g_attached_stacks = stacks;
  g_was_attached = true;
}
const char* AttachedSocketPath() noexcept { return g_attached_socket; }
bool WasAttached() noexcept { return g_was_attached; }
const char* WhyOff() noexcept { return IsOff() ? g_why_off : nullptr; }

const OwnFd& SharedMemoryFd() noexcept { return g_memfd; }

bool HasSanitizerThread() noexcept { return g_has_sanitizer_thread; }

bool IsThisProcess() noexcept {
  return !EpochIsZero() && !g_confined.load(std::memory_order_relaxed) &&
         g_header->pid == static_cast<uint32_t>(RawSyscall(SYS_getpid));
}

void EnsureSetUp() noexcept {
  uint32_t state = g_set_up.load(std::memory_order_acquire);
  if (state == kReady && !EpochIsZero()) return;
  if (state != kFresh && state != kReady) return;
  if (!IsRelocated()) return;  // the constructor is still to come
  // A hook of a signal handler, or of another thread, that comes by meanwhile sees kBusy and passes through.
  if (!g_set_up.compare_exchange_strong(state, kBusy, std::memory_order_acquire)) return;
  InsideAgent guard;
  if (state == kFresh) {
    SetUpFirstTime();
  } else {
    BeReborn();
  }
}

bool IsUnbornChild() noexcept { return g_set_up.load(std::memory_order_relaxed) == kReady && EpochIsZero(); }

bool IsForkedChild() noexcept { return g_forked_child || IsUnbornChild(); }

bool IsOff() noexcept { return g_set_up.load(std::memory_order_relaxed) == kOff; }

void EnsureStreaming() noexcept {
  if ((StreamingStarted() && !EpochIsZero()) || g_confined.load(std::memory_order_relaxed)) return;
  EnsureSetUp();
  if (EpochIsZero()) return;
  InsideAgent guard;
  // A daemon that closed every descriptor closed the memfd too, and no collector could get it any more: make another.
  // What is mapped of the old one stays, since a thread made behind our back may be writing to it.
  if (g_set_up.load(std::memory_order_relaxed) == kReady && !StillOurs(g_memfd)) {
    ForgetStacks(/*forked=*/false);
    if (MakeMemory()) SayHelloWithoutThread();
  }
  StartStreamingThread();
}

}  // namespace stallscope::agent
