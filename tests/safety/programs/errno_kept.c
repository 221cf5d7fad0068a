/* Each hook leaves errno as the call itself would: untouched on success, the call's own on failure. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "check.h"
#define TELL(call)                                           \
  do {                                                       \
    errno = 12345;                                           \
    long result = (long)(call);                              \
    printf("%-70.70s %ld errno %d\n", #call, result, errno); \
  } while (0)
static void *nothing(void *argument) { return argument; }
static void *post_later(void *argument) {
  sleep_ms(3);
  sem_post(argument);
  return NULL;
}
int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spin;
  pthread_barrier_t barrier;
  pthread_t thread;
  sem_t semaphore;
  int ends[2], sockets[2], word = 1, event_fd = eventfd(0, EFD_NONBLOCK), epoll_fd = epoll_create1(0);
  char bytes[8] = {0};
  struct iovec piece = {bytes, 1};
  struct epoll_event event = {EPOLLIN, {0}};
  struct timespec short_time = {0, 1000}, past = {1, 0}, bad = {0, -1};
  struct pollfd fd;
  uint64_t value;
  struct msghdr message = {0};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, NULL, 1);
  sem_init(&semaphore, 0, 0);
  MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  fcntl(sockets[0], F_SETFL, O_NONBLOCK);
  fd.fd = ends[0];
  fd.events = POLLIN;
  TELL(pthread_create(&thread, NULL, nothing, NULL));
  TELL(pthread_join(thread, NULL));
  TELL(pthread_mutex_lock(&mutex));
  TELL(pthread_mutex_timedlock(&mutex, &past));
  TELL(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
  TELL(pthread_cond_timedwait(&condition, &mutex, &past));
  TELL(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
  TELL(pthread_cond_signal(&condition));
  TELL(pthread_cond_broadcast(&condition));
  TELL(pthread_mutex_unlock(&mutex));
  TELL(pthread_rwlock_wrlock(&rwlock));
  TELL(pthread_rwlock_rdlock(&rwlock));
  TELL(pthread_rwlock_unlock(&rwlock));
  TELL(pthread_spin_lock(&spin));
  TELL(pthread_spin_unlock(&spin));
  TELL(pthread_barrier_wait(&barrier));
  TELL(sem_post(&semaphore));
  TELL(sem_wait(&semaphore));
  TELL(sem_timedwait(&semaphore, &past));
  TELL(sem_timedwait(&semaphore, &bad));
  TELL(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
  TELL(sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &past));
  pthread_create(&thread, NULL, post_later, &semaphore);
  TELL(sem_wait(&semaphore));
  pthread_join(thread, NULL);
  TELL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
  TELL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &short_time, NULL, 0));
  TELL(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  TELL(syscall(SYS_futex, &word, 0x7e, 1, NULL, NULL, 0));
  TELL(syscall(SYS_getppid) > 0);
  TELL(syscall(SYS_close, -1));
  TELL(syscall(-1L));
  TELL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ends[0], &event));
  TELL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ends[0], &event));
  TELL(epoll_wait(epoll_fd, &event, 1, 0));
  TELL(epoll_wait(-1, &event, 1, 0));
  TELL(epoll_wait(epoll_fd, &event, 0, 0));
  TELL(epoll_pwait(epoll_fd, &event, 1, 1, NULL));
  TELL(epoll_pwait2(epoll_fd, &event, 1, &short_time, NULL));
  TELL(epoll_pwait2(epoll_fd, &event, 1, &bad, NULL));
  TELL(poll(&fd, 1, 0));
  TELL(poll(NULL, 0, 1));
  TELL(ppoll(&fd, 1, &short_time, NULL));
  TELL(select(0, NULL, NULL, NULL, &(struct timeval){0, 100}));
  TELL(select(-1, NULL, NULL, NULL, NULL));
  TELL(pselect(0, NULL, NULL, NULL, &short_time, NULL));
  TELL(read(ends[0], bytes, 1));
  TELL(read(-1, bytes, 1));
  TELL(write(ends[1], bytes, 1));
  TELL(read(ends[0], bytes, 1));
  TELL(writev(ends[1], &piece, 1));
  TELL(readv(ends[0], &piece, 1));
  TELL(readv(ends[0], &piece, -1));
  TELL(write(-1, bytes, 1));
  TELL(recv(sockets[0], bytes, 1, 0));
  TELL(send(sockets[1], bytes, 1, 0));
  TELL(recv(sockets[0], bytes, 1, 0));
  TELL(sendto(sockets[1], bytes, 1, 0, NULL, 0));
  TELL(recvfrom(sockets[0], bytes, 1, 0, NULL, NULL));
  TELL(sendmsg(sockets[1], &message, 0));
  TELL(recvmsg(sockets[0], &message, 0));
  TELL(recv(0x7fff, bytes, 1, 0));
  TELL(accept(sockets[0], NULL, NULL));
  TELL(connect(-1, NULL, 0));
  TELL(eventfd_read(event_fd, &value));
  TELL(eventfd_write(event_fd, 3));
  TELL(eventfd_read(event_fd, &value));
  TELL(eventfd(0, -1));
  TELL(pipe2(ends, -1));
  TELL(socketpair(-1, 0, 0, sockets));
  TELL(close(-1));
  TELL(nanosleep(&short_time, NULL));
  TELL(nanosleep(&bad, NULL));
  TELL(nanosleep(NULL, NULL));
  TELL(clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL));
  TELL(clock_nanosleep(-100, 0, &short_time, NULL));
  TELL(usleep(10));
  TELL(sched_yield());
  TELL(execl("/nonexistent/program", "x", NULL));
  TELL(execlp("nonexistent-program", "x", NULL));
  TELL(execle("/nonexistent/program", "x", NULL, (char *[]){NULL}));
  TELL(execv("/etc/passwd", (char *[]){"x", NULL}));
  TELL(execvp("", (char *[]){"x", NULL}));
  TELL(fexecve(-1, (char *[]){"x", NULL}, (char *[]){NULL}));
  return 0;
}
