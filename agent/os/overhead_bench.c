/* Times hooked calls in a tight loop; overhead_bench.py runs it plain and with the agent and prints the difference.
 *
 * usage: overhead_bench SCALE [wrapped|clocked] [threaded]     (1: full length; 0.01: a smoke run)
 * wrapped: through a function that makes the call and nothing else, which nobody who interposes a call can do without.
 * clocked: one that also reads the clock before and after, which whoever records how long the call took cannot do without:
 * what is above that is the recorder's own. threaded: beside a second thread that does nothing, since the C library is
 * faster in a process of one thread than any server can be.
 * Prints "NAME NS" per line: the fastest of many short runs, in ns a call (a mutex pair is two calls). The one below
 * the line of the machine's noise is the fastest: others share the machine. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int epoll_fd, event_fd, null_fd;

static int wrapped, clocked;
static volatile uint64_t taken;
static volatile long total;
#if defined(__x86_64__)
#define CLOCK() __rdtsc()
#else
#define CLOCK() (uint64_t) now_ns()
#endif
static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Times n calls of `answer`, an expression; wrapped and clocked: from a function in front of it, as an interposer is. */
#define BENCH(name, preparation, answer, end)                  \
  static __attribute__((noinline)) long wrapped_##name(void) { \
    const long result = answer;                                \
    taken = 0;                                                 \
    return result;                                             \
  }                                                            \
  static __attribute__((noinline)) long clocked_##name(void) { \
    const uint64_t begin_ticks = CLOCK();                      \
    const long result = answer;                                \
    taken = CLOCK() - begin_ticks;                             \
    return result;                                             \
  }                                                            \
  static void name(long n) {                                   \
    long sum = 0;                                              \
    preparation;                                               \
    if (wrapped) {                                             \
      for (long i = 0; i < n; ++i) sum += wrapped_##name();    \
    } else if (clocked) {                                      \
      for (long i = 0; i < n; ++i) sum += clocked_##name();    \
    } else {                                                   \
      for (long i = 0; i < n; ++i) sum += answer;              \
    }                                                          \
    end;                                                       \
    total += sum;                                              \
  }

static void mutex_pair(long n) {
  for (long i = 0; i < n; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}
static void rwlock_pair(long n) {
  for (long i = 0; i < n; ++i) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  }
}
static void semaphore_pair(long n) {
  for (long i = 0; i < n; ++i) {
    sem_post(&semaphore);
    sem_wait(&semaphore);
  }
}
/* A deadline before 1970 has always passed: glibc answers without a system call, so this is the recording alone. */
static const struct timespec past = {-1, 0};
BENCH(condition_expired, pthread_mutex_lock(&mutex), pthread_cond_timedwait(&condition, &mutex, &past),
      pthread_mutex_unlock(&mutex))
static struct epoll_event event;
BENCH(epoll_nothing, , epoll_wait(epoll_fd, &event, 1, 0), )
static struct pollfd polled;
BENCH(poll_nothing, polled.fd = event_fd; polled.events = POLLIN, poll(&polled, 1, 0), )
static char byte;
BENCH(read_nothing, , read(null_fd, &byte, 1), )
BENCH(write_nothing, , write(null_fd, "x", 1), )
BENCH(yield, , sched_yield(), )

static void *do_nothing(void *argument) {
  for (;;) pause();
  return argument;
}

static void report(const char *name, void (*run)(long), long calls, double scale) {
  double fastest = 1e18;
  int runs = scale < 0.1 ? 5 : 60;
  for (int i = 0; i < runs; ++i) {
    double begin = now_ns();
    run(calls);
    double each = (now_ns() - begin) / calls;
    if (each < fastest) fastest = each;
  }
  printf("%s %.2f\n", name, fastest);
}

int main(int argc, char **argv) {
  double scale = argc > 1 ? atof(argv[1]) : 1;
  for (int i = 2; i < argc; ++i) {
    pthread_t thread;
    if (strcmp(argv[i], "wrapped") == 0) wrapped = 1;
    if (strcmp(argv[i], "clocked") == 0) clocked = 1;
    if (strcmp(argv[i], "threaded") == 0 && pthread_create(&thread, NULL, do_nothing, NULL) != 0) return 1;
  }
  sem_init(&semaphore, 0, 0);
  epoll_fd = epoll_create1(0);
  event_fd = eventfd(0, 0);
  null_fd = open("/dev/null", O_RDWR);
  report("mutex_pair", mutex_pair, 100000 * scale + 1000, scale);
  report("rwlock_pair", rwlock_pair, 100000 * scale + 1000, scale);
  report("semaphore_pair", semaphore_pair, 100000 * scale + 1000, scale);
  report("cond_timedwait", condition_expired, 3000, scale);
  report("epoll_wait_0", epoll_nothing, 3000, scale);
  report("poll_0", poll_nothing, 3000, scale);
  report("read", read_nothing, 3000, scale);
  report("write", write_nothing, 3000, scale);
  report("sched_yield", yield, 3000, scale);
  return 0;
}
