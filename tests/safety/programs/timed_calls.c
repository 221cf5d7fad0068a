/* Calls that the agent only times: results, errno (kept where the call succeeds), streams, and cancellation in the middle. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <wchar.h>

#include "check.h"

#define BAD ((void *)8)
/* What a call answered, and its errno; success must leave errno alone. */
#define SHOW(call)                                      \
  do {                                                  \
    errno = 12345;                                      \
    const long answer = (long)(call);                   \
    const int error = errno;                            \
    printf("%s: %ld errno %d\n", #call, answer, error); \
  } while (0)
#define SHOW_SIGN(call)                                                             \
  do {                                                                              \
    errno = 12345;                                                                  \
    const long answer = (long)(call);                                               \
    const int error = errno;                                                        \
    printf("%s: %s errno %d\n", #call, answer < 0 ? "refused" : "accepted", error); \
  } while (0)

static void files(void) {
  char name[] = "/tmp/timed_calls.XXXXXX", bytes[64] = "0123456789";
  const int fd = mkstemp(name);
  struct iovec piece = {bytes, 4};
  off_t offset = 0;
  int ends[2], others[2], waiting = 0;
  MUST(fd >= 0 && pipe(ends) == 0 && pipe(others) == 0);
  unlink(name);
  SHOW(pwrite(fd, bytes, 10, 0));
  SHOW(pread(fd, bytes, 4, 2));
  SHOW(pread(-1, bytes, 4, 2));
  SHOW(pread(fd, BAD, 4, 0));
  SHOW(preadv(fd, &piece, 1, 0));
  SHOW(pwritev2(fd, &piece, 1, 0, 0));
  SHOW(open("/nonexistent/file", O_RDONLY));
  SHOW(open(BAD, O_RDONLY));
  SHOW_SIGN(openat(AT_FDCWD, "/dev/null", O_RDONLY));
  SHOW_SIGN(open("/tmp", O_TMPFILE | O_RDWR, 0600));
  SHOW(fsync(fd));
  SHOW(fsync(-1));
  SHOW(fdatasync(fd));
  SHOW(ftruncate(fd, 100));
  SHOW(truncate("/nonexistent/file", 1));
  SHOW(truncate(BAD, 1));
  SHOW(posix_fallocate(fd, 0, -1));
  SHOW(flock(fd, LOCK_EX));
  SHOW(flock(-1, LOCK_EX));
  SHOW(lockf(fd, F_TLOCK, 10));
  SHOW(fcntl(fd, F_GETFD));
  SHOW(fcntl(fd, F_SETFD, FD_CLOEXEC));
  SHOW(fcntl(fd, F_GETFD));
  SHOW(fcntl(-1, F_GETFL));
  write(ends[1], bytes, 10);
  SHOW(ioctl(ends[0], FIONREAD, &waiting));
  printf("waiting %d\n", waiting);
  SHOW(ioctl(fd, 0x1234, BAD));
  SHOW(tee(ends[0], others[1], 5, 0));
  SHOW(splice(ends[0], NULL, others[1], NULL, 5, 0));
  SHOW(sendfile(others[1], fd, &offset, 4));
  SHOW(vmsplice(others[1], &piece, 1, 0));
  SHOW(mkfifo("/nonexistent/fifo", 0600));
  char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  MUST(map != MAP_FAILED);
  SHOW(msync(map, 4096, MS_SYNC));
  SHOW(mprotect(map, 4096, PROT_READ));
  SHOW(mprotect(map + 1, 4096, PROT_READ));
  SHOW_SIGN(mremap(map, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
  SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  SHOW(munmap(map + 1, 4096));
}

static void streams(void) {
  char line[64], *grown = NULL;
  wchar_t wide[16];
  size_t room = 0;
  FILE *stream = tmpfile();
  MUST(stream != NULL);
  SHOW(fputs("first line\nsecond\n", stream));
  SHOW(fputc('x', stream));
  SHOW(putc('y', stream));
  SHOW(fwrite("abcdef\n", 1, 7, stream));
  SHOW(putc_unlocked('z', stream));
  SHOW(fflush(stream));
  rewind(stream);
  SHOW(fgetc(stream));
  SHOW(getc(stream));
  SHOW(fgets(line, sizeof(line), stream) == line);
  printf("[%s]", line);
  SHOW(getline(&grown, &room, stream));
  SHOW(fread(line, 2, 3, stream));
  SHOW(getc_unlocked(stream));
  while (getc(stream) != EOF) {
  }
  SHOW(feof(stream) != 0);
  SHOW(fgets(line, sizeof(line), stream) == NULL);
  rewind(stream);
  SHOW(fgetws(wide, 16, stream) == wide);
  SHOW(fgetwc(stream));
  SHOW(fclose(stream));
  SHOW(fopen("/nonexistent/file", "r"));
  SHOW(fopen("/tmp", "w"));
  stream = fopen("/dev/full", "w");
  SHOW(fputs("no room", stream));
  SHOW(fflush(stream));
  SHOW_SIGN(freopen("/dev/null", "r", stream) == NULL ? -1 : 0);
  SHOW(getc(stream));
  SHOW(fflush(NULL));
  flockfile(stream);
  SHOW(ftrylockfile(stream));
  funlockfile(stream), funlockfile(stream);
  fclose(stream);
  free(grown);
}

static void processes(void) {
  int status = 0;
  pid_t pid;
  char *const arguments[] = {"sh", "-c", "exit 7", NULL}, *const none[] = {NULL};
  siginfo_t information;
  struct timespec soon = {0, 1000000};
  sigset_t set;
  SHOW(wait(&status));
  SHOW(waitpid(-1, &status, WNOHANG));
  SHOW(waitid(P_ALL, 0, &information, WEXITED));
  SHOW(posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, none));
  SHOW(waitpid(pid, &status, 0) == pid);
  printf("status %d\n", WEXITSTATUS(status));
  SHOW(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, arguments, none));
  SHOW(posix_spawnp(&pid, "nonexistent-program", NULL, NULL, arguments, none));
  SHOW(WEXITSTATUS(system("exit 5")));
  FILE *piped = popen("echo piped", "r");
  char line[32] = "";
  SHOW(fgets(line, sizeof(line), piped) == line);
  printf("[%s]", line);
  SHOW(WEXITSTATUS(pclose(piped)));
  SHOW(kill(-12345678, 0));
  SHOW(kill(getpid(), 0));
  SHOW(pthread_kill(pthread_self(), 0));
  SHOW(pthread_kill(pthread_self(), 1000));
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  SHOW(sigtimedwait(&set, &information, &soon));
  SHOW(sigaction(1000, NULL, NULL));
  SHOW(msgrcv(-1, line, 8, 0, 0));
  SHOW(semop(-1, NULL, 0));
  SHOW(shmat(-1, NULL, 0));
  SHOW(mq_receive(-1, line, 8, NULL));
  SHOW(dup2(-1, 5));
  SHOW(process_vm_readv(getpid(), BAD, 1, BAD, 1, 0));
  SHOW(aio_suspend(NULL, 0, &soon));
}

static int cleaned;
static void clean(void *unused) { ++cleaned; }
static int ends[2], queue, held;
static FILE *silent;
static void *blocked(void *what) {
  sigset_t set;
  char letter[16];
  int number;
  pthread_cleanup_push(clean, NULL);
  switch ((int)(intptr_t)what) {
    case 0:
      pause();
      break;
    case 1:
      sigemptyset(&set), sigaddset(&set, SIGUSR2), sigwait(&set, &number);
      break;
    case 2:
      msgrcv(queue, letter, 8, 0, 0);
      break;
    case 3:
      fcntl(held, F_OFD_SETLKW, &(struct flock){.l_type = F_WRLCK});
      break;
    case 4:
      waitpid(-1, &number, 0);
      break;
    case 5:
      sleep(60);
      break;
    case 6:
      splice(ends[0], NULL, ends[1], NULL, 1, 0), pread(ends[0], letter, 1, 0), read(ends[0], letter, 1);
      break;
  }
  pthread_cleanup_pop(0);
  return NULL;
}
static void cancelled(void) {
  char name[] = "/tmp/timed_calls.XXXXXX";
  queue = msgget(IPC_PRIVATE, 0600);
  MUST(pipe(ends) == 0);
  const int owner = mkstemp(name);
  held = open(name, O_RDWR);
  unlink(name);
  fcntl(owner, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK});
  const pid_t child = fork();
  if (child == 0) pause(), _exit(0);
  for (int what = 0; what <= 6; ++what) {
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, blocked, (void *)(intptr_t)what);
    sleep_ms(20);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled in %d: %d, cleaned %d\n", what, result == PTHREAD_CANCELED, cleaned);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  msgctl(queue, IPC_RMID, NULL);
}

int main(void) {
  files();
  streams();
  processes();
  cancelled();
  return 0;
}
