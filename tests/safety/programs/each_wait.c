/* Blocks once in each hooked wait, woken by a second thread where a thread can wake it. Prints "NAME OBJECT" for each,
   OBJECT as the agent must record it (0: not checked). Waits last 3 ms at least, so that nothing else looks like them.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int pipe_ends[2], sockets[2], event_fd, epoll_fd, word;
static int holding, spins;
static char bytes[64];
static FILE *stream_locked;

/* Is the first thread asleep, that is, in the call under test? */
static int first_sleeps(void) {
  char path[64], text[512] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
  FILE *file = fopen(path, "r");
  MUST(file != NULL && fgets(text, sizeof(text), file) != NULL);
  fclose(file);
  return strrchr(text, ')')[2] == 'S';
}
/* Until the first thread waits; in a spin lock it never sleeps. */
static void hold(void) {
  __atomic_store_n(&holding, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < (spins ? 20 : 2000) && !first_sleeps(); ++i) sleep_ms(1);
  sleep_ms(4);
}
/* What the second thread does in each step: take what the first will wait for, or wait and then wake it. */
static void *helper(void *argument) {
  uint64_t one = 1;
  struct iovec piece = {bytes, 1};
  struct msghdr message = {0};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  switch ((int)(intptr_t)argument) {
    case 0:
      pthread_mutex_lock(&mutex), hold(), pthread_mutex_unlock(&mutex);
      break;
    case 1:
      pthread_rwlock_wrlock(&rwlock), hold(), pthread_rwlock_unlock(&rwlock);
      break;
    case 2:
      spins = 1, pthread_spin_lock(&spin), hold(), pthread_spin_unlock(&spin), spins = 0;
      break;
    case 3:
      hold(), pthread_mutex_lock(&mutex), pthread_cond_signal(&condition), pthread_mutex_unlock(&mutex);
      break;
    case 4:
      hold(), pthread_mutex_lock(&mutex), pthread_cond_broadcast(&condition), pthread_mutex_unlock(&mutex);
      break;
    case 5:
      hold(), sem_post(&semaphore);
      break;
    case 6:
      hold(), pthread_barrier_wait(&barrier);
      break;
    case 7:
      hold();
      break; /* to be joined */
    case 8:
      hold(), __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST),
          syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
      break;
    case 9:
      hold(), eventfd_write(event_fd, 1);
      break;
    case 10:
      hold(), write(event_fd, &one, 8);
      break;
    case 11:
      hold(), write(pipe_ends[1], bytes, 1);
      break;
    case 12:
      hold(), writev(pipe_ends[1], &piece, 1);
      break;
    case 13:
      hold(), send(sockets[1], bytes, 1, 0);
      break;
    case 14:
      hold(), sendto(sockets[1], bytes, 1, 0, NULL, 0);
      break;
    case 16:
      stream_locked = fopen("/dev/null", "w");
      flockfile(stream_locked), hold(), funlockfile(stream_locked);
      break;
    case 15:
      hold(), sendmsg(sockets[1], &message, 0);
      break;
  }
  return NULL;
}
static pthread_t start(int what) {
  pthread_t thread;
  __atomic_store_n(&holding, 0, __ATOMIC_SEQ_CST);
  MUST(pthread_create(&thread, NULL, helper, (void *)(intptr_t)what) == 0);
  while (!__atomic_load_n(&holding, __ATOMIC_SEQ_CST)) sched_yield();
  return thread;
}
#define FD(fd) (0x7fff000000000000ul | (unsigned)(fd))
#define ADDRESS(pointer) ((unsigned long)(pointer))
#define TELL(name, object, woken) printf("%s %lu %d\n", name, (unsigned long)(object), woken)
#define WITH_NAME(what, statement)  \
  do {                              \
    pthread_t thread = start(what); \
    statement;                      \
    pthread_join(thread, NULL);     \
  } while (0)
#define WITH(what, name, object, woken, statement) \
  do {                                             \
    pthread_t thread = start(what);                \
    statement;                                     \
    pthread_join(thread, NULL);                    \
    TELL(name, object, woken);                     \
  } while (0)

int main(void) {
  struct timespec late, late_monotonic = after_ms(CLOCK_MONOTONIC, 60000), ms3 = {0, 3000000}, minute = {60, 0};
  late = after_ms(CLOCK_REALTIME, 60000);
  struct epoll_event event = {EPOLLIN, {0}};
  struct iovec piece = {bytes, 1};
  struct msghdr message = {0};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  uint64_t value;
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 0);
  MUST(pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  event_fd = eventfd(0, 0);
  epoll_fd = epoll_create1(0);
  MUST(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &event) == 0);
  MUST(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, sockets[0], &event) == 0);

  WITH(0, "pthread_mutex_lock", ADDRESS(&mutex), 1, (pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)));
  WITH(0, "pthread_mutex_timedlock", ADDRESS(&mutex), 1,
       (pthread_mutex_timedlock(&mutex, &late), pthread_mutex_unlock(&mutex)));
  WITH(0, "pthread_mutex_clocklock", ADDRESS(&mutex), 1,
       (pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &late_monotonic), pthread_mutex_unlock(&mutex)));
  WITH(1, "pthread_rwlock_rdlock", ADDRESS(&rwlock), 1,
       (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock)));
  WITH(1, "pthread_rwlock_wrlock", ADDRESS(&rwlock), 1,
       (pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock)));
  WITH(1, "pthread_rwlock_timedrdlock", ADDRESS(&rwlock), 1,
       (pthread_rwlock_timedrdlock(&rwlock, &late), pthread_rwlock_unlock(&rwlock)));
  WITH(1, "pthread_rwlock_timedwrlock", ADDRESS(&rwlock), 1,
       (pthread_rwlock_timedwrlock(&rwlock, &late), pthread_rwlock_unlock(&rwlock)));
  WITH(1, "pthread_rwlock_clockrdlock", ADDRESS(&rwlock), 1,
       (pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &late_monotonic), pthread_rwlock_unlock(&rwlock)));
  WITH(1, "pthread_rwlock_clockwrlock", ADDRESS(&rwlock), 1,
       (pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &late_monotonic), pthread_rwlock_unlock(&rwlock)));
  WITH(2, "pthread_spin_lock", ADDRESS(&spin), 0, (pthread_spin_lock(&spin), pthread_spin_unlock(&spin)));
  WITH(3, "pthread_cond_wait", ADDRESS(&condition), 1,
       (pthread_mutex_lock(&mutex), pthread_cond_wait(&condition, &mutex), pthread_mutex_unlock(&mutex)));
  WITH(4, "pthread_cond_timedwait", ADDRESS(&condition), 1,
       (pthread_mutex_lock(&mutex), pthread_cond_timedwait(&condition, &mutex, &late), pthread_mutex_unlock(&mutex)));
  WITH(3, "pthread_cond_clockwait", ADDRESS(&condition), 1,
       (pthread_mutex_lock(&mutex), pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &late_monotonic),
        pthread_mutex_unlock(&mutex)));
  WITH(5, "sem_wait", ADDRESS(&semaphore), 1, sem_wait(&semaphore));
  WITH(5, "sem_timedwait", ADDRESS(&semaphore), 1, sem_timedwait(&semaphore, &late));
  WITH(5, "sem_clockwait", ADDRESS(&semaphore), 1, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &late_monotonic));
  WITH(6, "pthread_barrier_wait", ADDRESS(&barrier), 1, pthread_barrier_wait(&barrier));
  pthread_t joined = start(7);
  pthread_join(joined, NULL);
  TELL("pthread_join", joined, 0);
  joined = start(7);
  pthread_timedjoin_np(joined, NULL, &late);
  TELL("pthread_timedjoin_np", joined, 0);
  joined = start(7);
  pthread_clockjoin_np(joined, NULL, CLOCK_MONOTONIC, &late_monotonic);
  TELL("pthread_clockjoin_np", joined, 0);
  /* The kernel's struct futex_waitv: value, address, flags (32 bits, private). Linux 5.16. */
  struct {
    uint64_t value, address;
    uint32_t flags, reserved;
  } words = {0, (uint64_t)(uintptr_t)&word, 2 | 128, 0};
  int no_waitv = 0;
  word = 0;
  WITH_NAME(
      8, while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) ==
                0) if (syscall(449, &words, 1, 0, NULL, CLOCK_MONOTONIC) < 0 && errno == ENOSYS) {
        no_waitv = 1;
        sleep_ms(1);
      });
  if (!no_waitv) TELL("futex_waitv", ADDRESS(&word), 1);
  word = 0;
  WITH_NAME(16, (flockfile(stream_locked), funlockfile(stream_locked)));
  TELL("flockfile", ADDRESS(stream_locked), 0);
  WITH(8, "futex", ADDRESS(&word), 1,
       while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
           syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
  WITH(9, "epoll_wait", FD(epoll_fd), 1, (epoll_wait(epoll_fd, &event, 1, 60000), eventfd_read(event_fd, &value)));
  WITH(10, "epoll_pwait", FD(epoll_fd), 1,
       (epoll_pwait(epoll_fd, &event, 1, 60000, NULL), eventfd_read(event_fd, &value)));
  WITH(13, "epoll_pwait2", FD(epoll_fd), 1,
       (epoll_pwait2(epoll_fd, &event, 1, &minute, NULL), recv(sockets[0], bytes, 1, 0)));
  /* A set filled without libc's epoll_ctl (libuv does it through io_uring): its members are learned while it is waited
     on, so one of these waits is known to have been woken by the write. */
  int unseen = epoll_create1(0);
  MUST(syscall(SYS_epoll_ctl, unseen, EPOLL_CTL_ADD, event_fd, &event) == 0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread = start(9);
    epoll_wait(unseen, &event, 1, 60000), eventfd_read(event_fd, &value);
    pthread_join(thread, NULL);
    sleep_ms(50);
  }
  TELL("epoll_wait", FD(unseen), 1);
  struct pollfd fds[2] = {{event_fd, POLLIN, 0}, {pipe_ends[0], POLLIN, 0}};
  WITH(11, "poll", FD(pipe_ends[0]), 1, (poll(fds, 2, 60000), read(pipe_ends[0], bytes, 1)));
  WITH(9, "ppoll", FD(event_fd), 1, (ppoll(fds, 2, &minute, NULL), eventfd_read(event_fd, &value)));
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pipe_ends[0], &set);
  WITH(11, "select", FD(pipe_ends[0]), 1,
       (select(pipe_ends[0] + 1, &set, NULL, NULL, NULL), read(pipe_ends[0], bytes, 1)));
  WITH(11, "pselect", FD(pipe_ends[0]), 1,
       (pselect(pipe_ends[0] + 1, &set, NULL, NULL, &minute, NULL), read(pipe_ends[0], bytes, 1)));
  WITH(11, "read", FD(pipe_ends[0]), 1, read(pipe_ends[0], bytes, 1));
  WITH(12, "readv", FD(pipe_ends[0]), 1, readv(pipe_ends[0], &piece, 1));
  WITH(13, "recv", FD(sockets[0]), 1, recv(sockets[0], bytes, 1, 0));
  WITH(14, "recvfrom", FD(sockets[0]), 1, recvfrom(sockets[0], bytes, 1, 0, NULL, NULL));
  WITH(15, "recvmsg", FD(sockets[0]), 1, recvmsg(sockets[0], &message, 0));
  /* Calls that are only timed: a child that sleeps, a lock of another process, a queue, a timer's signal. */
  pid_t child = fork();
  if (child == 0) usleep(5000), _exit(0);
  waitpid(child, NULL, 0);
  TELL("waitpid", 0, 0);
  child = fork();
  if (child == 0) usleep(5000), _exit(0);
  siginfo_t information;
  waitid(P_PID, child, &information, WEXITED);
  TELL("waitid", 0, 0);
  int lock_fd = fileno(tmpfile()), ready[2];
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", lock_fd);
  MUST(pipe(ready) == 0);
  child = fork();
  if (child == 0) {
    int own = open(path, O_RDWR);
    flock(own, LOCK_EX), write(ready[1], bytes, 1), usleep(20000), _exit(0);
  }
  read(ready[0], bytes, 1);
  flock(lock_fd, LOCK_EX);
  TELL("flock", FD(lock_fd), 0);
  waitpid(child, NULL, 0);
  int queue = msgget(IPC_PRIVATE, 0600);
  struct {
    long type;
    char text[8];
  } letter = {1, ""};
  child = fork();
  if (child == 0) usleep(10000), msgsnd(queue, &letter, 8, 0), _exit(0);
  msgrcv(queue, &letter, 8, 0, 0);
  TELL("msgrcv", 0, 0);
  msgctl(queue, IPC_RMID, NULL);
  waitpid(child, NULL, 0);
  system("sleep 0.01");
  TELL("system", 0, 0);
  sigset_t alarms;
  int number;
  sigemptyset(&alarms), sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);
  struct itimerval soon = {{0, 0}, {0, 5000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  sigwait(&alarms, &number);
  TELL("sigwait", 0, 0);
  setitimer(ITIMER_REAL, &soon, NULL);
  sigtimedwait(&alarms, &information, &minute);
  TELL("sigtimedwait", 0, 0);
  FILE *piped = popen("sleep 0.01; echo done", "r");
  fgets(bytes, sizeof(bytes), piped);
  TELL("fgets", FD(fileno(piped)), 0);
  pclose(piped);
  piped = popen("sleep 0.01; echo done", "r");
  getc(piped);
  TELL("getc", FD(fileno(piped)), 0);
  pclose(piped);
  WITH(10, "eventfd_read", FD(event_fd), 1, eventfd_read(event_fd, &value));
  nanosleep(&ms3, NULL);
  TELL("nanosleep", 0, 0);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &ms3, NULL);
  TELL("clock_nanosleep", 0, 0);
  usleep(3000);
  TELL("usleep", 0, 0);
  for (int i = 0; i < 5000; ++i) sched_yield();
  nanosleep(&ms3, NULL);
  TELL("sched_yield", 0, 0);
  return 0;
}
