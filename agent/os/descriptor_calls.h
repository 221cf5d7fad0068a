// Hooks that time the call (timed_calls.h) and note what it made of a descriptor (fd_table.h).
//
// X(enumerator, symbol, (parameters), (arguments), object, note)     `note` sees the call's `result`; all return int and tell
//   failure by errno. Variadic functions as in timed_calls.h.
#pragma once

#define STALLSCOPE_DESCRIPTOR_CALLS(X)                                                                             \
  X(kOpen, open, (const char* path, int flags, mode_t mode), (path, flags, mode), 0, NoteOpened(result, flags))    \
  X(kOpen, open64, (const char* path, int flags, mode_t mode), (path, flags, mode), 0, NoteOpened(result, flags))  \
  X(kOpen, __open_2, (const char* path, int flags), (path, flags), 0, NoteOpened(result, flags))                   \
  X(kOpen, __open64_2, (const char* path, int flags), (path, flags), 0, NoteOpened(result, flags))                 \
  X(kOpenat, openat, (int folder, const char* path, int flags, mode_t mode), (folder, path, flags, mode), 0,       \
    NoteOpened(result, flags))                                                                                     \
  X(kOpenat, openat64, (int folder, const char* path, int flags, mode_t mode), (folder, path, flags, mode), 0,     \
    NoteOpened(result, flags))                                                                                     \
  X(kOpenat, __openat_2, (int folder, const char* path, int flags), (folder, path, flags), 0,                      \
    NoteOpened(result, flags))                                                                                     \
  X(kOpenat, __openat64_2, (int folder, const char* path, int flags), (folder, path, flags), 0,                    \
    NoteOpened(result, flags))                                                                                     \
  X(kCreat, creat, (const char* path, mode_t mode), (path, mode), 0, NoteOpened(result, O_CREAT))                  \
  X(kCreat, creat64, (const char* path, mode_t mode), (path, mode), 0, NoteOpened(result, O_CREAT))                \
  X(kDup, dup, (int fd), (fd), wire::FdObject(fd), NoteCopied(fd, result))                                         \
  X(kDup2, dup2, (int fd, int target), (fd, target), wire::FdObject(fd), NoteCopied(fd, result))                   \
  X(kDup3, dup3, (int fd, int target, int flags), (fd, target, flags), wire::FdObject(fd), NoteCopied(fd, result)) \
  X(kFcntl, fcntl, (int fd, int command, long argument), (fd, command, argument), wire::FdObject(fd),              \
    NoteFcntl(fd, command, result))                                                                                \
  X(kFcntl, fcntl64, (int fd, int command, long argument), (fd, command, argument), wire::FdObject(fd),            \
    NoteFcntl(fd, command, result))                                                                                \
  X(kSocket, socket, (int domain, int type, int protocol), (domain, type, protocol), 0, NoteSocket(result))
