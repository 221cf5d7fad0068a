/* Pointers that the kernel refuses: the answer is EFAULT, from the real call, and nobody reads them on the way. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "check.h"

static void *bad;
static int epoll_fd, pair[2];
static int word = 1;

#define FAILS(call)                                       \
  do {                                                    \
    errno = 0;                                            \
    const long result = (long)(call);                     \
    printf("%-70s %ld errno %d\n", #call, result, errno); \
  } while (0)

static void ask_all(void) {
  const struct timespec soon = {0, 1000000};
  struct timeval soon_us = {0, 1000};
  FAILS(poll(bad, 1, 10));
  FAILS(poll(bad, 3, -1));
  FAILS(poll(bad, 1, 0));
  FAILS(poll(NULL, 2, 10));
  FAILS(poll(NULL, 0, 1));
  FAILS(poll(bad, 1000, 10));
  FAILS(ppoll(bad, 1, &soon, NULL));
  FAILS(ppoll(bad, 2, NULL, NULL));
  FAILS(ppoll(NULL, 0, &soon, NULL));
  FAILS(select(8, bad, NULL, NULL, &soon_us));
  FAILS(epoll_wait(epoll_fd, bad, 1, 1));
  FAILS(epoll_pwait(epoll_fd, bad, 1, 1, NULL));
  FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, bad, NULL, 0));
  FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, bad, NULL, FUTEX_BITSET_MATCH_ANY));
  FAILS(syscall(SYS_futex, bad, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0));
  FAILS(syscall(SYS_futex, bad, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  FAILS(read(pair[0], bad, 4));
  FAILS(write(pair[1], bad, 4));
  FAILS(recvmsg(pair[0], bad, 0));
  FAILS(sendmsg(pair[1], bad, 0));
  FAILS(nanosleep(bad, NULL));
  FAILS(clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
  /* Refused before the deadline is looked at. */
  pthread_mutexattr_t kind;
  pthread_mutex_t mutex;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &kind);
  pthread_mutex_lock(&mutex);
  SEE(pthread_mutex_timedlock(&mutex, bad));
  SEE(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, bad));
  pthread_mutex_unlock(&mutex);
}

static void *in_thread(void *unused) {
  ask_all();
  return unused;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  epoll_fd = epoll_create1(0);
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  MUST(write(pair[1], "12345678", 8) == 8);
  struct epoll_event event = {EPOLLIN, {0}};
  MUST(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pair[0], &event) == 0);
  ask_all();
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, in_thread, NULL) == 0);
  MUST(pthread_join(thread, NULL) == 0);
  /* A ready and an unready poll are as ever. */
  struct pollfd fds[2] = {{pair[1], POLLIN, 0}, {pair[0], POLLIN, 0}};
  SEE(poll(fds, 2, -1));
  SEE(fds[0].revents);
  SEE(fds[1].revents);
  SEE(poll(fds, 1, 5));
  const struct timespec none = {0, 0}, wrong = {0, -1}, past = {-1, 0};
  SEE(ppoll(fds, 1, &none, NULL));
  SEE(ppoll(fds, 2, &wrong, NULL));
  SEE(ppoll(fds, 2, &past, NULL));
  return 0;
}
