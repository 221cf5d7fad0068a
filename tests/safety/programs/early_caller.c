/* A library whose IFUNC resolver makes every hooked call: the one that the command line names first, then all of them. It runs while
 * the loader relocates this library, which is before any library of LD_PRELOAD. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "early_calls.inc"

int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t full, empty;
static const struct timespec past = {1, 0}, tiny = {0, 1000}, bad_time = {0, -1}, no_wait = {0, 0};
static struct timeval no_time;
static struct pollfd bad_fd = {1000, POLLIN, 0};
static struct epoll_event event;
static struct iovec piece;
static struct msghdr message;
static sigset_t no_signals;
static eventfd_t value;
static char byte;
static int word, waited_once;

static long raw(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

static void wait_once(void) { waited_once = 1 + usleep(1); }
static long locked_twice(void) {
  pthread_mutex_trylock(&checked);
  const int result = pthread_mutex_lock(&checked);
  return result * 100 + pthread_mutex_unlock(&checked) * 10 + pthread_mutex_unlock(&checked);
}
static long condition_wait(int by_clock) {
  pthread_mutex_trylock(&mutex);
  const int result = by_clock ? pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past)
                              : pthread_cond_timedwait(&condition, &mutex, &past);
  return result + pthread_mutex_unlock(&mutex);
}
static long through_a_pipe(int kind) {
  int ends[2];
  char text[4] = "abc", copy[4] = "";
  const int made = kind == 0   ? pipe(ends)
                   : kind == 1 ? pipe2(ends, O_CLOEXEC)
                               : socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  struct pollfd end = {ends[0], POLLIN, 0};
  const long nothing = poll(&end, 1, 1), written = write(ends[1], text, 3), something = poll(&end, 1, 100);
  const long got = read(ends[0], copy, 3);
  return made * 1000 + nothing * 100 + written * 10 + something + got + copy[2] + close(ends[0]) + close(ends[1]);
}
static long an_eventfd(void) {
  const int fd = eventfd(0, EFD_NONBLOCK);
  const long empty_read = eventfd_read(fd, &value);
  return empty_read * 10 + eventfd_write(fd, 5) + eventfd_read(fd, &value) + (long)value + close(fd);
}
static long an_epoll_set(void) {
  const int set = epoll_create1(0), fd = eventfd(1, 0);
  struct epoll_event in = {EPOLLIN, {0}}, out;
  const long added = epoll_ctl(set, EPOLL_CTL_ADD, fd, &in), ready = epoll_wait(set, &out, 1, 100);
  return added * 10 + ready + close(set) + close(fd);
}
static long a_mapping(void) {
  char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory[5] = 7;
  return memory[5] + mprotect(memory, 4096, PROT_READ) + munmap(memory, 4096);
}
static long a_stream(void) {
  FILE *stream = fopen("/dev/null", "r+");
  char line[8];
  flockfile(stream);
  funlockfile(stream);
  return fputs("abc", stream) + fflush(stream) + fputc('d', stream) + (fgets(line, 8, stream) == NULL) + fclose(stream);
}
static long unhooked_fork(void) { return raw(SYS_fork, 0, 0, 0); }
static long exit_code_of(long child, int how) {
  char *arguments[] = {"true", NULL}, *environment[] = {NULL};
  if (child == 0) {
    if (how == 1) _Exit(41);
    if (how == 2) execve("/no/such/program", arguments, environment), execve("/bin/true", arguments, environment);
    if (how == 3) execv("/no/such/program", arguments);
    if (how == 4) execl("/no/such/program", "true", NULL);
    if (how == 5) execvp("/no/such/program", arguments);
    _exit(errno + 40);
  }
  int status = -1;
  const long ended = waitpid((pid_t)child, &status, 0);
  return ended == child ? status : -1;
}
static long a_program(void) {
  char *arguments[] = {"true", NULL}, *environment[] = {NULL};
  pid_t child;
  const int made = posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment);
  return made != 0 ? made : exit_code_of(child, 0);
}

enum {
#define X(name, expression) kCall_##name,
  EARLY_CALLS(X)
#undef X
      kCalls
};

static long results[kCalls], first_result, first_error;
static int errors[kCalls];

static long make(int which) {
  errno = 12345;
  switch (which) {
#define X(name, expression) \
  case kCall_##name:        \
    return (expression);
    EARLY_CALLS(X)
#undef X
  }
  return -99;
}

static int plain_answer(void) { return 1; }
static int (*choose(void))(void) {
  char line[4096] = "";
  const long fd = raw(SYS_open, (long)"/proc/self/cmdline", O_RDONLY, 0);
  raw(SYS_read, fd, (long)line, sizeof(line) - 1);
  raw(SYS_close, fd, 0, 0);
  const char *digit = line;
  while (*digit != '\0') ++digit;
  int first = 0;
  if (*++digit == '\0') return plain_answer;
  for (; *digit != '\0'; ++digit) first = first * 10 + (*digit - '0');
  pthread_spin_init(&spin, 0);
  sem_init(&full, 0, 1);
  sem_init(&empty, 0, 0);
  first_result = make(first);
  first_error = errno;
  for (int i = 0; i < kCalls; ++i) {
    results[i] = make(i);
    errors[i] = errno;
  }
  return plain_answer;
}
static int answer(void) __attribute__((ifunc("choose")));

int early_answer(void) { return answer(); }
int early_call_count(void) { return kCalls; }
void early_first_result(long *result, long *error) { *result = first_result, *error = first_error; }
void early_result(int call, const char **name, long *result, long *error) {
  static const char *const names[] = {
#define X(name, expression) #name,
      EARLY_CALLS(X)
#undef X
  };
  *name = names[call], *result = results[call], *error = errors[call];
}
/* And again when everything is in its place. */
long early_again(int call) { return make(call); }
