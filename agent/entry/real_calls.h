// The functions behind our hooks: what the program would have called without us.
//
// Filled once by ResolveRealCalls, from the agent's constructor or from the first hook that runs before it (another
// library's constructor may come first). Entries that the C library lacks stay nullptr. Never call these names
// directly: inside this library they are our own hooks.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include <cstdint>

namespace stallscope::agent {

// X(return type, field and symbol, parameter types, symbol version or nullptr for the default one)
// The pthread functions that glibc has twice (2.2.5 of libpthread, 2.34 of libc) are one function each on x86-64; only
// the condition variables differ between their versions (2.2.5 condvars hold a pointer to a 2.3.2 one), so those are
// kept apart.
#define STALLSCOPE_REAL_CALLS(X)                                                                           \
  X(int, pthread_mutex_lock, (pthread_mutex_t*), nullptr)                                                  \
  X(int, pthread_mutex_trylock, (pthread_mutex_t*), nullptr)                                               \
  X(int, pthread_mutex_timedlock, (pthread_mutex_t*, const timespec*), nullptr)                            \
  X(int, pthread_mutex_clocklock, (pthread_mutex_t*, clockid_t, const timespec*), nullptr)                 \
  X(int, pthread_mutex_unlock, (pthread_mutex_t*), nullptr)                                                \
  X(int, pthread_rwlock_rdlock, (pthread_rwlock_t*), nullptr)                                              \
  X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t*), nullptr)                                           \
  X(int, pthread_rwlock_wrlock, (pthread_rwlock_t*), nullptr)                                              \
  X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t*), nullptr)                                           \
  X(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t*, const timespec*), nullptr)                        \
  X(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t*, const timespec*), nullptr)                        \
  X(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t*, clockid_t, const timespec*), nullptr)             \
  X(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t*, clockid_t, const timespec*), nullptr)             \
  X(int, pthread_timedjoin_np, (pthread_t, void**, const timespec*), nullptr)                              \
  X(int, pthread_clockjoin_np, (pthread_t, void**, clockid_t, const timespec*), nullptr)                   \
  X(int, ftrylockfile, (FILE*), nullptr)                                                                   \
  X(void, flockfile, (FILE*), nullptr)                                                                     \
  X(int, io_uring_enter, (unsigned, unsigned, unsigned, unsigned, sigset_t*), nullptr)                     \
  X(int, pthread_rwlock_unlock, (pthread_rwlock_t*), nullptr)                                              \
  X(int, pthread_spin_lock, (pthread_spinlock_t*), nullptr)                                                \
  X(int, pthread_spin_trylock, (pthread_spinlock_t*), nullptr)                                             \
  X(int, sem_wait, (sem_t*), nullptr)                                                                      \
  X(int, sem_trywait, (sem_t*), nullptr)                                                                   \
  X(int, sem_timedwait, (sem_t*, const timespec*), nullptr)                                                \
  X(int, sem_clockwait, (sem_t*, clockid_t, const timespec*), nullptr)                                     \
  X(int, sem_post, (sem_t*), nullptr)                                                                      \
  X(int, pthread_barrier_wait, (pthread_barrier_t*), nullptr)                                              \
  X(int, pthread_join, (pthread_t, void**), nullptr)                                                       \
  X(int, pthread_create, (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*), nullptr)            \
  X(int, pthread_attr_init, (pthread_attr_t*), nullptr)                                                    \
  X(int, pthread_attr_setstacksize, (pthread_attr_t*, size_t), nullptr)                                    \
  X(int, pthread_attr_destroy, (pthread_attr_t*), nullptr)                                                 \
  X(void, pthread_exit, (void*), nullptr)                                                                  \
  X(void, pthread_testcancel, (), nullptr)                                                                 \
  X(int, pthread_cond_clockwait, (pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*), nullptr) \
  X(long, syscall, (long, long, long, long, long, long, long), nullptr)                                    \
  X(int, epoll_wait, (int, epoll_event*, int, int), nullptr)                                               \
  X(int, epoll_pwait, (int, epoll_event*, int, int, const sigset_t*), nullptr)                             \
  X(int, epoll_pwait2, (int, epoll_event*, int, const timespec*, const sigset_t*), nullptr)                \
  X(int, epoll_ctl, (int, int, int, epoll_event*), nullptr)                                                \
  X(int, poll, (pollfd*, nfds_t, int), nullptr)                                                            \
  X(int, __poll_chk, (pollfd*, nfds_t, int, size_t), nullptr)                                              \
  X(int, ppoll, (pollfd*, nfds_t, const timespec*, const sigset_t*), nullptr)                              \
  X(int, __ppoll_chk, (pollfd*, nfds_t, const timespec*, const sigset_t*, size_t), nullptr)                \
  X(int, select, (int, fd_set*, fd_set*, fd_set*, timeval*), nullptr)                                      \
  X(int, pselect, (int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*), nullptr)             \
  X(ssize_t, read, (int, void*, size_t), nullptr)                                                          \
  X(ssize_t, __read_chk, (int, void*, size_t, size_t), nullptr)                                            \
  X(ssize_t, write, (int, const void*, size_t), nullptr)                                                   \
  X(ssize_t, readv, (int, const iovec*, int), nullptr)                                                     \
  X(ssize_t, writev, (int, const iovec*, int), nullptr)                                                    \
  X(ssize_t, recv, (int, void*, size_t, int), nullptr)                                                     \
  X(ssize_t, __recv_chk, (int, void*, size_t, size_t, int), nullptr)                                       \
  X(ssize_t, recvfrom, (int, void*, size_t, int, sockaddr*, socklen_t*), nullptr)                          \
  X(ssize_t, __recvfrom_chk, (int, void*, size_t, size_t, int, sockaddr*, socklen_t*), nullptr)            \
  X(ssize_t, recvmsg, (int, msghdr*, int), nullptr)                                                        \
  X(ssize_t, send, (int, const void*, size_t, int), nullptr)                                               \
  X(ssize_t, sendto, (int, const void*, size_t, int, const sockaddr*, socklen_t), nullptr)                 \
  X(ssize_t, sendmsg, (int, const msghdr*, int), nullptr)                                                  \
  X(int, sendmmsg, (int, mmsghdr*, unsigned, int), nullptr)                                                \
  X(int, recvmmsg, (int, mmsghdr*, unsigned, int, timespec*), nullptr)                                     \
  X(int, accept, (int, sockaddr*, socklen_t*), nullptr)                                                    \
  X(int, accept4, (int, sockaddr*, socklen_t*, int), nullptr)                                              \
  X(int, connect, (int, const sockaddr*, socklen_t), nullptr)                                              \
  X(int, eventfd_read, (int, uint64_t*), nullptr)                                                          \
  X(int, eventfd_write, (int, uint64_t), nullptr)                                                          \
  X(int, pipe, (int*), nullptr)                                                                            \
  X(int, pipe2, (int*, int), nullptr)                                                                      \
  X(int, socketpair, (int, int, int, int*), nullptr)                                                       \
  X(int, nanosleep, (const timespec*, timespec*), nullptr)                                                 \
  X(int, clock_nanosleep, (clockid_t, int, const timespec*, timespec*), nullptr)                           \
  X(int, usleep, (useconds_t), nullptr)                                                                    \
  X(int, sched_yield, (), nullptr)                                                                         \
  X(char*, getenv, (const char*), nullptr)                                                                 \
  X(int, dlclose, (void*), nullptr)                                                                        \
  X(int, eventfd, (unsigned, int), nullptr)                                                                \
  X(int, close, (int), nullptr)                                                                            \
  X(pid_t, fork, (), nullptr)                                                                              \
  X(pid_t, _Fork, (), nullptr)                                                                             \
  X(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long), nullptr)                \
  X(int, daemon, (int, int), nullptr)                                                                      \
  X(void, exit, (int), nullptr)                                                                            \
  X(void, _exit, (int), nullptr)                                                                           \
  X(void, _Exit, (int), nullptr)                                                                           \
  X(int, execve, (const char*, char* const*, char* const*), nullptr)                                       \
  X(int, execv, (const char*, char* const*), nullptr)                                                      \
  X(int, execvp, (const char*, char* const*), nullptr)                                                     \
  X(int, execvpe, (const char*, char* const*, char* const*), nullptr)                                      \
  X(int, fexecve, (int, char* const*, char* const*), nullptr)                                              \
  X(int, execveat, (int, const char*, char* const*, char* const*, int), nullptr)

// The condition variables, at each of their versions.
#define STALLSCOPE_REAL_CONDITIONS(X)                                                             \
  X(int, wait, pthread_cond_wait, (pthread_cond_t*, pthread_mutex_t*))                            \
  X(int, timedwait, pthread_cond_timedwait, (pthread_cond_t*, pthread_mutex_t*, const timespec*)) \
  X(int, signal, pthread_cond_signal, (pthread_cond_t*))                                          \
  X(int, broadcast, pthread_cond_broadcast, (pthread_cond_t*))

struct RealConditions {
#define STALLSCOPE_X(type, field, symbol, parameters) type(*field) parameters = nullptr;
  STALLSCOPE_REAL_CONDITIONS(STALLSCOPE_X)
#undef STALLSCOPE_X
};

struct RealCalls {
#define STALLSCOPE_X(type, name, parameters, version) type(*name) parameters = nullptr;
  STALLSCOPE_REAL_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
  RealConditions condition_2_2_5, condition_2_3_2;
};

// Hidden: found relative to the code, so that it can be asked before the loader has been here (early_calls.h).
extern __attribute__((visibility("hidden"))) RealCalls g_real;

// The real syscall(), for the assembly in agent/os; a copy of g_real.syscall under a plain name.
extern "C" __attribute__((visibility("hidden"))) void* stallscope_real_syscall;

// Any thread, any number of times: every run writes the same values.
void ResolveRealCalls() noexcept;
// The same for the calls of agent/os/timed_calls.h, whose hooks keep a table of their own.
void ResolveTimedCalls() noexcept;

// The table, resolved if some hook runs before the constructor. `probe` is the entry that the caller needs.
#define STALLSCOPE_REAL(name)                                                        \
  (__builtin_expect(::stallscope::agent::g_real.name == nullptr, 0)                  \
       ? (::stallscope::agent::ResolveRealCalls(), ::stallscope::agent::g_real.name) \
       : ::stallscope::agent::g_real.name)

}  // namespace stallscope::agent
