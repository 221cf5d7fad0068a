/* A process that delivers a token each time another one, "producer", lets it go on.
 *
 * usage: two_processes CHANNEL STEPS [threads] [both]     CHANNEL: what lies between the two, see below; threads: each process
 * has a second thread, and so a streaming thread of the agent; both: the producer marks its steps too
 * The producer sleeps 2 ms a step, then wakes the consumer through the channel; the consumer waits, and marks the step.
 * Channel there_and_back: the consumer computes for 1 ms before it answers, and the producer waits for that. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/marker/stallscope_marker.h"

struct shared {
  sem_t semaphore;
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_cond_t condition;
  pthread_barrier_t barrier;
  int word, held, taken;
};
static struct shared *shared;
static sem_t *named;
static int consumer_fd = -1, producer_fd = -1, epoll_fd = -1;
static const char *channel;

static int is(const char *name) { return strcmp(channel, name) == 0; }

static void make_shared(void) {
  char name[64];
  snprintf(name, sizeof(name), "/two_processes.%d", (int)getpid());
  const int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(*shared)) != 0) exit(3);
  shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  shm_unlink(name);
  close(fd);
  sem_init(&shared->semaphore, 1, 0);
  pthread_mutexattr_t mutex;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  if (is("robust")) pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&shared->mutex, &mutex);
  pthread_rwlockattr_t rwlock;
  pthread_rwlockattr_init(&rwlock);
  pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&shared->rwlock, &rwlock);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared->condition, &condition);
  pthread_barrierattr_t barrier;
  pthread_barrierattr_init(&barrier);
  pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &barrier, 2);
  snprintf(name, sizeof(name), "/two_processes.%d.named", (int)getpid());
  named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  sem_unlink(name);
}

static void make_descriptors(void) {
  int ends[2];
  if (is("pipe") || is("select") || is("poll")) {
    if (pipe(ends) != 0) exit(3);
    consumer_fd = ends[0], producer_fd = ends[1];
  } else if (is("unix") || is("epoll") || is("there_and_back")) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) exit(3);
    consumer_fd = ends[0], producer_fd = ends[1];
  } else if (is("eventfd")) {
    consumer_fd = producer_fd = eventfd(0, EFD_SEMAPHORE);
  } else if (is("tcp")) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, bytes) != 0 || listen(listener, 1) != 0) exit(3);
    getsockname(listener, (struct sockaddr *)&address, &bytes);
    producer_fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(producer_fd, (struct sockaddr *)&address, bytes) != 0) exit(3);
    consumer_fd = accept(listener, NULL, NULL);
  }
  if (is("epoll")) {
    struct epoll_event event = {.events = EPOLLIN};
    epoll_fd = epoll_create1(0);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, consumer_fd, &event);
  }
}

static void until(int *word, int value) {
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) usleep(100);
}
static void set(int *word, int value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }

static void produce(int step) {
  uint64_t one = 1;
  char byte = 1;
  if (is("mutex") || is("robust") || is("rwlock")) {
    const int rwlock = is("rwlock");
    rwlock ? pthread_rwlock_wrlock(&shared->rwlock) : pthread_mutex_lock(&shared->mutex);
    set(&shared->held, step);
    usleep(2000);
    rwlock ? pthread_rwlock_unlock(&shared->rwlock) : pthread_mutex_unlock(&shared->mutex);
    until(&shared->taken, step);
    return;
  }
  usleep(2000);
  if (is("semaphore")) sem_post(&shared->semaphore);
  if (is("named_semaphore")) sem_post(named);
  if (is("barrier")) pthread_barrier_wait(&shared->barrier);
  if (is("condition")) {
    pthread_mutex_lock(&shared->mutex);
    shared->word = step;
    pthread_cond_signal(&shared->condition);
    pthread_mutex_unlock(&shared->mutex);
  }
  if (is("futex")) {
    set(&shared->word, step);
    syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
  if (producer_fd >= 0) {
    const ssize_t sent = is("eventfd") ? write(producer_fd, &one, 8)
                         : is("tcp")   ? send(producer_fd, &byte, 1, 0)
                                       : write(producer_fd, &byte, 1);
    if (sent <= 0) exit(4);
  }
  if (is("there_and_back") && read(producer_fd, &byte, 1) <= 0) exit(4);
}

static void compute_ms(int ms) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const int64_t until_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec + ms * INT64_C(1000000);
  while (now.tv_sec * INT64_C(1000000000) + now.tv_nsec < until_ns) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void consume(int step) {
  char bytes[8];
  if (is("mutex") || is("robust") || is("rwlock")) {
    until(&shared->held, step);
    if (is("rwlock")) {
      pthread_rwlock_rdlock(&shared->rwlock), pthread_rwlock_unlock(&shared->rwlock);
    } else {
      pthread_mutex_lock(&shared->mutex), pthread_mutex_unlock(&shared->mutex);
    }
    set(&shared->taken, step);
  }
  if (is("semaphore")) sem_wait(&shared->semaphore);
  if (is("named_semaphore")) sem_wait(named);
  if (is("barrier")) pthread_barrier_wait(&shared->barrier);
  if (is("condition")) {
    pthread_mutex_lock(&shared->mutex);
    while (shared->word < step) pthread_cond_wait(&shared->condition, &shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
  }
  for (int seen; is("futex") && (seen = __atomic_load_n(&shared->word, __ATOMIC_SEQ_CST)) < step;) {
    syscall(SYS_futex, &shared->word, FUTEX_WAIT, seen, NULL, NULL, 0);
  }
  if (is("epoll")) {
    struct epoll_event event;
    epoll_wait(epoll_fd, &event, 1, -1);
  }
  if (is("select")) {
    fd_set set_of_one;
    FD_ZERO(&set_of_one);
    FD_SET(consumer_fd, &set_of_one);
    select(consumer_fd + 1, &set_of_one, NULL, NULL, NULL);
  }
  if (is("poll")) {
    struct pollfd one = {consumer_fd, POLLIN, 0};
    poll(&one, 1, -1);
  }
  if (consumer_fd >= 0 && read(consumer_fd, bytes, is("eventfd") ? 8 : 1) <= 0) exit(4);
  if (is("there_and_back")) {
    compute_ms(1);
    if (write(consumer_fd, bytes, 1) <= 0) exit(4);
  }
}

static void *idle(void *unused) {
  for (;;) pause();
  return unused;
}
static int asked_for(char **argv, const char *word) {
  while (*argv != NULL && strcmp(*argv, word) != 0) ++argv;
  return *argv != NULL;
}
static void start_idle_thread(char **argv) {
  pthread_t thread;
  if (asked_for(argv, "threads")) pthread_create(&thread, NULL, idle, NULL);
}

int main(int argc, char **argv) {
  channel = argc > 1 ? argv[1] : "pipe";
  const int steps = argc > 2 ? atoi(argv[2]) : 100;
  make_shared();
  make_descriptors();
  const pid_t producer = fork();
  if (producer == 0) {
    prctl(PR_SET_NAME, "producer");
    start_idle_thread(argv);
    const int marks = asked_for(argv, "both");
    for (int step = 1; step <= steps; ++step) {
      produce(step);
      if (marks) stallscope_step(1);
    }
    /* A dead process has no descriptors to look up: both live until the last step has been read. */
    usleep(300000);
    _exit(0);
  }
  start_idle_thread(argv);
  for (int step = 1; step <= steps; ++step) {
    consume(step);
    stallscope_step(1);
  }
  usleep(300000);
  int status = 0;
  waitpid(producer, &status, 0);
  puts("two_processes: done");
  return WEXITSTATUS(status);
}
