/* Eight threads make their first calls of many functions at the same moment: the loader binds the slots of the PLT then. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "check.h"
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static long answers;
static void *call_all(void *argument) {
  long sum = 0;
  sem_t semaphore;
  int pair[2];
  char byte = 'x';
  struct iovec piece = {&byte, 1};
  struct epoll_event event = {EPOLLIN, {0}};
  struct timespec past = {1, 0};
  pthread_barrier_wait(&barrier);
  sum += pthread_rwlock_rdlock(&rwlock) + pthread_rwlock_unlock(&rwlock);
  sum += pthread_spin_lock(&spinlock) + pthread_spin_unlock(&spinlock);
  sum += sem_init(&semaphore, 0, 1) + sem_wait(&semaphore) + sem_post(&semaphore) + sem_trywait(&semaphore);
  sum += sem_timedwait(&semaphore, &past);
  sum += socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  sum += send(pair[0], &byte, 1, 0) + recv(pair[1], &byte, 1, 0);
  sum += writev(pair[0], &piece, 1) + readv(pair[1], &piece, 1);
  sum += write(pair[0], &byte, 1) + read(pair[1], &byte, 1);
  const int set = epoll_create1(0), counter = eventfd(1, 0);
  sum += epoll_ctl(set, EPOLL_CTL_ADD, counter, &event) + epoll_wait(set, &event, 1, 0);
  sum += poll(NULL, 0, 0) + select(0, NULL, NULL, NULL, &(struct timeval){0, 0}) + sched_yield() + usleep(1);
  sum += close(set) + close(counter) + close(pair[0]) + close(pair[1]);
  pthread_mutex_lock(&mutex);
  answers += sum;
  pthread_mutex_unlock(&mutex);
  return argument;
}
int main(void) {
  pthread_t threads[8];
  pthread_spin_init(&spinlock, 0);
  pthread_barrier_init(&barrier, NULL, 8);
  for (int i = 0; i < 8; ++i) MUST(pthread_create(&threads[i], NULL, call_all, NULL) == 0);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  SEE(answers);
  return 0;
}
