// The table of OS calls: what the agent hooks, how a wait in it is judged and what names the thing waited for.
//
// What it is: the one list. The enumerators of OsCall, the names on every screen, the wait kinds of the budget, the hooks'
// rules, the audit of the exported symbols and docs/os-calls.md (written by tests/checks/os_calls_page.py) come from it.
// Written by: nobody at run time. Numbers are stored in captures: append only, never reorder.
//
// X(enumerator, "name shown (nsys spelling)", wait kind, object kind, blocking rule, "exported symbols")
//   wait kind, object kind, blocking rule: the enums of proto/wire/calls.h
//   exported symbols: as the dynamic linker sees them, separated by blanks. Without a version the hook serves a reference of
//   any version; "@GLIBC_x" and "@@GLIBC_x" are hooks of their own, because the C library's functions differ.
#pragma once

#define STALLSCOPE_OS_CALLS(X)                                                                                         \
  X(kPthreadMutexLock, "pthread_mutex_lock", kLock, kAddress, kContended, "pthread_mutex_lock")                        \
  X(kPthreadMutexTimedlock, "pthread_mutex_timedlock", kLock, kAddress, kTryFirst, "pthread_mutex_timedlock")          \
  X(kPthreadMutexClocklock, "pthread_mutex_clocklock", kLock, kAddress, kTryFirst, "pthread_mutex_clocklock")          \
  X(kPthreadMutexUnlock, "pthread_mutex_unlock", kNone, kAddress, kWake, "pthread_mutex_unlock")                       \
  X(kPthreadRwlockRdlock, "pthread_rwlock_rdlock", kLock, kAddress, kContended, "pthread_rwlock_rdlock")               \
  X(kPthreadRwlockWrlock, "pthread_rwlock_wrlock", kLock, kAddress, kContended, "pthread_rwlock_wrlock")               \
  X(kPthreadRwlockUnlock, "pthread_rwlock_unlock", kNone, kAddress, kWake, "pthread_rwlock_unlock")                    \
  X(kPthreadSpinLock, "pthread_spin_lock", kLock, kAddress, kContended, "pthread_spin_lock")                           \
  X(kPthreadCondWait, "pthread_cond_wait", kCondition, kAddress, kTimed,                                               \
    "pthread_cond_wait@GLIBC_2.2.5 pthread_cond_wait@@GLIBC_2.3.2")                                                    \
  X(kPthreadCondTimedwait, "pthread_cond_timedwait", kCondition, kAddress, kTimed,                                     \
    "pthread_cond_timedwait@GLIBC_2.2.5 pthread_cond_timedwait@@GLIBC_2.3.2")                                          \
  X(kPthreadCondClockwait, "pthread_cond_clockwait", kCondition, kAddress, kTimed, "pthread_cond_clockwait")           \
  X(kPthreadCondSignal, "pthread_cond_signal", kNone, kAddress, kWake,                                                 \
    "pthread_cond_signal@GLIBC_2.2.5 pthread_cond_signal@@GLIBC_2.3.2")                                                \
  X(kPthreadCondBroadcast, "pthread_cond_broadcast", kNone, kAddress, kWake,                                           \
    "pthread_cond_broadcast@GLIBC_2.2.5 pthread_cond_broadcast@@GLIBC_2.3.2")                                          \
  X(kSemWait, "sem_wait", kSemaphore, kAddress, kContended, "sem_wait")                                                \
  X(kSemTimedwait, "sem_timedwait", kSemaphore, kAddress, kTryFirst, "sem_timedwait")                                  \
  X(kSemClockwait, "sem_clockwait", kSemaphore, kAddress, kTryFirst, "sem_clockwait")                                  \
  X(kSemPost, "sem_post", kNone, kAddress, kWake, "sem_post")                                                          \
  X(kPthreadBarrierWait, "pthread_barrier_wait", kBarrier, kAddress, kTimed, "pthread_barrier_wait")                   \
  X(kPthreadJoin, "pthread_join", kJoin, kThread, kTimed, "pthread_join")                                              \
  X(kFutexWait, "futex", kFutex, kAddress, kTimed, "syscall")                                                          \
  X(kFutexWake, "futex_wake", kNone, kAddress, kWake, "syscall")                                                       \
  X(kEpollWait, "epoll_wait", kPoll, kFd, kTimed, "epoll_wait")                                                        \
  X(kEpollPwait, "epoll_pwait", kPoll, kFd, kTimed, "epoll_pwait")                                                     \
  X(kEpollPwait2, "epoll_pwait2", kPoll, kFd, kTimed, "epoll_pwait2")                                                  \
  X(kPoll, "poll", kPoll, kFd, kTimed, "poll __poll_chk")                                                              \
  X(kPpoll, "ppoll", kPoll, kFd, kTimed, "ppoll __ppoll_chk")                                                          \
  X(kSelect, "select", kPoll, kNone, kTimed, "select")                                                                 \
  X(kPselect, "pselect", kPoll, kNone, kTimed, "pselect")                                                              \
  X(kRead, "read", kIpc, kFd, kTimed, "read __read_chk")                                                               \
  X(kWrite, "write", kIpc, kFd, kTimed, "write")                                                                       \
  X(kReadv, "readv", kIpc, kFd, kTimed, "readv")                                                                       \
  X(kWritev, "writev", kIpc, kFd, kTimed, "writev")                                                                    \
  X(kRecv, "recv", kIpc, kFd, kTimed, "recv __recv_chk")                                                               \
  X(kRecvfrom, "recvfrom", kIpc, kFd, kTimed, "recvfrom __recvfrom_chk")                                               \
  X(kRecvmsg, "recvmsg", kIpc, kFd, kTimed, "recvmsg")                                                                 \
  X(kSend, "send", kIpc, kFd, kTimed, "send")                                                                          \
  X(kSendto, "sendto", kIpc, kFd, kTimed, "sendto")                                                                    \
  X(kSendmsg, "sendmsg", kIpc, kFd, kTimed, "sendmsg")                                                                 \
  X(kEventfdRead, "eventfd_read", kIpc, kFd, kTimed, "eventfd_read")                                                   \
  X(kEventfdWrite, "eventfd_write", kIpc, kFd, kTimed, "eventfd_write")                                                \
  X(kNanosleep, "nanosleep", kSleep, kNone, kTimed, "nanosleep")                                                       \
  X(kClockNanosleep, "clock_nanosleep", kSleep, kNone, kTimed, "clock_nanosleep")                                      \
  X(kUsleep, "usleep", kSleep, kNone, kTimed, "usleep")                                                                \
  X(kSchedYield, "sched_yield", kSpin, kNone, kStorm, "sched_yield pthread_yield")                                     \
  X(kPthreadCreate, "pthread_create", kNone, kThread, kTimed, "pthread_create")                                        \
  X(kAccept, "accept", kIpc, kFd, kTimed, "accept accept4")                                                            \
  X(kConnect, "connect", kIpc, kFd, kTimed, "connect")                                                                 \
  X(kPthreadRwlockTimedrdlock, "pthread_rwlock_timedrdlock", kLock, kAddress, kTryFirst, "pthread_rwlock_timedrdlock") \
  X(kPthreadRwlockTimedwrlock, "pthread_rwlock_timedwrlock", kLock, kAddress, kTryFirst, "pthread_rwlock_timedwrlock") \
  X(kPthreadRwlockClockrdlock, "pthread_rwlock_clockrdlock", kLock, kAddress, kTryFirst, "pthread_rwlock_clockrdlock") \
  X(kPthreadRwlockClockwrlock, "pthread_rwlock_clockwrlock", kLock, kAddress, kTryFirst, "pthread_rwlock_clockwrlock") \
  X(kPthreadTimedjoinNp, "pthread_timedjoin_np", kJoin, kThread, kTimed, "pthread_timedjoin_np")                       \
  X(kPthreadClockjoinNp, "pthread_clockjoin_np", kJoin, kThread, kTimed, "pthread_clockjoin_np")                       \
  X(kFutexWaitv, "futex_waitv", kFutex, kAddress, kTimed, "syscall")                                                   \
  X(kIoUringEnter, "io_uring_enter", kPoll, kFd, kTimed, "syscall io_uring_enter")                                     \
  X(kPythonGil, "python_gil", kGil, kAddress, kTimed,                                                                  \
    "pthread_cond_timedwait@GLIBC_2.2.5 pthread_cond_timedwait@@GLIBC_2.3.2 pthread_cond_wait@GLIBC_2.2.5 "            \
    "pthread_cond_wait@@GLIBC_2.3.2")                                                                                  \
  X(kFlockfile, "flockfile", kLock, kAddress, kTryFirst, "flockfile")                                                  \
  X(kEpollCtl, "epoll_ctl", kSystem, kFd, kTimed, "epoll_ctl")                                                         \
  X(kPipe, "pipe", kSystem, kNone, kTimed, "pipe")                                                                     \
  X(kPipe2, "pipe2", kSystem, kNone, kTimed, "pipe2")                                                                  \
  X(kSocketpair, "socketpair", kSystem, kNone, kTimed, "socketpair")                                                   \
  X(kPread, "pread", kFile, kFd, kTimed, "pread pread64 __pread_chk __pread64_chk")                                    \
  X(kPwrite, "pwrite", kFile, kFd, kTimed, "pwrite pwrite64")                                                          \
  X(kPreadv, "preadv", kFile, kFd, kTimed, "preadv preadv64")                                                          \
  X(kPwritev, "pwritev", kFile, kFd, kTimed, "pwritev pwritev64")                                                      \
  X(kPreadv2, "preadv2", kFile, kFd, kTimed, "preadv2 preadv64v2")                                                     \
  X(kPwritev2, "pwritev2", kFile, kFd, kTimed, "pwritev2 pwritev64v2")                                                 \
  X(kOpen, "open", kFile, kNone, kTimed, "open open64 __open_2 __open64_2")                                            \
  X(kOpenat, "openat", kFile, kNone, kTimed, "openat openat64 __openat_2 __openat64_2")                                \
  X(kCreat, "creat", kFile, kNone, kTimed, "creat creat64")                                                            \
  X(kFsync, "fsync", kFile, kFd, kTimed, "fsync")                                                                      \
  X(kFdatasync, "fdatasync", kFile, kFd, kTimed, "fdatasync")                                                          \
  X(kSync, "sync", kFile, kNone, kTimed, "sync")                                                                       \
  X(kSyncfs, "syncfs", kFile, kFd, kTimed, "syncfs")                                                                   \
  X(kSyncFileRange, "sync_file_range", kFile, kFd, kTimed, "sync_file_range")                                          \
  X(kMsync, "msync", kFile, kNone, kTimed, "msync")                                                                    \
  X(kFtruncate, "ftruncate", kFile, kFd, kTimed, "ftruncate ftruncate64")                                              \
  X(kFallocate, "fallocate", kFile, kFd, kTimed, "fallocate fallocate64")                                              \
  X(kPosixFallocate, "posix_fallocate", kFile, kFd, kTimed, "posix_fallocate posix_fallocate64")                       \
  X(kFlock, "flock", kFile, kFd, kTimed, "flock")                                                                      \
  X(kLockf, "lockf", kFile, kFd, kTimed, "lockf lockf64")                                                              \
  X(kFcntl, "fcntl", kFile, kFd, kTimed, "fcntl fcntl64")                                                              \
  X(kIoctl, "ioctl", kFile, kFd, kTimed, "ioctl")                                                                      \
  X(kCopyFileRange, "copy_file_range", kFile, kFd, kTimed, "copy_file_range")                                          \
  X(kSendfile, "sendfile", kIpc, kFd, kTimed, "sendfile sendfile64")                                                   \
  X(kSplice, "splice", kIpc, kFd, kTimed, "splice")                                                                    \
  X(kTee, "tee", kIpc, kFd, kTimed, "tee")                                                                             \
  X(kVmsplice, "vmsplice", kIpc, kFd, kTimed, "vmsplice")                                                              \
  X(kDup, "dup", kSystem, kFd, kTimed, "dup")                                                                          \
  X(kDup2, "dup2", kSystem, kFd, kTimed, "dup2")                                                                       \
  X(kDup3, "dup3", kSystem, kFd, kTimed, "dup3")                                                                       \
  X(kMkfifo, "mkfifo", kFile, kNone, kTimed, "mkfifo")                                                                 \
  X(kMkfifoat, "mkfifoat", kFile, kNone, kTimed, "mkfifoat")                                                           \
  X(kRecvmmsg, "recvmmsg", kIpc, kFd, kTimed, "recvmmsg")                                                              \
  X(kSendmmsg, "sendmmsg", kIpc, kFd, kTimed, "sendmmsg")                                                              \
  X(kSocket, "socket", kSystem, kNone, kTimed, "socket")                                                               \
  X(kBind, "bind", kSystem, kFd, kTimed, "bind")                                                                       \
  X(kListen, "listen", kSystem, kFd, kTimed, "listen")                                                                 \
  X(kShutdown, "shutdown", kSystem, kFd, kTimed, "shutdown")                                                           \
  X(kMqOpen, "mq_open", kFile, kNone, kTimed, "mq_open")                                                               \
  X(kMqReceive, "mq_receive", kIpc, kFd, kTimed, "mq_receive")                                                         \
  X(kMqTimedreceive, "mq_timedreceive", kIpc, kFd, kTimed, "mq_timedreceive")                                          \
  X(kMqSend, "mq_send", kIpc, kFd, kTimed, "mq_send")                                                                  \
  X(kMqTimedsend, "mq_timedsend", kIpc, kFd, kTimed, "mq_timedsend")                                                   \
  X(kMqNotify, "mq_notify", kSystem, kFd, kTimed, "mq_notify")                                                         \
  X(kMsgget, "msgget", kSystem, kNone, kTimed, "msgget")                                                               \
  X(kMsgctl, "msgctl", kSystem, kNone, kTimed, "msgctl")                                                               \
  X(kMsgrcv, "msgrcv", kIpc, kNone, kTimed, "msgrcv")                                                                  \
  X(kMsgsnd, "msgsnd", kIpc, kNone, kTimed, "msgsnd")                                                                  \
  X(kSemget, "semget", kSystem, kNone, kTimed, "semget")                                                               \
  X(kSemctl, "semctl", kSystem, kNone, kTimed, "semctl")                                                               \
  X(kSemop, "semop", kSemaphore, kNone, kTimed, "semop")                                                               \
  X(kSemtimedop, "semtimedop", kSemaphore, kNone, kTimed, "semtimedop")                                                \
  X(kShmget, "shmget", kSystem, kNone, kTimed, "shmget")                                                               \
  X(kShmat, "shmat", kSystem, kNone, kTimed, "shmat")                                                                  \
  X(kShmdt, "shmdt", kSystem, kNone, kTimed, "shmdt")                                                                  \
  X(kShmctl, "shmctl", kSystem, kNone, kTimed, "shmctl")                                                               \
  X(kMmap, "mmap", kFile, kNone, kTimed, "mmap mmap64")                                                                \
  X(kMunmap, "munmap", kFile, kNone, kTimed, "munmap")                                                                 \
  X(kMremap, "mremap", kFile, kNone, kTimed, "mremap")                                                                 \
  X(kMprotect, "mprotect", kFile, kNone, kTimed, "mprotect")                                                           \
  X(kMlock, "mlock", kFile, kNone, kTimed, "mlock")                                                                    \
  X(kMlock2, "mlock2", kFile, kNone, kTimed, "mlock2")                                                                 \
  X(kMlockall, "mlockall", kFile, kNone, kTimed, "mlockall")                                                           \
  X(kProcessVmReadv, "process_vm_readv", kFile, kNone, kTimed, "process_vm_readv")                                     \
  X(kProcessVmWritev, "process_vm_writev", kFile, kNone, kTimed, "process_vm_writev")                                  \
  X(kWait, "wait", kJoin, kNone, kTimed, "wait")                                                                       \
  X(kWait3, "wait3", kJoin, kNone, kTimed, "wait3")                                                                    \
  X(kWait4, "wait4", kJoin, kNone, kTimed, "wait4")                                                                    \
  X(kWaitid, "waitid", kJoin, kNone, kTimed, "waitid")                                                                 \
  X(kWaitpid, "waitpid", kJoin, kNone, kTimed, "waitpid")                                                              \
  X(kSystem, "system", kJoin, kNone, kTimed, "system")                                                                 \
  X(kPopen, "popen", kSystem, kNone, kTimed, "popen")                                                                  \
  X(kPosixSpawn, "posix_spawn", kSystem, kNone, kTimed, "posix_spawn@GLIBC_2.2.5 posix_spawn@@GLIBC_2.15")             \
  X(kPosixSpawnp, "posix_spawnp", kSystem, kNone, kTimed, "posix_spawnp@GLIBC_2.2.5 posix_spawnp@@GLIBC_2.15")         \
  X(kKill, "kill", kSystem, kNone, kTimed, "kill")                                                                     \
  X(kKillpg, "killpg", kSystem, kNone, kTimed, "killpg")                                                               \
  X(kTgkill, "tgkill", kSystem, kNone, kTimed, "tgkill")                                                               \
  X(kPthreadKill, "pthread_kill", kSystem, kNone, kTimed, "pthread_kill@GLIBC_2.2.5 pthread_kill@@GLIBC_2.34")         \
  X(kPthreadCancel, "pthread_cancel", kSystem, kThread, kTimed, "pthread_cancel")                                      \
  X(kSigaction, "sigaction", kSystem, kNone, kTimed, "sigaction")                                                      \
  X(kSigsuspend, "sigsuspend", kIpc, kNone, kTimed, "sigsuspend")                                                      \
  X(kSigwait, "sigwait", kIpc, kNone, kTimed, "sigwait")                                                               \
  X(kSigwaitinfo, "sigwaitinfo", kIpc, kNone, kTimed, "sigwaitinfo")                                                   \
  X(kSigtimedwait, "sigtimedwait", kIpc, kNone, kTimed, "sigtimedwait")                                                \
  X(kPause, "pause", kIpc, kNone, kTimed, "pause")                                                                     \
  X(kAlarm, "alarm", kSystem, kNone, kTimed, "alarm")                                                                  \
  X(kSleep, "sleep", kSleep, kNone, kTimed, "sleep")                                                                   \
  X(kPrctl, "prctl", kSystem, kNone, kTimed, "prctl")                                                                  \
  X(kArchPrctl, "arch_prctl", kSystem, kNone, kTimed, "arch_prctl")                                                    \
  X(kPtrace, "ptrace", kSystem, kNone, kTimed, "ptrace")                                                               \
  X(kBrk, "brk", kSystem, kNone, kTimed, "brk")                                                                        \
  X(kAcct, "acct", kSystem, kNone, kTimed, "acct")                                                                     \
  X(kChroot, "chroot", kSystem, kNone, kTimed, "chroot")                                                               \
  X(kIoperm, "ioperm", kSystem, kNone, kTimed, "ioperm")                                                               \
  X(kIopl, "iopl", kSystem, kNone, kTimed, "iopl")                                                                     \
  X(kMount, "mount", kSystem, kNone, kTimed, "mount")                                                                  \
  X(kUmount2, "umount2", kSystem, kNone, kTimed, "umount2")                                                            \
  X(kReboot, "reboot", kSystem, kNone, kTimed, "reboot")                                                               \
  X(kSwapon, "swapon", kSystem, kNone, kTimed, "swapon")                                                               \
  X(kSwapoff, "swapoff", kSystem, kNone, kTimed, "swapoff")                                                            \
  X(kUnshare, "unshare", kSystem, kNone, kTimed, "unshare")                                                            \
  X(kVhangup, "vhangup", kSystem, kNone, kTimed, "vhangup")                                                            \
  X(kAioFsync, "aio_fsync", kFile, kNone, kTimed, "aio_fsync aio_fsync64")                                             \
  X(kAioSuspend, "aio_suspend", kFile, kNone, kTimed, "aio_suspend aio_suspend64")                                     \
  X(kFclose, "fclose", kFile, kFd, kTimed, "fclose")                                                                   \
  X(kFcloseall, "fcloseall", kFile, kNone, kTimed, "fcloseall")                                                        \
  X(kFflush, "fflush", kFile, kFd, kTimed, "fflush fflush_unlocked")                                                   \
  X(kFopen, "fopen", kFile, kNone, kTimed, "fopen fopen64")                                                            \
  X(kFreopen, "freopen", kFile, kFd, kTimed, "freopen freopen64")                                                      \
  X(kFgetc, "fgetc", kFile, kFd, kBuffered, "fgetc fgetc_unlocked")                                                    \
  X(kGetc, "getc", kFile, kFd, kBuffered, "getc getc_unlocked _IO_getc")                                               \
  X(kGetw, "getw", kFile, kFd, kBuffered, "getw")                                                                      \
  X(kFputc, "fputc", kFile, kFd, kBuffered, "fputc fputc_unlocked")                                                    \
  X(kPutc, "putc", kFile, kFd, kBuffered, "putc putc_unlocked _IO_putc")                                               \
  X(kFgets, "fgets", kFile, kFd, kTimed, "fgets fgets_unlocked __fgets_chk __fgets_unlocked_chk")                      \
  X(kFputs, "fputs", kFile, kFd, kTimed, "fputs fputs_unlocked")                                                       \
  X(kFread, "fread", kFile, kFd, kBuffered, "fread fread_unlocked __fread_chk __fread_unlocked_chk")                   \
  X(kFwrite, "fwrite", kFile, kFd, kBuffered, "fwrite fwrite_unlocked")                                                \
  X(kGetdelim, "getdelim", kFile, kFd, kTimed, "getdelim __getdelim")                                                  \
  X(kGetline, "getline", kFile, kFd, kTimed, "getline")                                                                \
  X(kFgetwc, "fgetwc", kFile, kFd, kTimed, "fgetwc fgetwc_unlocked")                                                   \
  X(kGetwc, "getwc", kFile, kFd, kTimed, "getwc getwc_unlocked")                                                       \
  X(kFputwc, "fputwc", kFile, kFd, kTimed, "fputwc fputwc_unlocked")                                                   \
  X(kPutwc, "putwc", kFile, kFd, kTimed, "putwc putwc_unlocked")                                                       \
  X(kFgetws, "fgetws", kFile, kFd, kTimed, "fgetws fgetws_unlocked __fgetws_chk __fgetws_unlocked_chk")                \
  X(kFputws, "fputws", kFile, kFd, kTimed, "fputws fputws_unlocked")                                                   \
  X(kTruncate, "truncate", kFile, kNone, kTimed, "truncate truncate64")

// Names of Nsight Systems' documented list that have no hook here, and why.
// X("name", "reason")
#define STALLSCOPE_OS_CALLS_LEFT_ALONE(X)                                                                        \
  X("pthread_mutex_trylock", "never waits")                                                                      \
  X("pthread_rwlock_tryrdlock", "never waits")                                                                   \
  X("pthread_rwlock_trywrlock", "never waits")                                                                   \
  X("pthread_spin_trylock", "never waits")                                                                       \
  X("sem_trywait", "never waits")                                                                                \
  X("pthread_tryjoin_np", "never waits")                                                                         \
  X("ftrylockfile", "never waits")                                                                               \
  X("vfork",                                                                                                     \
    "a C wrapper around it crashes the caller: the child returns through the frame that the parent still needs") \
  X("fork", "hooked for the process's identity, not timed")                                                      \
  X("forkpty", "forks inside the C library")                                                                     \
  X("bpf", "no function of the C library, only syscall()")                                                       \
  X("membarrier", "no function of the C library, only syscall()")                                                \
  X("move_pages", "no function of the C library (libnuma), only syscall()")                                      \
  X("pivot_root", "no function of the C library, only syscall()")                                                \
  X("seccomp", "no function of the C library, only syscall()")                                                   \
  X("nfsservctl", "gone from Linux")                                                                             \
  X("uselib", "gone from the C library")                                                                         \
  X("_sysctl", "gone from Linux")                                                                                \
  X("rt_sigaction", "a kernel name; the C library's is sigaction")                                               \
  X("rt_sigqueueinfo", "a kernel name, only syscall()")                                                          \
  X("rt_sigsuspend", "a kernel name; the C library's is sigsuspend")                                             \
  X("rt_sigtimedwait", "a kernel name; the C library's is sigtimedwait")                                         \
  X("tgsigqueueinfo", "a kernel name, only syscall()")                                                           \
  X("tkill", "a kernel name, only syscall()")                                                                    \
  X("pselect6", "a kernel name; the C library's is pselect")
