/* io_uring through raw system calls: no-operations, a read of a pipe that is written later by a thread, and waiting for both. */
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

static int ends[2];
static void *write_later(void *argument) {
  sleep_ms(20);
  MUST(write(ends[1], "later", 5) == 5);
  return argument;
}

int main(void) {
  struct io_uring_params parameters = {0};
  const int ring = syscall(SYS_io_uring_setup, 8, &parameters);
  if (ring < 0) {
    printf("no io_uring here: errno %d\n", errno);
    return 0;
  }
  MUST(pipe(ends) == 0);
  const size_t submissions = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
  const size_t completions = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
  const int shared = PROT_READ | PROT_WRITE;
  char *sq = mmap(NULL, submissions, shared, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  char *cq = mmap(NULL, completions, shared, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe *entries =
      mmap(NULL, parameters.sq_entries * sizeof(*entries), shared, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
  MUST(sq != MAP_FAILED && cq != MAP_FAILED && entries != MAP_FAILED);
  unsigned *tail = (unsigned *)(sq + parameters.sq_off.tail), *array = (unsigned *)(sq + parameters.sq_off.array);
  const unsigned mask = *(unsigned *)(sq + parameters.sq_off.ring_mask);
  char text[16] = "";
  for (int i = 0; i < 4; ++i) {
    const unsigned at = *tail & mask;
    memset(&entries[at], 0, sizeof(entries[at]));
    entries[at].opcode = i < 3 ? IORING_OP_NOP : IORING_OP_READ;
    entries[at].fd = i < 3 ? -1 : ends[0];
    entries[at].addr = (uintptr_t)text;
    entries[at].len = i < 3 ? 0 : sizeof(text) - 1;
    entries[at].user_data = i;
    array[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  }
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, write_later, NULL) == 0);
  SEE(syscall(SYS_io_uring_enter, ring, 4, 4, IORING_ENTER_GETEVENTS, NULL, 0));
  unsigned *head = (unsigned *)(cq + parameters.cq_off.head), *end = (unsigned *)(cq + parameters.cq_off.tail);
  long sum = 0, count = 0;
  for (; *head != __atomic_load_n(end, __ATOMIC_ACQUIRE); ++*head, ++count) {
    struct io_uring_cqe *done = (struct io_uring_cqe *)(cq + parameters.cq_off.cqes) +
                                (*head & *(unsigned *)(cq + parameters.cq_off.ring_mask));
    sum += done->res;
  }
  SEE(count);
  SEE(sum);
  puts(text);
  errno = 0;
  SEE(syscall(SYS_io_uring_enter, -1, 1, 1, 0, NULL, 0) == -1 && errno == EBADF);
  pthread_join(thread, NULL);
  close(ring);
  return 0;
}
