// Hooks that only time the call: one line each. The hook, its real function and its look-up come from here
// (timed_calls.cc); kind, name and rule stand in proto/wire/os_calls.h under the same enumerator. Calls that also make a
// descriptor known are in descriptor_calls.h.
//
// X(enumerator, return type, symbol, (parameters), (arguments), object, whether the call may wait, how it tells failure)
//   variadic functions have their optional argument spelled out: on x86-64 it is in a register whether it was given or not
#pragma once

#define STALLSCOPE_TIMED_CALLS(X)                                                                                      \
  X(kPread, ssize_t, pread, (int fd, void* buffer, size_t bytes, off_t offset), (fd, buffer, bytes, offset),           \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPread, ssize_t, pread64, (int fd, void* buffer, size_t bytes, off_t offset), (fd, buffer, bytes, offset),         \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPread, ssize_t, __pread_chk, (int fd, void* buffer, size_t bytes, off_t offset, size_t room),                     \
    (fd, buffer, bytes, offset, room), wire::FdObject(fd), true, kErrno)                                               \
  X(kPread, ssize_t, __pread64_chk, (int fd, void* buffer, size_t bytes, off_t offset, size_t room),                   \
    (fd, buffer, bytes, offset, room), wire::FdObject(fd), true, kErrno)                                               \
  X(kPwrite, ssize_t, pwrite, (int fd, const void* buffer, size_t bytes, off_t offset), (fd, buffer, bytes, offset),   \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPwrite, ssize_t, pwrite64, (int fd, const void* buffer, size_t bytes, off_t offset), (fd, buffer, bytes, offset), \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPreadv, ssize_t, preadv, (int fd, const iovec* pieces, int count, off_t offset), (fd, pieces, count, offset),     \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPreadv, ssize_t, preadv64, (int fd, const iovec* pieces, int count, off_t offset), (fd, pieces, count, offset),   \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPwritev, ssize_t, pwritev, (int fd, const iovec* pieces, int count, off_t offset), (fd, pieces, count, offset),   \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPwritev, ssize_t, pwritev64, (int fd, const iovec* pieces, int count, off_t offset), (fd, pieces, count, offset), \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPreadv2, ssize_t, preadv2, (int fd, const iovec* pieces, int count, off_t offset, int flags),                     \
    (fd, pieces, count, offset, flags), wire::FdObject(fd), true, kErrno)                                              \
  X(kPreadv2, ssize_t, preadv64v2, (int fd, const iovec* pieces, int count, off_t offset, int flags),                  \
    (fd, pieces, count, offset, flags), wire::FdObject(fd), true, kErrno)                                              \
  X(kPwritev2, ssize_t, pwritev2, (int fd, const iovec* pieces, int count, off_t offset, int flags),                   \
    (fd, pieces, count, offset, flags), wire::FdObject(fd), true, kErrno)                                              \
  X(kPwritev2, ssize_t, pwritev64v2, (int fd, const iovec* pieces, int count, off_t offset, int flags),                \
    (fd, pieces, count, offset, flags), wire::FdObject(fd), true, kErrno)                                              \
  X(kFsync, int, fsync, (int fd), (fd), wire::FdObject(fd), true, kErrno)                                              \
  X(kFdatasync, int, fdatasync, (int fd), (fd), wire::FdObject(fd), true, kErrno)                                      \
  X(kSync, void, sync, (), (), 0, true, kErrno)                                                                        \
  X(kSyncfs, int, syncfs, (int fd), (fd), wire::FdObject(fd), true, kErrno)                                            \
  X(kSyncFileRange, int, sync_file_range, (int fd, off_t offset, off_t bytes, unsigned flags),                         \
    (fd, offset, bytes, flags), wire::FdObject(fd), true, kErrno)                                                      \
  X(kMsync, int, msync, (void* address, size_t bytes, int flags), (address, bytes, flags), 0, true, kErrno)            \
  X(kFtruncate, int, ftruncate, (int fd, off_t bytes), (fd, bytes), wire::FdObject(fd), true, kErrno)                  \
  X(kFtruncate, int, ftruncate64, (int fd, off_t bytes), (fd, bytes), wire::FdObject(fd), true, kErrno)                \
  X(kTruncate, int, truncate, (const char* path, off_t bytes), (path, bytes), 0, true, kErrno)                         \
  X(kTruncate, int, truncate64, (const char* path, off_t bytes), (path, bytes), 0, true, kErrno)                       \
  X(kFallocate, int, fallocate, (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes),              \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kFallocate, int, fallocate64, (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes),            \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kPosixFallocate, int, posix_fallocate, (int fd, off_t offset, off_t bytes), (fd, offset, bytes),                   \
    wire::FdObject(fd), true, kErrorNumber)                                                                            \
  X(kPosixFallocate, int, posix_fallocate64, (int fd, off_t offset, off_t bytes), (fd, offset, bytes),                 \
    wire::FdObject(fd), true, kErrorNumber)                                                                            \
  X(kFlock, int, flock, (int fd, int operation), (fd, operation), wire::FdObject(fd), true, kErrno)                    \
  X(kLockf, int, lockf, (int fd, int command, off_t bytes), (fd, command, bytes), wire::FdObject(fd), true, kErrno)    \
  X(kLockf, int, lockf64, (int fd, int command, off_t bytes), (fd, command, bytes), wire::FdObject(fd), true, kErrno)  \
  X(kIoctl, int, ioctl, (int fd, unsigned long request, long argument), (fd, request, argument), wire::FdObject(fd),   \
    true, kErrno)                                                                                                      \
  X(kCopyFileRange, ssize_t, copy_file_range,                                                                          \
    (int in, off_t* in_offset, int out, off_t* out_offset, size_t bytes, unsigned flags),                              \
    (in, in_offset, out, out_offset, bytes, flags), wire::FdObject(in), true, kErrno)                                  \
  X(kSendfile, ssize_t, sendfile, (int fd, int in, off_t* offset, size_t bytes), (fd, in, offset, bytes),              \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kSendfile, ssize_t, sendfile64, (int fd, int in, off_t* offset, size_t bytes), (fd, in, offset, bytes),            \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kSplice, ssize_t, splice, (int fd, off_t* in_offset, int out, off_t* out_offset, size_t bytes, unsigned flags),    \
    (fd, in_offset, out, out_offset, bytes, flags), wire::FdObject(fd), true, kErrno)                                  \
  X(kTee, ssize_t, tee, (int fd, int out, size_t bytes, unsigned flags), (fd, out, bytes, flags), wire::FdObject(fd),  \
    true, kErrno)                                                                                                      \
  X(kVmsplice, ssize_t, vmsplice, (int fd, const iovec* pieces, size_t count, unsigned flags),                         \
    (fd, pieces, count, flags), wire::FdObject(fd), true, kErrno)                                                      \
  X(kMkfifo, int, mkfifo, (const char* path, mode_t mode), (path, mode), 0, true, kErrno)                              \
  X(kMkfifoat, int, mkfifoat, (int folder, const char* path, mode_t mode), (folder, path, mode), 0, true, kErrno)      \
  X(kBind, int, bind, (int fd, const sockaddr* address, socklen_t bytes), (fd, address, bytes), wire::FdObject(fd),    \
    true, kErrno)                                                                                                      \
  X(kListen, int, listen, (int fd, int backlog), (fd, backlog), wire::FdObject(fd), true, kErrno)                      \
  X(kShutdown, int, shutdown, (int fd, int how), (fd, how), wire::FdObject(fd), true, kErrno)                          \
  X(kMqOpen, mqd_t, mq_open, (const char* name, int flags, mode_t mode, mq_attr* attributes),                          \
    (name, flags, mode, attributes), 0, true, kErrno)                                                                  \
  X(kMqReceive, ssize_t, mq_receive, (mqd_t fd, char* text, size_t bytes, unsigned* priority),                         \
    (fd, text, bytes, priority), wire::FdObject(fd), true, kErrno)                                                     \
  X(kMqTimedreceive, ssize_t, mq_timedreceive,                                                                         \
    (mqd_t fd, char* text, size_t bytes, unsigned* priority, const timespec* deadline),                                \
    (fd, text, bytes, priority, deadline), wire::FdObject(fd), true, kErrno)                                           \
  X(kMqSend, int, mq_send, (mqd_t fd, const char* text, size_t bytes, unsigned priority), (fd, text, bytes, priority), \
    wire::FdObject(fd), true, kErrno)                                                                                  \
  X(kMqTimedsend, int, mq_timedsend,                                                                                   \
    (mqd_t fd, const char* text, size_t bytes, unsigned priority, const timespec* deadline),                           \
    (fd, text, bytes, priority, deadline), wire::FdObject(fd), true, kErrno)                                           \
  X(kMqNotify, int, mq_notify, (mqd_t fd, const sigevent* event), (fd, event), wire::FdObject(fd), true, kErrno)       \
  X(kMsgget, int, msgget, (key_t key, int flags), (key, flags), 0, true, kErrno)                                       \
  X(kMsgctl, int, msgctl, (int id, int command, msqid_ds* buffer), (id, command, buffer), 0, true, kErrno)             \
  X(kMsgrcv, ssize_t, msgrcv, (int id, void* text, size_t bytes, long type, int flags),                                \
    (id, text, bytes, type, flags), 0, true, kErrno)                                                                   \
  X(kMsgsnd, int, msgsnd, (int id, const void* text, size_t bytes, int flags), (id, text, bytes, flags), 0, true,      \
    kErrno)                                                                                                            \
  X(kSemget, int, semget, (key_t key, int count, int flags), (key, count, flags), 0, true, kErrno)                     \
  X(kSemctl, int, semctl, (int id, int number, int command, long argument), (id, number, command, argument), 0, true,  \
    kErrno)                                                                                                            \
  X(kSemop, int, semop, (int id, sembuf* operations, size_t count), (id, operations, count), 0, true, kErrno)          \
  X(kSemtimedop, int, semtimedop, (int id, sembuf* operations, size_t count, const timespec* timeout),                 \
    (id, operations, count, timeout), 0, true, kErrno)                                                                 \
  X(kShmget, int, shmget, (key_t key, size_t bytes, int flags), (key, bytes, flags), 0, true, kErrno)                  \
  X(kShmat, void*, shmat, (int id, const void* address, int flags), (id, address, flags), 0, true, kErrno)             \
  X(kShmdt, int, shmdt, (const void* address), (address), 0, true, kErrno)                                             \
  X(kShmctl, int, shmctl, (int id, int command, shmid_ds* buffer), (id, command, buffer), 0, true, kErrno)             \
  X(kMmap, void*, mmap, (void* address, size_t bytes, int protection, int flags, int fd, off_t offset),                \
    (address, bytes, protection, flags, fd, offset), 0, true, kErrno)                                                  \
  X(kMmap, void*, mmap64, (void* address, size_t bytes, int protection, int flags, int fd, off_t offset),              \
    (address, bytes, protection, flags, fd, offset), 0, true, kErrno)                                                  \
  X(kMunmap, int, munmap, (void* address, size_t bytes), (address, bytes), 0, true, kErrno)                            \
  X(kMremap, void*, mremap, (void* address, size_t bytes, size_t new_bytes, int flags, void* new_address),             \
    (address, bytes, new_bytes, flags, new_address), 0, true, kErrno)                                                  \
  X(kMprotect, int, mprotect, (void* address, size_t bytes, int protection), (address, bytes, protection), 0, true,    \
    kErrno)                                                                                                            \
  X(kMlock, int, mlock, (const void* address, size_t bytes), (address, bytes), 0, true, kErrno)                        \
  X(kMlock2, int, mlock2, (const void* address, size_t bytes, unsigned flags), (address, bytes, flags), 0, true,       \
    kErrno)                                                                                                            \
  X(kMlockall, int, mlockall, (int flags), (flags), 0, true, kErrno)                                                   \
  X(kProcessVmReadv, ssize_t, process_vm_readv,                                                                        \
    (pid_t pid, const iovec* local, unsigned long locals, const iovec* remote, unsigned long remotes,                  \
     unsigned long flags),                                                                                             \
    (pid, local, locals, remote, remotes, flags), 0, true, kErrno)                                                     \
  X(kProcessVmWritev, ssize_t, process_vm_writev,                                                                      \
    (pid_t pid, const iovec* local, unsigned long locals, const iovec* remote, unsigned long remotes,                  \
     unsigned long flags),                                                                                             \
    (pid, local, locals, remote, remotes, flags), 0, true, kErrno)                                                     \
  X(kWait, pid_t, wait, (int* status), (status), 0, true, kErrno)                                                      \
  X(kWait3, pid_t, wait3, (int* status, int options, rusage* usage), (status, options, usage), 0, true, kErrno)        \
  X(kWait4, pid_t, wait4, (pid_t pid, int* status, int options, rusage* usage), (pid, status, options, usage), 0,      \
    true, kErrno)                                                                                                      \
  X(kWaitid, int, waitid, (idtype_t what, id_t id, siginfo_t * information, int options),                              \
    (what, id, information, options), 0, true, kErrno)                                                                 \
  X(kWaitpid, pid_t, waitpid, (pid_t pid, int* status, int options), (pid, status, options), 0, true, kErrno)          \
  X(kSystem, int, system, (const char* command), (command), 0, true, kErrno)                                           \
  X(kPopen, FILE*, popen, (const char* command, const char* mode), (command, mode), 0, true, kErrno)                   \
  X(kKill, int, kill, (pid_t pid, int number), (pid, number), 0, true, kErrno)                                         \
  X(kKillpg, int, killpg, (pid_t group, int number), (group, number), 0, true, kErrno)                                 \
  X(kTgkill, int, tgkill, (pid_t process, pid_t thread, int number), (process, thread, number), 0, true, kErrno)       \
  X(kPthreadCancel, int, pthread_cancel, (pthread_t thread), (thread), static_cast<uint64_t>(thread), true,            \
    kErrorNumber)                                                                                                      \
  X(kSigaction, int, sigaction, (int number, const struct sigaction* action, struct sigaction* old),                   \
    (number, action, old), 0, true, kErrno)                                                                            \
  X(kSigsuspend, int, sigsuspend, (const sigset_t* mask), (mask), 0, true, kErrno)                                     \
  X(kSigwait, int, sigwait, (const sigset_t* set, int* number), (set, number), 0, true, kErrorNumber)                  \
  X(kSigwaitinfo, int, sigwaitinfo, (const sigset_t* set, siginfo_t* information), (set, information), 0, true,        \
    kErrno)                                                                                                            \
  X(kSigtimedwait, int, sigtimedwait, (const sigset_t* set, siginfo_t* information, const timespec* timeout),          \
    (set, information, timeout), 0, true, kErrno)                                                                      \
  X(kPause, int, pause, (), (), 0, true, kErrno)                                                                       \
  X(kAlarm, unsigned, alarm, (unsigned seconds), (seconds), 0, true, kErrno)                                           \
  X(kSleep, unsigned, sleep, (unsigned seconds), (seconds), 0, true, kErrno)                                           \
  X(kArchPrctl, int, arch_prctl, (int option, unsigned long address), (option, address), 0, true, kErrno)              \
  X(kPtrace, long, ptrace, (int request, pid_t pid, void* address, void* data), (request, pid, address, data), 0,      \
    true, kErrno)                                                                                                      \
  X(kBrk, int, brk, (void* address), (address), 0, true, kErrno)                                                       \
  X(kAcct, int, acct, (const char* path), (path), 0, true, kErrno)                                                     \
  X(kChroot, int, chroot, (const char* path), (path), 0, true, kErrno)                                                 \
  X(kIoperm, int, ioperm, (unsigned long from, unsigned long count, int on), (from, count, on), 0, true, kErrno)       \
  X(kIopl, int, iopl, (int level), (level), 0, true, kErrno)                                                           \
  X(kMount, int, mount,                                                                                                \
    (const char* source, const char* target, const char* type, unsigned long flags, const void* options),              \
    (source, target, type, flags, options), 0, true, kErrno)                                                           \
  X(kUmount2, int, umount2, (const char* target, int flags), (target, flags), 0, true, kErrno)                         \
  X(kReboot, int, reboot, (int command), (command), 0, true, kErrno)                                                   \
  X(kSwapon, int, swapon, (const char* path, int flags), (path, flags), 0, true, kErrno)                               \
  X(kSwapoff, int, swapoff, (const char* path), (path), 0, true, kErrno)                                               \
  X(kUnshare, int, unshare, (int flags), (flags), 0, true, kErrno)                                                     \
  X(kVhangup, int, vhangup, (), (), 0, true, kErrno)                                                                   \
  X(kAioFsync, int, aio_fsync, (int operation, aiocb* block), (operation, block), 0, true, kErrno)                     \
  X(kAioFsync, int, aio_fsync64, (int operation, aiocb64* block), (operation, block), 0, true, kErrno)                 \
  X(kAioSuspend, int, aio_suspend, (const aiocb* const* blocks, int count, const timespec* timeout),                   \
    (blocks, count, timeout), 0, true, kErrno)                                                                         \
  X(kAioSuspend, int, aio_suspend64, (const aiocb64* const* blocks, int count, const timespec* timeout),               \
    (blocks, count, timeout), 0, true, kErrno)                                                                         \
  X(kFclose, int, fclose, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                               \
  X(kFcloseall, int, fcloseall, (), (), 0, true, kErrno)                                                               \
  X(kFflush, int, fflush, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                               \
  X(kFflush, int, fflush_unlocked, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                      \
  X(kFopen, FILE*, fopen, (const char* path, const char* mode), (path, mode), 0, true, kErrno)                         \
  X(kFopen, FILE*, fopen64, (const char* path, const char* mode), (path, mode), 0, true, kErrno)                       \
  X(kFreopen, FILE*, freopen, (const char* path, const char* mode, FILE* stream), (path, mode, stream),                \
    StreamObject(stream), true, kErrno)                                                                                \
  X(kFreopen, FILE*, freopen64, (const char* path, const char* mode, FILE* stream), (path, mode, stream),              \
    StreamObject(stream), true, kErrno)                                                                                \
  X(kFgetc, int, fgetc, (FILE * stream), (stream), StreamObject(stream), !ReadsFromBuffer(stream, 1), kErrno)          \
  X(kFgetc, int, fgetc_unlocked, (FILE * stream), (stream), StreamObject(stream), !ReadsFromBuffer(stream, 1), kErrno) \
  X(kGetc, int, getc, (FILE * stream), (stream), StreamObject(stream), !ReadsFromBuffer(stream, 1), kErrno)            \
  X(kGetc, int, getc_unlocked, (FILE * stream), (stream), StreamObject(stream), !ReadsFromBuffer(stream, 1), kErrno)   \
  X(kGetc, int, _IO_getc, (FILE * stream), (stream), StreamObject(stream), !ReadsFromBuffer(stream, 1), kErrno)        \
  X(kGetw, int, getw, (FILE * stream), (stream), StreamObject(stream), !ReadsFromBuffer(stream, sizeof(int)), kErrno)  \
  X(kFputc, int, fputc, (int character, FILE* stream), (character, stream), StreamObject(stream),                      \
    !WritesToBuffer(stream, 1), kErrno)                                                                                \
  X(kFputc, int, fputc_unlocked, (int character, FILE* stream), (character, stream), StreamObject(stream),             \
    !WritesToBuffer(stream, 1), kErrno)                                                                                \
  X(kPutc, int, putc, (int character, FILE* stream), (character, stream), StreamObject(stream),                        \
    !WritesToBuffer(stream, 1), kErrno)                                                                                \
  X(kPutc, int, putc_unlocked, (int character, FILE* stream), (character, stream), StreamObject(stream),               \
    !WritesToBuffer(stream, 1), kErrno)                                                                                \
  X(kPutc, int, _IO_putc, (int character, FILE* stream), (character, stream), StreamObject(stream),                    \
    !WritesToBuffer(stream, 1), kErrno)                                                                                \
  X(kFgets, char*, fgets, (char* text, int bytes, FILE* stream), (text, bytes, stream), StreamObject(stream), true,    \
    kErrno)                                                                                                            \
  X(kFgets, char*, fgets_unlocked, (char* text, int bytes, FILE* stream), (text, bytes, stream), StreamObject(stream), \
    true, kErrno)                                                                                                      \
  X(kFgets, char*, __fgets_chk, (char* text, size_t room, int bytes, FILE* stream), (text, room, bytes, stream),       \
    StreamObject(stream), true, kErrno)                                                                                \
  X(kFgets, char*, __fgets_unlocked_chk, (char* text, size_t room, int bytes, FILE* stream),                           \
    (text, room, bytes, stream), StreamObject(stream), true, kErrno)                                                   \
  X(kFputs, int, fputs, (const char* text, FILE* stream), (text, stream), StreamObject(stream), true, kErrno)          \
  X(kFputs, int, fputs_unlocked, (const char* text, FILE* stream), (text, stream), StreamObject(stream), true, kErrno) \
  X(kFread, size_t, fread, (void* buffer, size_t bytes, size_t count, FILE* stream), (buffer, bytes, count, stream),   \
    StreamObject(stream), !ReadsFromBuffer(stream, bytes * count), kErrno)                                             \
  X(kFread, size_t, fread_unlocked, (void* buffer, size_t bytes, size_t count, FILE* stream),                          \
    (buffer, bytes, count, stream), StreamObject(stream), !ReadsFromBuffer(stream, bytes * count), kErrno)             \
  X(kFread, size_t, __fread_chk, (void* buffer, size_t room, size_t bytes, size_t count, FILE* stream),                \
    (buffer, room, bytes, count, stream), StreamObject(stream), !ReadsFromBuffer(stream, bytes * count), kErrno)       \
  X(kFread, size_t, __fread_unlocked_chk, (void* buffer, size_t room, size_t bytes, size_t count, FILE* stream),       \
    (buffer, room, bytes, count, stream), StreamObject(stream), !ReadsFromBuffer(stream, bytes * count), kErrno)       \
  X(kFwrite, size_t, fwrite, (const void* buffer, size_t bytes, size_t count, FILE* stream),                           \
    (buffer, bytes, count, stream), StreamObject(stream), !WritesToBuffer(stream, bytes * count), kErrno)              \
  X(kFwrite, size_t, fwrite_unlocked, (const void* buffer, size_t bytes, size_t count, FILE* stream),                  \
    (buffer, bytes, count, stream), StreamObject(stream), !WritesToBuffer(stream, bytes * count), kErrno)              \
  X(kGetdelim, ssize_t, getdelim, (char** line, size_t* room, int delimiter, FILE* stream),                            \
    (line, room, delimiter, stream), StreamObject(stream), true, kErrno)                                               \
  X(kGetdelim, ssize_t, __getdelim, (char** line, size_t* room, int delimiter, FILE* stream),                          \
    (line, room, delimiter, stream), StreamObject(stream), true, kErrno)                                               \
  X(kGetline, ssize_t, getline, (char** line, size_t* room, FILE* stream), (line, room, stream), StreamObject(stream), \
    true, kErrno)                                                                                                      \
  X(kFgetwc, wint_t, fgetwc, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                            \
  X(kFgetwc, wint_t, fgetwc_unlocked, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                   \
  X(kGetwc, wint_t, getwc, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                              \
  X(kGetwc, wint_t, getwc_unlocked, (FILE * stream), (stream), StreamObject(stream), true, kErrno)                     \
  X(kFputwc, wint_t, fputwc, (wchar_t character, FILE * stream), (character, stream), StreamObject(stream), true,      \
    kErrno)                                                                                                            \
  X(kFputwc, wint_t, fputwc_unlocked, (wchar_t character, FILE * stream), (character, stream), StreamObject(stream),   \
    true, kErrno)                                                                                                      \
  X(kPutwc, wint_t, putwc, (wchar_t character, FILE * stream), (character, stream), StreamObject(stream), true,        \
    kErrno)                                                                                                            \
  X(kPutwc, wint_t, putwc_unlocked, (wchar_t character, FILE * stream), (character, stream), StreamObject(stream),     \
    true, kErrno)                                                                                                      \
  X(kFgetws, wchar_t*, fgetws, (wchar_t * text, int count, FILE* stream), (text, count, stream), StreamObject(stream), \
    true, kErrno)                                                                                                      \
  X(kFgetws, wchar_t*, fgetws_unlocked, (wchar_t * text, int count, FILE* stream), (text, count, stream),              \
    StreamObject(stream), true, kErrno)                                                                                \
  X(kFgetws, wchar_t*, __fgetws_chk, (wchar_t * text, size_t room, int count, FILE* stream),                           \
    (text, room, count, stream), StreamObject(stream), true, kErrno)                                                   \
  X(kFgetws, wchar_t*, __fgetws_unlocked_chk, (wchar_t * text, size_t room, int count, FILE* stream),                  \
    (text, room, count, stream), StreamObject(stream), true, kErrno)                                                   \
  X(kFputws, int, fputws, (const wchar_t* text, FILE* stream), (text, stream), StreamObject(stream), true, kErrno)     \
  X(kFputws, int, fputws_unlocked, (const wchar_t* text, FILE* stream), (text, stream), StreamObject(stream), true,    \
    kErrno)
