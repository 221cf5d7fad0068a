// Hooks for what ends or duplicates the process: fork, exec, _exit.
//
// They record nothing. A fork needs them only to be polite (a Python that forks must not count our thread); a child is
// recognised without them (process_state.h). vfork and posix_spawn are not hooked: their child borrows this memory and
// must not be disturbed.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/entry/exports.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/loader_use.h"
#include "agent/entry/proc_files.h"
#include "agent/entry/process_memory.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/stream/streaming.h"

namespace stallscope::agent {
namespace {

// CPython 3.12 and later warn when a process with more than one thread forks, and GCC's thread sanitizer refuses
// threads in the child of such a fork. If all other threads are gone, so must ours be. It comes back with the next
// thread that the program creates.
void LeaveIfLastOther() noexcept {
  if (!StreamingStarted() || !IsThisProcess()) return;
  if (ThreadCount() == (HasSanitizerThread() ? 3u : 2u)) StopStreamingThread();
}

pid_t ForkedBy(pid_t (*real)()) noexcept {
  LoaderLeftAlone loader;
  const pid_t child = real();
  if (child != 0) return child;
  loader.InChild();
  // Else the collector would not see the parent's end for as long as the child lives.
  if (!g_confined.load(std::memory_order_relaxed)) CloseParentsConnection();
  return child;
}

// Exec: say goodbye while there is somebody to say it. In a vfork child the memory is the parent's: nothing ends there.
class BeforeExec {
 public:
  BeforeExec() noexcept : told_(IsThisProcess()) {
    if (told_) SayGoodbye(/*exec=*/true);
  }
  // The exec failed, the program goes on.
  int Failed(int result) const noexcept {
    const int error = errno;
    if (told_) ResumeAfterFailedExec();
    errno = error;
    return result;
  }

 private:
  bool told_;
};

// The arguments of execl and its kin as an array on the stack.
#define STALLSCOPE_COLLECT_ARGUMENTS(first, list)                                        \
  va_list list##_count;                                                                  \
  va_copy(list##_count, list);                                                           \
  size_t count = 1;                                                                      \
  while (va_arg(list##_count, char*) != nullptr) ++count;                                \
  va_end(list##_count);                                                                  \
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                               \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

}  // namespace

STALLSCOPE_EXPORT(pid_t, fork, ()) {
  auto* real = STALLSCOPE_REAL(fork);
  LeaveIfLastOther();
  const pid_t child = ForkedBy(real);
  // A thread of the program that was on its way out before may be gone now. CPython counts after the fork.
  if (child > 0) LeaveIfLastOther();
  return child;
}

STALLSCOPE_EXPORT(pid_t, _Fork, ()) {
  auto* real = STALLSCOPE_REAL(_Fork);
  if (real == nullptr) {  // glibc before 2.34 has none: then no program can ask for it but by dlsym
    errno = ENOSYS;
    return -1;
  }
  return ForkedBy(real);
}

STALLSCOPE_EXPORT(int, daemon, (int nochdir, int noclose)) {
  auto* real = STALLSCOPE_REAL(daemon);
  // The parent ends inside; what is recorded from here on belongs to the child.
  const bool told = IsThisProcess();
  if (told) SayGoodbye(/*exec=*/false);
  LoaderLeftAlone loader;
  const int result = real(nochdir, noclose);
  const int error = errno;
  if (!IsThisProcess()) loader.InChild();
  if (told && IsThisProcess()) ResumeAfterFailedExec();  // it did not fork
  errno = error;
  return result;
}

// When the first thread leaves, the process lives until its last thread ends, and that one runs exit(): it must be the
// program's, with the program's descriptors. So our thread goes, for good.
STALLSCOPE_EXPORT(void, pthread_exit, (void* value)) {
  auto* real = STALLSCOPE_REAL(pthread_exit);
  if (StreamingStarted() && IsThisProcess() && RawSyscall(SYS_gettid) == RawSyscall(SYS_getpid))
    LeaveStreamingForGood();
  real(value);
  __builtin_unreachable();
}

STALLSCOPE_EXPORT(void, _exit, (int status)) {
  auto* real = STALLSCOPE_REAL(_exit);
  if (IsThisProcess()) SayGoodbye(/*exec=*/false);
  real(status);
  __builtin_unreachable();
}

STALLSCOPE_EXPORT(void, _Exit, (int status)) {
  auto* real = STALLSCOPE_REAL(_Exit);
  if (IsThisProcess()) SayGoodbye(/*exec=*/false);
  real(status);
  __builtin_unreachable();
}

STALLSCOPE_EXPORT(int, execve, (const char* path, char* const* argv, char* const* envp)) {
  auto* real = STALLSCOPE_REAL(execve);
  BeforeExec exec;
  return exec.Failed(real(path, argv, envp));
}

STALLSCOPE_EXPORT(int, execv, (const char* path, char* const* argv)) {
  auto* real = STALLSCOPE_REAL(execv);
  BeforeExec exec;
  return exec.Failed(real(path, argv));
}

STALLSCOPE_EXPORT(int, execvp, (const char* file, char* const* argv)) {
  auto* real = STALLSCOPE_REAL(execvp);
  BeforeExec exec;
  return exec.Failed(real(file, argv));
}

STALLSCOPE_EXPORT(int, execvpe, (const char* file, char* const* argv, char* const* envp)) {
  auto* real = STALLSCOPE_REAL(execvpe);
  BeforeExec exec;
  return exec.Failed(real(file, argv, envp));
}

STALLSCOPE_EXPORT(int, fexecve, (int fd, char* const* argv, char* const* envp)) {
  auto* real = STALLSCOPE_REAL(fexecve);
  BeforeExec exec;
  return exec.Failed(real(fd, argv, envp));
}

STALLSCOPE_EXPORT(int, execveat, (int fd, const char* path, char* const* argv, char* const* envp, int flags)) {
  auto* real = STALLSCOPE_REAL(execveat);
  if (real == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  BeforeExec exec;
  return exec.Failed(real(fd, path, argv, envp, flags));
}

STALLSCOPE_EXPORT(int, execl, (const char* path, const char* first, ...)) {
  va_list list;
  va_start(list, first);
  STALLSCOPE_COLLECT_ARGUMENTS(first, list);
  va_end(list);
  auto* real = STALLSCOPE_REAL(execv);
  BeforeExec exec;
  return exec.Failed(real(path, arguments));
}

STALLSCOPE_EXPORT(int, execlp, (const char* file, const char* first, ...)) {
  va_list list;
  va_start(list, first);
  STALLSCOPE_COLLECT_ARGUMENTS(first, list);
  va_end(list);
  auto* real = STALLSCOPE_REAL(execvp);
  BeforeExec exec;
  return exec.Failed(real(file, arguments));
}

STALLSCOPE_EXPORT(int, execle, (const char* path, const char* first, ...)) {
  va_list list;
  va_start(list, first);
  STALLSCOPE_COLLECT_ARGUMENTS(first, list);
  auto** envp = va_arg(list, char**);
  va_end(list);
  auto* real = STALLSCOPE_REAL(execve);
  BeforeExec exec;
  return exec.Failed(real(path, arguments, envp));
}

}  // namespace stallscope::agent
