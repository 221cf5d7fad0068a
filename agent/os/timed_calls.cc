// The hooks of timed_calls.h, made from its lines, and the few timed calls that exist in two incompatible versions.
#include "agent/os/timed_calls.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <wchar.h>

#include <type_traits>

#include "agent/entry/early_calls.h"
#include "agent/entry/exports.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/real_calls.h"
#include "agent/os/descriptor_calls.h"
#include "agent/os/fd_table.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

enum class Failure { kErrno, kErrorNumber };

struct TimedReals {
#define STALLSCOPE_X(id, type, symbol, parameters, arguments, object, may_wait, failure) type(*symbol) parameters;
  STALLSCOPE_TIMED_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#define STALLSCOPE_X(id, symbol, parameters, arguments, object, note) int(*symbol) parameters;
  STALLSCOPE_DESCRIPTOR_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
};
constinit TimedReals g_timed_real = {};

struct VersionedReals {
  int (*spawn_2_2_5)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                     char* const*);
  decltype(spawn_2_2_5) spawn_2_15, spawnp_2_2_5, spawnp_2_15;
  int (*kill_2_2_5)(pthread_t, int);
  decltype(kill_2_2_5) kill_2_34;
};
constinit VersionedReals g_versioned = {};

template <typename Function>
void Resolve(Function* slot, const char* name, const char* version) noexcept {
  if (void* found = ResolveNext(name, version, nullptr)) *slot = reinterpret_cast<Function>(found);
}

// Out of line: these calls go into the kernel or may, so a call more is nothing, and there are many of them.
__attribute__((noinline)) void StartTimed(WaitFrame* frame, wire::OsCall call, uint64_t object,
                                          void* address) noexcept {
  StartWaitUnannounced(frame, call, object, reinterpret_cast<uintptr_t>(address));
}

__attribute__((noinline)) void FinishTimed(WaitFrame* frame, int32_t result, uint64_t object) noexcept {
  FinishWait(frame, {.result = result}, object);
}

template <Failure kFailure, typename Result>
int32_t ResultOf(Result result) noexcept {
  if constexpr (std::is_pointer_v<Result>) {
    return result == nullptr || reinterpret_cast<intptr_t>(result) == -1 ? -errno : 0;
  } else if constexpr (kFailure == Failure::kErrorNumber) {
    return -static_cast<int32_t>(result);
  } else if constexpr (std::is_signed_v<Result>) {
    return result < 0 ? -errno : static_cast<int32_t>(result);
  } else {
    return static_cast<int32_t>(result);
  }
}

template <Failure kFailure, typename Call>
__attribute__((always_inline)) inline auto Timed(wire::OsCall name, uint64_t object, Call call) noexcept
    -> decltype(call()) {
  WaitFrame frame;
  StartTimed(&frame, name, object, __builtin_frame_address(0));
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    FinishTimed(&frame, 0, object);
  } else {
    const auto result = call();
    FinishTimed(&frame, ResultOf<kFailure>(result), object);
    return result;
  }
}

// glibc's FILE is open to its own headers' macros, so its first fields are part of the ABI (bits/types/struct_FILE.h).
uint64_t StreamObject(const FILE* stream) noexcept {
  return stream != nullptr && stream->_fileno >= 0 ? wire::FdObject(stream->_fileno) : 0;
}
bool ReadsFromBuffer(const FILE* stream, size_t bytes) noexcept {
  return static_cast<size_t>(stream->_IO_read_end - stream->_IO_read_ptr) >= bytes;
}
// A stream with a line buffer, or with none, has no room here and so is always timed.
bool WritesToBuffer(const FILE* stream, size_t bytes) noexcept {
  return stream->_IO_write_end > stream->_IO_write_ptr &&
         static_cast<size_t>(stream->_IO_write_end - stream->_IO_write_ptr) >= bytes;
}

void NoteFcntl(int fd, int command, int result) noexcept {
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) NoteCopied(fd, result);
}
void NoteSocket(int result) noexcept {
  if (result >= 0) SetFd(result, FdKind::kSocket);
}

}  // namespace

void ResolveTimedCalls() noexcept {
  if (!IsRelocated() && !RelocateEarly()) return;
#define STALLSCOPE_X(id, type, symbol, parameters, arguments, object, may_wait, failure) \
  Resolve(&g_timed_real.symbol, #symbol, nullptr);
  STALLSCOPE_TIMED_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
#define STALLSCOPE_X(id, symbol, parameters, arguments, object, note) Resolve(&g_timed_real.symbol, #symbol, nullptr);
  STALLSCOPE_DESCRIPTOR_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
  Resolve(&g_versioned.spawn_2_2_5, "posix_spawn", "GLIBC_2.2.5");
  Resolve(&g_versioned.spawn_2_15, "posix_spawn", "GLIBC_2.15");
  Resolve(&g_versioned.spawnp_2_2_5, "posix_spawnp", "GLIBC_2.2.5");
  Resolve(&g_versioned.spawnp_2_15, "posix_spawnp", "GLIBC_2.15");
  Resolve(&g_versioned.kill_2_2_5, "pthread_kill", "GLIBC_2.2.5");
  Resolve(&g_versioned.kill_2_34, "pthread_kill", "GLIBC_2.34");
  // Before 2.34 there is one pthread_kill.
  if (g_versioned.kill_2_34 == nullptr) g_versioned.kill_2_34 = g_versioned.kill_2_2_5;
}

#define STALLSCOPE_TIMED_REAL(table, symbol) \
  (__builtin_expect(table.symbol == nullptr, 0) ? (ResolveTimedCalls(), table.symbol) : table.symbol)

#define STALLSCOPE_PASS(...) __VA_ARGS__
#define STALLSCOPE_X(id, type, symbol, parameters, arguments, object, may_wait, failure)            \
  STALLSCOPE_EXPORT(type, symbol, parameters) {                                                     \
    auto* real = STALLSCOPE_TIMED_REAL(g_timed_real, symbol);                                       \
    if (!(may_wait)) return real arguments;                                                         \
    return Timed<Failure::failure>(                                                                 \
        wire::OsCall::id, object, [&]() __attribute__((always_inline)) { return real arguments; }); \
  }
STALLSCOPE_TIMED_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X

#define STALLSCOPE_X(id, symbol, parameters, arguments, object, note)                               \
  STALLSCOPE_EXPORT(int, symbol, parameters) {                                                      \
    auto* real = STALLSCOPE_TIMED_REAL(g_timed_real, symbol);                                       \
    const int result = Timed<Failure::kErrno>(                                                      \
        wire::OsCall::id, object, [&]() __attribute__((always_inline)) { return real arguments; }); \
    note;                                                                                           \
    return result;                                                                                  \
  }
STALLSCOPE_DESCRIPTOR_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X

#define STALLSCOPE_SPAWN_HOOK(name, id, version)                                                                    \
  extern "C" __attribute__((visibility("default"))) int stallscope_##name##_##version(                              \
      pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, \
      char* const* arguments, char* const* environment) {                                                           \
    auto* real = STALLSCOPE_TIMED_REAL(g_versioned, name##_##version);                                              \
    return Timed<Failure::kErrorNumber>(                                                                            \
        wire::OsCall::id, 0, [&]() { return real(pid, path, actions, attributes, arguments, environment); });       \
  }
STALLSCOPE_SPAWN_HOOK(spawn, kPosixSpawn, 2_2_5)
STALLSCOPE_SPAWN_HOOK(spawn, kPosixSpawn, 2_15)
STALLSCOPE_SPAWN_HOOK(spawnp, kPosixSpawnp, 2_2_5)
STALLSCOPE_SPAWN_HOOK(spawnp, kPosixSpawnp, 2_15)

#define STALLSCOPE_KILL_HOOK(version)                                                                             \
  extern "C" __attribute__((visibility("default"))) int stallscope_kill_##version(pthread_t thread, int number) { \
    auto* real = STALLSCOPE_TIMED_REAL(g_versioned, kill_##version);                                              \
    return Timed<Failure::kErrorNumber>(wire::OsCall::kPthreadKill, 0, [&]() { return real(thread, number); });   \
  }
STALLSCOPE_KILL_HOOK(2_2_5)
STALLSCOPE_KILL_HOOK(2_34)

__asm__(
    ".symver stallscope_spawn_2_2_5, posix_spawn@GLIBC_2.2.5, remove\n"
    ".symver stallscope_spawn_2_15, posix_spawn@@GLIBC_2.15, remove\n"
    ".symver stallscope_spawnp_2_2_5, posix_spawnp@GLIBC_2.2.5, remove\n"
    ".symver stallscope_spawnp_2_15, posix_spawnp@@GLIBC_2.15, remove\n"
    ".symver stallscope_kill_2_2_5, pthread_kill@GLIBC_2.2.5, remove\n"
    ".symver stallscope_kill_2_34, pthread_kill@@GLIBC_2.34, remove\n");

}  // namespace stallscope::agent
