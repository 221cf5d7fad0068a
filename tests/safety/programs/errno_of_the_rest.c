/* The hooks that errno_kept, timed_calls and bad_pointers do not call: variants for large files, without locks, with checked sizes, and
 * calls that only root may make (here with arguments that nobody may). tests/safety/hooks_called_test.py knows if one is left out. */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#undef __OPTIMIZE__ /* the functions, not the headers' versions of them */
#include <aio.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/file.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <wchar.h>

#include "check.h"

#undef getc_unlocked
#undef putc_unlocked
#define BAD ((void *)8)
#define TELL(call)                                           \
  do {                                                       \
    errno = 12345;                                           \
    const long result = (long)(call);                        \
    const int error = errno;                                 \
    printf("%-70.70s %ld errno %d\n", #call, result, error); \
  } while (0)
#define TELL_SIGN(call)                                                               \
  do {                                                                                \
    errno = 12345;                                                                    \
    const long result = (long)(call);                                                 \
    const int error = errno;                                                          \
    printf("%-70.70s %s errno %d\n", #call, result < 0 ? "refused" : "given", error); \
  } while (0)

int _IO_getc(FILE *);
int _IO_putc(int, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *), *__fgets_unlocked_chk(char *, size_t, int, FILE *);
wchar_t *__fgetws_chk(wchar_t *, size_t, int, FILE *), *__fgetws_unlocked_chk(wchar_t *, size_t, int, FILE *);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *),
    __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
int __open_2(const char *, int), __open64_2(const char *, int), __openat_2(int, const char *, int),
    __openat64_2(int, const char *, int);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t), __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __read_chk(int, void *, size_t, size_t), __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
int arch_prctl(int, unsigned long);
int fflush_unlocked(FILE *), fcntl64(int, int, ...);

int old_yield(void);
__asm__(".symver old_yield, pthread_yield@GLIBC_2.2.5");

static const struct timespec past = {1, 0}, soon = {0, 1000000};

static void locks(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_mutex_t mutex;
  pthread_mutexattr_t kind;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &kind);
  TELL(pthread_cond_wait(&condition, &mutex)); /* not ours */
  TELL(pthread_rwlock_wrlock(&lock));
  TELL(pthread_rwlock_timedrdlock(&lock, &past));
  TELL(pthread_rwlock_timedwrlock(&lock, &past));
  TELL(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
  TELL(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past));
  TELL(pthread_rwlock_clockwrlock(&lock, -100, &past));
  TELL(pthread_rwlock_unlock(&lock));
  TELL(pthread_rwlock_timedrdlock(&lock, &past));
  TELL(pthread_rwlock_unlock(&lock));
  TELL(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past));
  TELL(pthread_rwlock_unlock(&lock));
  TELL(old_yield());
}

static void *waits(void *semaphore) {
  while (__atomic_load_n((int *)semaphore, __ATOMIC_SEQ_CST) == 0) sleep_ms(1);
  return semaphore;
}
static void threads(void) {
  pthread_t thread;
  void *result;
  int go = 0;
  pthread_create(&thread, NULL, waits, &go);
  TELL(pthread_timedjoin_np(thread, &result, &past));
  TELL(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &past));
  __atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
  const struct timespec late = after_ms(CLOCK_REALTIME, 60000);
  TELL(pthread_timedjoin_np(thread, &result, &late));
  pthread_create(&thread, NULL, waits, &go);
  const struct timespec late_monotonic = after_ms(CLOCK_MONOTONIC, 60000);
  TELL(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &late_monotonic));
}

static void files(void) {
  char name[] = "/tmp/errno_of_the_rest.XXXXXX", bytes[64] = "0123456789";
  const int fd = mkstemp64(name);
  struct iovec piece = {bytes, 4};
  off64_t offset = 0;
  MUST(fd >= 0);
  TELL_SIGN(open64(name, O_RDONLY));
  TELL(open64("/nonexistent/file", O_RDONLY));
  TELL(openat64(AT_FDCWD, "/nonexistent/file", O_RDONLY));
  TELL(creat("/nonexistent/file", 0600));
  TELL(creat64("/nonexistent/file", 0600));
  TELL(__open_2("/nonexistent/file", O_RDONLY));
  TELL(__open64_2("/nonexistent/file", O_RDONLY));
  TELL(__openat_2(AT_FDCWD, "/nonexistent/file", O_RDONLY));
  TELL(__openat64_2(AT_FDCWD, "/nonexistent/file", O_RDONLY));
  TELL(pwrite64(fd, bytes, 10, 0));
  TELL(pwrite64(-1, bytes, 10, 0));
  TELL(pread64(fd, bytes, 4, 0));
  TELL(pread64(fd, BAD, 4, 0));
  TELL(__pread_chk(fd, bytes, 4, 0, 64));
  TELL(__pread64_chk(-1, bytes, 4, 0, 64));
  TELL(__read_chk(-1, bytes, 4, 64));
  TELL(pwritev(fd, &piece, 1, 0));
  TELL(pwritev64(fd, &piece, -1, 0));
  TELL(pwritev64v2(fd, &piece, 1, 0, 0));
  TELL(preadv2(fd, &piece, 1, 0, 0));
  TELL(preadv64(fd, &piece, 1, 0));
  TELL(preadv64v2(-1, &piece, 1, 0, 0));
  TELL(ftruncate64(fd, 100));
  TELL(ftruncate64(-1, 100));
  TELL(truncate64("/nonexistent/file", 1));
  TELL(fallocate(fd, 0, 0, -1));
  TELL(fallocate64(-1, 0, 0, 1));
  TELL(posix_fallocate64(fd, 0, -1));
  TELL(lockf64(fd, F_TLOCK, 10));
  TELL(lockf64(-1, F_TLOCK, 10));
  TELL(fcntl64(fd, F_GETFD));
  TELL(fcntl64(-1, F_GETFD));
  TELL(sync_file_range(fd, 0, 10, 0));
  TELL(sync_file_range(-1, 0, 10, 0));
  TELL(syncfs(-1));
  TELL(copy_file_range(fd, NULL, -1, NULL, 4, 0));
  TELL(sendfile64(-1, fd, &offset, 4));
  TELL(dup(-1));
  TELL_SIGN(dup(fd));
  TELL(dup3(fd, fd, 0));
  TELL(mkfifoat(AT_FDCWD, "/nonexistent/fifo", 0600));
  char *map = mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  MUST(map != MAP_FAILED);
  TELL(mmap64(NULL, 0, PROT_READ, MAP_SHARED, fd, 0));
  TELL(mlock(BAD, 4096));
  TELL(mlock2(map, 4096, ~0u));
  TELL(mlockall(0));
  TELL(brk(sbrk(0)));
  TELL(brk(BAD));
  unlink(name);
}

static void streams(void) {
  char line[64], *grown = NULL;
  wchar_t wide[16];
  size_t room = 0;
  TELL(fopen64("/nonexistent/file", "r"));
  FILE *stream = tmpfile();
  TELL(fputs_unlocked("one\ntwo\nthree\nfour\nfive\nsix\nseven\n", stream));
  TELL(fputc_unlocked('a', stream));
  TELL((putc_unlocked)('b', stream));
  TELL(_IO_putc('c', stream));
  TELL(fwrite_unlocked("de\n", 1, 3, stream));
  TELL(fflush_unlocked(stream));
  rewind(stream);
  TELL(_IO_getc(stream));
  TELL(fgetc_unlocked(stream));
  TELL((getc_unlocked)(stream));
  TELL(fgets_unlocked(line, 8, stream) == line);
  TELL(__fgets_chk(line, 64, 8, stream) == line);
  TELL(__fgets_unlocked_chk(line, 64, 8, stream) == line);
  TELL((getline)(&grown, &room, stream));
  TELL(getdelim(&grown, &room, 'v', stream));
  TELL(fread_unlocked(line, 1, 2, stream));
  TELL(__fread_chk(line, 64, 1, 2, stream));
  TELL(__fread_unlocked_chk(line, 64, 1, 2, stream));
  TELL_SIGN(getw(stream));
  TELL(fclose(stream));
  stream = tmpfile();
  TELL(fputws(L"wide\nwider\nwidest\nx\n", stream));
  TELL(fputws_unlocked(L"more\nlines\n", stream));
  TELL(fputwc(L'a', stream));
  TELL(fputwc_unlocked(L'b', stream));
  TELL(putwc(L'c', stream));
  TELL(putwc_unlocked(L'd', stream));
  rewind(stream);
  TELL(getwc(stream));
  TELL(getwc_unlocked(stream));
  TELL(fgetwc_unlocked(stream));
  TELL(fgetws_unlocked(wide, 16, stream) == wide);
  TELL(__fgetws_chk(wide, 16, 16, stream) == wide);
  TELL(__fgetws_unlocked_chk(wide, 16, 16, stream) == wide);
  TELL(freopen64("/nonexistent/file", "r", stream));
  free(grown);
}

static void sockets(void) {
  char bytes[8] = "x";
  int pair[2];
  struct mmsghdr messages[1] = {0};
  struct iovec piece = {bytes, 1};
  struct pollfd fd;
  MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
  messages[0].msg_hdr.msg_iov = &piece;
  messages[0].msg_hdr.msg_iovlen = 1;
  fd.fd = pair[0];
  fd.events = POLLIN;
  TELL(socket(-1, 0, 0));
  TELL(bind(-1, NULL, 0));
  TELL(listen(-1, 1));
  TELL(listen(pair[0], 1));
  TELL(accept4(pair[0], NULL, NULL, 0));
  TELL(__poll_chk(&fd, 1, 1, sizeof(fd)));
  TELL(__ppoll_chk(&fd, 1, &soon, NULL, sizeof(fd)));
  TELL(recvmmsg(pair[0], messages, 1, 0, NULL));
  TELL(sendmmsg(pair[1], messages, 1, 0));
  TELL(sendmmsg(-1, messages, 1, 0));
  TELL(recvmmsg(pair[0], messages, 1, 0, NULL));
  TELL(__recv_chk(pair[0], bytes, 1, 8, 0));
  TELL(__recvfrom_chk(pair[0], bytes, 1, 8, 0, NULL, NULL));
  TELL(shutdown(pair[0], SHUT_RDWR));
  TELL(shutdown(-1, SHUT_RDWR));
}

static void queues_and_signals(void) {
  char bytes[8] = "x";
  struct sembuf operation = {0, 0, IPC_NOWAIT};
  struct sigevent event = {.sigev_notify = 77};
  struct aiocb request = {.aio_fildes = -1};
  const struct aiocb *list[1] = {NULL};
  int status;
  struct rusage usage;
  sigset_t set;
  TELL(mq_open("no-slash", O_RDONLY));
  TELL(mq_send(-1, bytes, 1, 0));
  TELL(mq_timedsend(-1, bytes, 1, 0, &past));
  TELL(mq_timedreceive(-1, bytes, 8, NULL, &past));
  TELL(mq_notify(-1, &event));
  TELL(msgsnd(-1, bytes, 1, 0));
  TELL(semget(1, -1, 0));
  TELL(semctl(-1, 0, GETVAL));
  TELL(semtimedop(-1, &operation, 1, &soon));
  TELL(shmget(1, 0, IPC_CREAT | IPC_EXCL));
  TELL(shmctl(-1, IPC_STAT, NULL));
  TELL(shmdt(BAD));
  TELL(aio_fsync(O_SYNC, &request));
  TELL(aio_fsync64(77, (struct aiocb64 *)&request));
  TELL(aio_suspend64((const struct aiocb64 *const *)list, 0, &soon));
  TELL(alarm(0));
  TELL(killpg(-1, 0));
  TELL(tgkill(getpid(), -1, 0));
  TELL(wait3(&status, WNOHANG, &usage));
  TELL(wait4(-1, &status, WNOHANG, &usage));
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR1);
  TELL(sigwaitinfo(&set, NULL));
  signal(SIGUSR1, SIG_IGN);
  raise(SIGUSR1);
}

static void handle(int unused) { (void)unused; }
static void privileged(void) {
  struct iovec piece = {BAD, 1};
  sigset_t none;
  struct sigaction action = {.sa_handler = handle};
  sigemptyset(&none);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1); /* blocked above: sigsuspend lets it in */
  TELL(sigsuspend(&none));
  TELL(process_vm_writev(getpid(), &piece, 1, &piece, -1, 0));
  TELL(prctl(PR_SET_PDEATHSIG, 1000));
  TELL(prctl(PR_GET_DUMPABLE) >= 0);
  TELL(arch_prctl(-1, 0));
  TELL(ptrace(PTRACE_DETACH, -1, NULL, NULL));
  TELL(acct("/nonexistent/file"));
  TELL(chroot("/nonexistent/folder"));
  TELL(mount(NULL, "/nonexistent/folder", NULL, 0, NULL));
  TELL(umount2("/nonexistent/folder", 0));
  TELL(swapon("/nonexistent/file", 0));
  TELL(swapoff("/nonexistent/file"));
  TELL(unshare(-1));
  TELL(iopl(-1));
  TELL(ioperm(-1, 1, 0));
  TELL(reboot(0x1234));
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  locks();
  threads();
  files();
  streams();
  sockets();
  queues_and_signals();
  privileged();
  if (argc > 100) fcloseall(), vhangup(), sync(); /* hooked, and not for a test to do */
  return 0;
}
