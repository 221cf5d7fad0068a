/* A process that delivers a token each time another one, "producer", lets it go on.
 *
 * usage: two_processes CHANNEL STEPS [threads] [both] [within]     CHANNEL: what lies between the two, see below; threads: each
 * process has a second thread, and so a streaming thread of the agent; both: the producer marks its steps too; within: the
 * producer is a thread of the same process
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
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
static char path[100]; /* of a named pipe or a bound socket */
static struct sockaddr_un bound;
static socklen_t bound_bytes;
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

static int starts(const char *beginning) { return strncmp(channel, beginning, strlen(beginning)) == 0; }

/* A datagram socket under a name: a path, or ("abstract") none that the file system knows. */
static void make_bound_socket(void) {
  bound.sun_family = AF_UNIX;
  char *name = bound.sun_path + (is("dgram_abstract") ? 1 : 0);
  strcpy(name, path);
  bound_bytes = (socklen_t)(name + strlen(path) - (char *)&bound) + (is("dgram_abstract") ? 0 : 1);
  consumer_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (bind(consumer_fd, (struct sockaddr *)&bound, bound_bytes) != 0) exit(3);
}

static void make_descriptors(void) {
  int ends[2];
  const char *folder = getenv("XDG_RUNTIME_DIR");
  snprintf(path, sizeof(path), "%s/two_processes.%d", folder != NULL ? folder : "/tmp", (int)getpid());
  if (starts("fifo") && mkfifo(path, 0600) != 0) exit(3);
  if (starts("dgram_")) make_bound_socket();
  if (is("dgram") || is("seqpacket")) {
    if (socketpair(AF_UNIX, is("dgram") ? SOCK_DGRAM : SOCK_SEQPACKET, 0, ends) != 0) exit(3);
    consumer_fd = ends[0], producer_fd = ends[1];
  }
  if (is("seqpacket_listening")) {
    bound.sun_family = AF_UNIX;
    strcpy(bound.sun_path, path);
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(listener, (struct sockaddr *)&bound, sizeof(bound)) != 0 || listen(listener, 1) != 0) exit(3);
    producer_fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (connect(producer_fd, (struct sockaddr *)&bound, sizeof(bound)) != 0) exit(3);
    consumer_fd = accept(listener, NULL, NULL);
  }
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
  if (is("epoll") || is("dgram_epoll")) {
    struct epoll_event event = {.events = EPOLLIN};
    epoll_fd = epoll_create1(0);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, consumer_fd, &event);
  }
}

/* What each side opens for itself. The opens of a named pipe's two ends wait for each other. */
static void open_end(int producer) {
  if (is("fifo_rdwr")) {
    *(producer ? &producer_fd : &consumer_fd) = open(path, O_RDWR);
  } else if (is("fifo_created") && producer) { /* as fopen and a shell's redirection open it */
    producer_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  } else if (starts("fifo")) {
    *(producer ? &producer_fd : &consumer_fd) = open(path, producer ? O_WRONLY : O_RDONLY);
  }
  if (starts("dgram_") && producer) producer_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (is("dgram_connected") && producer && connect(producer_fd, (struct sockaddr *)&bound, bound_bytes) != 0) exit(3);
  if ((producer ? producer_fd : consumer_fd) < 0 && (starts("fifo") || starts("dgram_"))) exit(3);
}

static ssize_t send_datagram(const char *byte) {
  struct iovec piece = {(void *)byte, 1};
  struct mmsghdr message = {
      .msg_hdr = {.msg_name = &bound, .msg_namelen = bound_bytes, .msg_iov = &piece, .msg_iovlen = 1}};
  if (is("dgram_connected")) return send(producer_fd, byte, 1, 0);
  if (is("dgram_msg")) return sendmsg(producer_fd, &message.msg_hdr, 0);
  if (is("dgram_mmsg")) return sendmmsg(producer_fd, &message, 1, 0);
  return sendto(producer_fd, byte, 1, 0, (struct sockaddr *)&bound, bound_bytes);
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
    const ssize_t sent = is("eventfd")                            ? write(producer_fd, &one, 8)
                         : is("tcp") || is("seqpacket_listening") ? send(producer_fd, &byte, 1, 0)
                         : starts("dgram_")                       ? send_datagram(&byte)
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
  if (is("epoll") || is("dgram_epoll")) {
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
  if (starts("dgram_")) {
    if (recvfrom(consumer_fd, bytes, 1, 0, NULL, NULL) <= 0) exit(4);
  } else if (consumer_fd >= 0 && read(consumer_fd, bytes, is("eventfd") ? 8 : 1) <= 0) {
    exit(4);
  }
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

static void *run_producer(void *arguments) {
  char **argv = arguments;
  const int steps = atoi(argv[2]), marks = asked_for(argv, "both");
  open_end(1);
  for (int step = 1; step <= steps; ++step) {
    produce(step);
    if (marks) stallscope_step(1);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  channel = argv[1];
  const int steps = atoi(argv[2]), within = asked_for(argv, "within");
  make_shared();
  make_descriptors();
  pthread_t thread;
  const pid_t producer = within ? 0 : fork();
  if (within) { /* it has this thread's name from its beginning */
    prctl(PR_SET_NAME, "producer");
    pthread_create(&thread, NULL, run_producer, argv);
    prctl(PR_SET_NAME, "two_processes");
  } else if (producer == 0) {
    prctl(PR_SET_NAME, "producer");
    start_idle_thread(argv);
    run_producer(argv);
    /* A dead process has no descriptors to look up: both live until the last step has been read. */
    usleep(300000);
    _exit(0);
  }
  start_idle_thread(argv);
  open_end(0);
  for (int step = 1; step <= steps; ++step) {
    consume(step);
    stallscope_step(1);
  }
  usleep(300000);
  unlink(path);
  int status = 0;
  if (within) {
    pthread_join(thread, NULL);
  } else {
    waitpid(producer, &status, 0);
  }
  puts("two_processes: done");
  return WEXITSTATUS(status);
}
