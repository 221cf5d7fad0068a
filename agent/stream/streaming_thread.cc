// The streaming thread's life: started, told to stop or to say goodbye, gone in a forked child.
//
// The thread takes a descriptor table of its own where the kernel can (Linux 5.9): its socket and its memfd are then
// out of reach of the program's closefrom, take no number the program could see, and are not inherited by the program's
// children.
#include <linux/close_range.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>

#include "agent/entry/lifecycle.h"
#include "agent/entry/log.h"
#include "agent/entry/proc_files.h"
#include "agent/entry/process_memory.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"
#include "agent/stream/hello.h"
#include "agent/stream/level.h"
#include "agent/stream/notices.h"
#include "agent/stream/streamer.h"
#include "agent/stream/streaming.h"
#include "proto/wire/attach.h"

namespace stallscope::agent {
namespace {

enum ThreadState32 : uint32_t { kNone, kStarting, kRunning, kEnded };
enum Request : uint32_t { kNothing, kStop, kGoodbyeExit, kGoodbyeExec, kResume, kDetach };

constinit std::atomic<uint32_t> g_thread_state{kNone};
constinit std::atomic<uint32_t> g_request{kNothing};  // futex: the thread sleeps on it where it cannot be rung for
constinit std::atomic<uint32_t> g_done{0};            // futex: counts requests carried out
constinit pthread_t g_thread = {};
constinit long g_tid = 0;
constinit Streamer g_streamer = {};
constinit Connection g_quiet_connection = {};  // in the program's descriptor table, while there is no thread
constinit uint64_t g_hellos = 0;
constinit std::atomic<bool> g_said_goodbye{false};
constinit std::atomic<bool> g_detached{false};
constinit std::atomic<bool> g_no_more{false};  // the first thread has left
constinit bool g_own_table = false;            // the thread's descriptors are not the program's

constexpr uint64_t kShortestNs = 5'000'000, kLongestNs = 100'000'000;
constexpr uint32_t kFillingUp = 400, kHasRoom = 200;  // thousandths of a ring
constexpr uint64_t kGoodbyeNs = 200'000'000;
constexpr uint64_t kHandOverNs = 5'000'000;
constexpr uint64_t kAloneCheckNs = 250'000'000;

void FutexWait(std::atomic<uint32_t>* word, uint32_t value, uint64_t timeout_ns) noexcept {
  const timespec timeout = {static_cast<time_t>(timeout_ns / 1'000'000'000u),
                            static_cast<long>(timeout_ns % 1'000'000'000u)};
  RawSyscall(SYS_futex, AsArgument(word), FUTEX_WAIT_PRIVATE, value, AsArgument(&timeout));
}

void FutexWake(std::atomic<uint32_t>* word) noexcept {
  RawSyscall(SYS_futex, AsArgument(word), FUTEX_WAKE_PRIVATE, INT32_MAX);
}

// A descriptor table without anything of the program's, and the two descriptors the thread needs in it.
void TakeOwnDescriptorTable(OwnFd* memory_fd, Connection* connection) noexcept {
  *memory_fd = SharedMemoryFd();
  *connection = g_quiet_connection;
  const int socket = g_quiet_connection.fd();
  const long pid = RawSyscall(SYS_getpid);
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd) && defined(SYS_close_range)
  // Trying first that the way back works: an empty table without a memfd would be the end.
  const long probe = RawSyscall(SYS_pidfd_open, pid, 0);
  if (probe < 0) return;
  const long copy = RawSyscall(SYS_pidfd_getfd, probe, memory_fd->fd, 0);
  RawSyscall(SYS_close, probe);
  if (copy < 0) return;
  RawSyscall(SYS_close, copy);
  if (RawSyscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) != 0) return;
  const long self = RawSyscall(SYS_pidfd_open, pid, 0);
  g_own_table = true;
  // High numbers here too: 0 to 2 must not become anything that somebody writes a message to.
  *memory_fd = OwnFdOf(MoveFdHigh(static_cast<int>(RawSyscall(SYS_pidfd_getfd, self, memory_fd->fd, 0))));
  if (socket >= 0) connection->Use(MoveFdHigh(static_cast<int>(RawSyscall(SYS_pidfd_getfd, self, socket, 0))));
  RawSyscall(SYS_close, self);
#endif
}

// The leader is gone, not by the pthread_exit that agent/entry hooks, and nobody else is left: the process ends when
// this thread does.
bool ProcessIsOver() noexcept { return ThreadCount() == 2 && LeaderIsZombie(); }

// `rings_help`: a ring that fills up is worth being woken for.
void Sleep(uint64_t interval_ns, bool rings_help) noexcept {
  static_assert(kNothing == 0 && kBellWaits == 0);
  // With a full socket there is nothing to be woken for, but a bigger ring helps.
  if (!rings_help) g_bell.store(g_streamer.connected() ? kBellRung : kBellSilenced);
  // Whoever has a request changes both words, the bell last; a bell that was rung during the round is still up.
  if (g_request.load() == kNothing) FutexWait(rings_help ? &g_bell : &g_request, 0, interval_ns);
}

void Done() noexcept {
  g_request.store(kNothing, std::memory_order_relaxed);
  g_done.fetch_add(1, std::memory_order_release);
  FutexWake(&g_done);
}

// True: the thread must end.
bool Serve(uint32_t request, uint64_t now_ns) noexcept {
  switch (request) {
    case kStop:
      g_streamer.Finish(now_ns + kGoodbyeNs, /*goodbye=*/false, false);
      return true;
    case kGoodbyeExit:
    case kGoodbyeExec:
      g_streamer.Finish(now_ns + kGoodbyeNs, /*goodbye=*/true, request == kGoodbyeExec);
      break;
    case kResume:
      g_streamer.Disconnect(now_ns);
      break;
    case kDetach:
      g_streamer.Detach();  // the loop sees it
      break;
    default:
      break;
  }
  Done();
  return false;
}

void Loop() noexcept {
  uint64_t interval_ns = kShortestNs;
  bool rings_help = false;
  uint64_t next_alone_check_ns = MonotonicNs() + kAloneCheckNs;
  for (;;) {
    if (!g_streamer.behind()) Sleep(interval_ns, rings_help);
    const uint64_t now_ns = MonotonicNs();
    const uint32_t request = g_request.load(std::memory_order_acquire);
    if (request != kNothing && Serve(request, now_ns)) return;
    if (g_said_goodbye) {
      interval_ns = kLongestNs;
      rings_help = false;
      continue;
    }
    if (rings_help) g_bell.store(kBellWaits);
    g_streamer.Round(now_ns);
    rings_help = g_streamer.connected() && !g_streamer.waiting();
    RunStreamingRounds(now_ns);
    if (g_streamer.detached()) {
      g_streamer.Finish(MonotonicNs() + kGoodbyeNs, /*goodbye=*/true, false);
      g_detached = true;
      SetAgentState(static_cast<uint32_t>(wire::AgentState::kDetached));
      return;
    }
    // As rarely as the rings allow: a few large frames cost less than many small ones, on this thread and on the wire, and
    // few bursts of ours disturb the server's threads less than many. At once down to 5 ms when a ring fills up or the
    // socket is full, slowly up to 100 ms while all have room. A thread that has filled half its ring before does not wait
    // for that: it rings.
    if (g_streamer.fullest_ring() > kFillingUp || g_streamer.waiting()) {
      interval_ns = kShortestNs;
    } else if (g_streamer.fullest_ring() < kHasRoom && interval_ns < kLongestNs) {
      interval_ns += kShortestNs;
    }
    if (now_ns >= next_alone_check_ns) {
      if (ProcessIsOver()) {
        g_streamer.Finish(now_ns + kGoodbyeNs, /*goodbye=*/true, false);
        return;
      }
      next_alone_check_ns = now_ns + kAloneCheckNs;
    }
  }
}

void* StreamingThread(void*) noexcept {
  ++t_local.inside;                // for good
  g_tid = RawSyscall(SYS_gettid);  // read after a join
  RawSyscall(SYS_prctl, PR_SET_NAME, AsArgument("stallscope"));
  NeverPreempt();
  OwnFd memory_fd;
  Connection connection;
  TakeOwnDescriptorTable(&memory_fd, &connection);
  g_streamer.UseMemoryFd(memory_fd);
  g_header->heartbeat_ns.store(MonotonicNs(), std::memory_order_release);
  if (connection.open()) {
    g_streamer.Adopt(connection, g_hellos);
    g_streamer.Announce(/*streaming=*/true);
    // The collector drained the memory until now. It stops at this hello; a round of its that is under way ends
    // meanwhile.
    g_streamer.SendNow();
  }
  const bool took_over = connection.open();
  g_thread_state.store(kRunning, std::memory_order_release);
  FutexWake(&g_thread_state);
  ReportState(kStateStreaming, 0, nullptr);
  if (took_over) Sleep(kHandOverNs, /*rings_help=*/false);
  Loop();
  g_hellos = g_streamer.hellos();
  g_header->heartbeat_ns.store(0, std::memory_order_release);
  g_streamer.Close();
  g_streamer.Destroy();
  g_thread_state.store(kEnded, std::memory_order_release);
  Done();
  return nullptr;
}

// Asks the thread and waits for its answer, not for ever: it may be stopped by a debugger.
void Ask(Request request) noexcept {
  const uint32_t before = g_done.load(std::memory_order_acquire);
  g_request.store(request);
  FutexWake(&g_request);
  g_bell.store(kBellRung);
  FutexWake(&g_bell);
  const uint64_t deadline_ns = MonotonicNs() + kGoodbyeNs;
  while (g_done.load(std::memory_order_acquire) == before) {
    const uint64_t now_ns = MonotonicNs();
    if (now_ns >= deadline_ns) return;
    FutexWait(&g_done, before, deadline_ns - now_ns);
  }
}

int CreateThread() noexcept {
  // All signals but the two that glibc needs in every thread (32: cancellation, 33: setuid in all threads).
  uint64_t blocked = ~((uint64_t{1} << 31) | (uint64_t{1} << 32)), before = 0;
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, AsArgument(&blocked), AsArgument(&before), 8);
  pthread_attr_t attributes;
  bool attributed = g_real.pthread_attr_init != nullptr && g_real.pthread_attr_init(&attributes) == 0;
  int result = -1;
  if (attributed) {
    g_real.pthread_attr_setstacksize(&attributes, 256u << 10);
    result = g_real.pthread_create(&g_thread, &attributes, StreamingThread, nullptr);
    g_real.pthread_attr_destroy(&attributes);
  }
  // The static TLS of a big program may not fit into a small stack.
  if (result != 0) result = g_real.pthread_create(&g_thread, nullptr, StreamingThread, nullptr);
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, AsArgument(&before), 0, 8);
  return result;
}

// Joining is a cancellation point; what the program called (fork, pthread_create) is not. The state was kEnded and has
// been taken to kStarting, so that nobody else joins.
void JoinThread() noexcept {
  int before = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (g_real.pthread_join != nullptr) g_real.pthread_join(g_thread, nullptr);
  pthread_setcancelstate(before, nullptr);
}

// A thread that has been joined is still on its way out of the kernel, which counts it, and so does whoever looks there after a
// fork (CPython from 3.12 on). Right after the join: later the number may be another thread's.
void WaitUntilGone() noexcept {
  const uint64_t deadline_ns = MonotonicNs() + kGoodbyeNs / 2;
  const long pid = RawSyscall(SYS_getpid);
  while (RawSyscall(SYS_tgkill, pid, g_tid, 0) == 0 && MonotonicNs() < deadline_ns) {
    const timespec pause = {0, 20'000};
    RawSyscall(SYS_nanosleep, AsArgument(&pause));
  }
}

}  // namespace

void SayHelloWithoutThread() noexcept {
  if (!g_quiet_connection.Connect(/*high=*/true)) return;
  uint8_t bytes[2048];
  ProtoWriter hello(bytes, sizeof(bytes));
  uint64_t sent = 0;
  if (!StillOurs(SharedMemoryFd()) || !WriteHello(&hello, g_hellos, /*streaming=*/false) ||
      g_quiet_connection.Send(hello.data(), hello.bytes(), &sent, SharedMemoryFd().fd) != SendResult::kDone) {
    g_quiet_connection.Close();
    return;
  }
  ++g_hellos;
  // There is nobody to be rung for, but a collector that looks in now and then: a ring that fills up is worth a bigger one.
  g_bell.store(kBellRung);
}

bool StreamingStarted() noexcept {
  const uint32_t state = g_thread_state.load(std::memory_order_acquire);
  return state == kStarting || state == kRunning;
}

void StartStreamingThread() noexcept {
  if (g_detached || g_no_more || g_said_goodbye) return;
  uint32_t state = g_thread_state.load(std::memory_order_acquire);
  const bool ended = state == kEnded;
  if ((state != kNone && !ended) || !g_thread_state.compare_exchange_strong(state, kStarting)) return;
  if (ended) JoinThread();
  g_request.store(kNothing, std::memory_order_relaxed);
  if (g_real.pthread_create == nullptr || !g_streamer.Create() || CreateThread() != 0) {
    Log("the streaming thread could not be started");
    g_thread_state.store(kNone, std::memory_order_relaxed);
    return;
  }
  // Until it has taken over the connection, which then is closed on this side (a child would keep it open).
  const uint64_t deadline_ns = MonotonicNs() + kGoodbyeNs / 4;
  while (g_thread_state.load(std::memory_order_acquire) == kStarting && MonotonicNs() < deadline_ns) {
    FutexWait(&g_thread_state, kStarting, kShortestNs);
  }
  if (g_thread_state.load(std::memory_order_acquire) != kStarting) {
    if (g_own_table) {
      g_quiet_connection.Close();
    } else {
      g_quiet_connection.Forget();
    }
  }
}

void StopStreamingThread() noexcept {
  if (g_thread_state.load(std::memory_order_acquire) != kRunning) return;
  Ask(kStop);
  uint32_t ended = kEnded;
  if (!g_thread_state.compare_exchange_strong(ended, kStarting, std::memory_order_acquire)) return;
  JoinThread();
  WaitUntilGone();
  g_thread_state.store(kNone, std::memory_order_relaxed);
  SayHelloWithoutThread();
}

void LeaveStreamingForGood() noexcept {
  g_no_more = true;
  StopStreamingThread();
}

void SayGoodbye(bool exec) noexcept {
  if (g_said_goodbye || !IsThisProcess()) return;
  RunBeforeGoodbye(exec);
  g_said_goodbye = true;
  if (g_thread_state.load(std::memory_order_acquire) == kRunning) return Ask(exec ? kGoodbyeExec : kGoodbyeExit);
  if (!g_quiet_connection.open()) return;
  uint8_t bytes[64];
  ProtoWriter writer(bytes, sizeof(bytes));
  uint64_t sent = 0;
  if (WriteGoodbye(&writer, MonotonicNs(), exec)) g_quiet_connection.Send(writer.data(), writer.bytes(), &sent);
}

void ResumeAfterFailedExec() noexcept {
  if (!g_said_goodbye) return;
  g_said_goodbye = false;
  if (g_thread_state.load(std::memory_order_acquire) == kRunning) return Ask(kResume);
  g_quiet_connection.Close();
  SayHelloWithoutThread();
}

bool DetachFromHere(uint64_t timeout_ns) noexcept {
  if (g_detached) return true;
  const uint64_t deadline_ns = MonotonicNs() + timeout_ns;
  if (StreamingStarted()) {
    Ask(kDetach);
    while (g_thread_state.load(std::memory_order_acquire) != kEnded) {
      if (MonotonicNs() >= deadline_ns) return false;
      FutexWait(&g_done, g_done.load(std::memory_order_acquire), kShortestNs);
    }
    return g_detached;
  }
  RunDetach();
  SetLevel(static_cast<uint8_t>(wire::Level::kOff));
  g_detached = true;
  SetAgentState(static_cast<uint32_t>(wire::AgentState::kDetached));
  uint8_t bytes[64];
  ProtoWriter writer(bytes, sizeof(bytes));
  uint64_t sent = 0;
  if (g_quiet_connection.open() && WriteGoodbye(&writer, MonotonicNs(), /*exec=*/false)) {
    g_quiet_connection.Send(writer.data(), writer.bytes(), &sent);
  }
  g_quiet_connection.Close();
  return true;
}

bool ResumeAfterDetach(uint8_t level, bool stacks) noexcept {
  if (!g_detached || StreamingStarted()) return false;
  if (g_thread_state.load(std::memory_order_acquire) == kEnded) {
    JoinThread();
    g_thread_state.store(kNone, std::memory_order_relaxed);
  }
  g_detached = false;
  g_said_goodbye = false;
  g_own_table = false;
  SetStacks(stacks);
  SetLevel(level);
  SetAgentState(static_cast<uint32_t>(wire::AgentState::kRecording));
  SayHelloWithoutThread();
  return true;
}

bool HasDetached() noexcept { return g_detached; }

// Of a running thread's connection only as much as that it has said hello once.
bool ConnectedToCollector() noexcept { return g_quiet_connection.open() || (StreamingStarted() && g_hellos > 0); }

void ForgetParentStream() noexcept {
  CloseParentsConnection();
  // The parent's thread is not here; its memory is, and serves the child's own.
  if (g_thread_state.load(std::memory_order_relaxed) != kNone) g_streamer.Destroy();
  g_streamer = Streamer();
  g_thread_state.store(kNone, std::memory_order_relaxed);
  g_request.store(kNothing, std::memory_order_relaxed);
  g_bell.store(kBellSilenced, std::memory_order_relaxed);
  g_hellos = 0;
  g_said_goodbye = false;
  g_detached = false;
  g_no_more = false;
  g_own_table = false;
  ForgetNotices();
}

void CloseParentsConnection() noexcept { g_quiet_connection.Close(); }

}  // namespace stallscope::agent
