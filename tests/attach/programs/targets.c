/* One program that puts itself into the state that its argument names, says "ready", and stays until its input ends.
 *
 * usage: targets STATE
 *   plain            one thread, in a read
 *   threads          three threads, each waiting: a condition variable, a pipe that stays empty, a long sleep
 *   not-dumpable     prctl(PR_SET_DUMPABLE, 0)
 *   own-filter       a seccomp filter of its own that allows everything
 *   strict           strict seccomp
 *   zombie           prints the pid of a child that has ended and that nobody waits for
 *   traced           prints the pid of a child that it traces
 *   computes         all threads allocate and compute, none ever waits; prints a checked sum at the end
 *   epoll            one thread, in epoll_wait with a time limit of 1 s; counts EINTR
 *   patches          replaces its own call slot of usleep at each line "p", puts back what was there at each "u", calls usleep at
 *                    each "c"; prints how often its own function came by
 *   in-hooks         threads that wait in different calls until a line comes in, are let go, and wait again; prints what each saw
 *   binds PATH       eight threads that load copies of that library, whose slots are bound at their first calls, call into them and
 *                    unload them; ends with "result ok" when each call came back right
 *   allocates        eight threads that do nothing but allocate, also one big block after another; the first one too
 *   plugin PATH      loads that library when a line comes in, and calls its function run() in a thread for each more line */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/call_slot.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int empty_pipe[2];
static volatile int stop;

static void ready(long number) {
  printf("ready %ld\n", number);
  fflush(stdout);
}

static void until_input_ends(void) {
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
}

static void *waits_for_condition(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "on-condition");
  pthread_mutex_lock(&lock);
  for (;;) pthread_cond_wait(&never, &lock);
  return NULL;
}

static void *waits_for_pipe(void *unused) {
  char byte;
  (void)unused;
  prctl(PR_SET_NAME, "on-pipe");
  if (read(empty_pipe[0], &byte, 1) < 0) abort();
  return NULL;
}

static void *sleeps(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "sleeper");
  for (;;) sleep(1000);
  return NULL;
}

static void *computes(void *into) {
  uint64_t sum = 0, rounds = 0;
  while (!stop) {
    unsigned char *block = malloc(1000 + rounds % 7000);
    memset(block, (int)(rounds & 127), 1000);
    sum += block[rounds % 1000];
    free(block);
    ++rounds;
  }
  uint64_t expected = 0;
  for (uint64_t i = 0; i < rounds; ++i) expected += i & 127;
  *(uint64_t *)into = sum == expected;
  return NULL;
}

static int own_calls;
static int (*next_usleep)(useconds_t);
static int own_usleep(useconds_t time_us) {
  ++own_calls;
  return next_usleep(time_us);
}
static int patches(void) {
  char line[16];
  ready(getpid());
  while (fgets(line, sizeof(line), stdin) != NULL) {
    if (line[0] == 'p') {
      next_usleep = (int (*)(useconds_t))ReplaceCallSlot("usleep", (void *)own_usleep);
      if (next_usleep == NULL) return 99;
    }
    if (line[0] == 'u') ReplaceCallSlot("usleep", (void *)next_usleep);
    if (line[0] == 'c' && usleep(1000) != 0) return 98;
    ready(own_calls);
  }
  return 0;
}

/* Each of these threads sits in one kind of call; a line from outside lets all go on, again and again. */
static int wake_pipe[2], wake_poll[2];
static sem_t wake_semaphore;
static pthread_cond_t wake_condition = PTHREAD_COND_INITIALIZER;
static long generation, seen[5], wrong;
static void *sits(void *kind) {
  const long which = (long)(intptr_t)kind;
  for (long turn = 1; !stop; ++turn) {
    char byte = 0;
    struct pollfd fd = {wake_poll[0], POLLIN, 0};
    const struct timespec briefly = {0, 2000000};
    if (which == 0 && (read(wake_pipe[0], &byte, 1) != 1 || byte != 'w')) ++wrong;
    if (which == 1 && sem_wait(&wake_semaphore) != 0) ++wrong;
    if (which == 2) {
      pthread_mutex_lock(&lock);
      while (generation < turn) pthread_cond_wait(&wake_condition, &lock);
      pthread_mutex_unlock(&lock);
    }
    if (which == 3 && (poll(&fd, 1, -1) != 1 || read(wake_poll[0], &byte, 1) != 1)) ++wrong;
    if (which == 4 && nanosleep(&briefly, NULL) != 0) ++wrong;
    __atomic_add_fetch(&seen[which], 1, __ATOMIC_SEQ_CST);
  }
  return NULL;
}
static int in_hooks(void) {
  pthread_t threads[5];
  char line[16];
  if (pipe(wake_pipe) != 0 || pipe(wake_poll) != 0 || sem_init(&wake_semaphore, 0, 0) != 0) abort();
  for (intptr_t i = 0; i < 5; ++i) pthread_create(&threads[i], NULL, sits, (void *)i);
  ready(getpid());
  for (;;) {
    const int more = fgets(line, sizeof(line), stdin) != NULL;
    if (!more) stop = 1;
    pthread_mutex_lock(&lock);
    ++generation;
    pthread_cond_broadcast(&wake_condition);
    pthread_mutex_unlock(&lock);
    sem_post(&wake_semaphore);
    if (write(wake_pipe[1], "w", 1) != 1 || write(wake_poll[1], "w", 1) != 1) ++wrong;
    if (!more) break;
    for (int i = 0; i < 4; ++i) {
      while (__atomic_load_n(&seen[i], __ATOMIC_SEQ_CST) < generation) usleep(100);
    }
    ready(generation);
  }
  for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; ++i) wrong += seen[i] != generation;
  printf("result %s, %ld turns\n", wrong == 0 ? "ok" : "WRONG", generation);
  return wrong != 0;
}

static const char *library;
static void *binds(void *number) {
  char command[512], path[256];
  snprintf(path, sizeof(path), "/tmp/stallscope-attach-%d-%d.so", (int)getpid(), (int)(intptr_t)number);
  snprintf(command, sizeof(command), "cp %s %s", library, path);
  if (system(command) != 0) abort();
  while (!stop) {
    void *plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    void *(*run)(void *) = plugin != NULL ? (void *(*)(void *))dlsym(plugin, "run") : NULL;
    if (run == NULL || run(&generation) != &generation) __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
    if (plugin == NULL || dlclose(plugin) != 0) __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&seen[0], 1, __ATOMIC_SEQ_CST);
  }
  unlink(path);
  return NULL;
}
static int bind_all(const char *path) {
  pthread_t threads[8];
  library = path;
  for (intptr_t i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, binds, (void *)i);
  ready(getpid());
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
  stop = 1;
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  printf("result %s, %ld loads\n", wrong == 0 ? "ok" : "WRONG", seen[0]);
  return wrong != 0;
}

/* Where each thread is in the allocator at most moments, and waits in it for the others. */
static void *allocates(void *unused) {
  (void)unused;
  while (!stop) {
    void *blocks[64];
    for (int i = 0; i < 64; ++i) blocks[i] = malloc(i % 8 == 0 ? 300000 : 40);
    for (int i = 0; i < 64; ++i) {
      if (blocks[i] == NULL) abort();
      free(blocks[i]);
    }
  }
  return NULL;
}
static int allocate(void) {
  pthread_t threads[8];
  char byte;
  struct pollfd input = {0, POLLIN, 0};
  mallopt(M_ARENA_MAX, 1); /* one lock for all */
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, allocates, NULL);
  ready(getpid());
  while (!stop) {
    void *block = malloc(100000);
    free(block);
    if (poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0) stop = 1;
  }
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  puts("result ok");
  return 0;
}

static void own_filter(void) {
  struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, all};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(77);
}

int main(int argc, char **argv) {
  const char *state = argc > 1 ? argv[1] : "plain";
  if (pipe(empty_pipe) != 0) abort();
  pthread_t threads[3];
  if (strcmp(state, "threads") == 0) {
    pthread_create(&threads[0], NULL, waits_for_condition, NULL);
    pthread_create(&threads[1], NULL, waits_for_pipe, NULL);
    pthread_create(&threads[2], NULL, sleeps, NULL);
    usleep(50000);
  } else if (strcmp(state, "not-dumpable") == 0) {
    prctl(PR_SET_DUMPABLE, 0);
  } else if (strcmp(state, "own-filter") == 0) {
    own_filter();
  } else if (strcmp(state, "strict") == 0) {
    puts("ready 0");
    fflush(stdout);
    char byte;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
    while (read(0, &byte, 1) > 0) {
    }
    syscall(SYS_exit, 0);
  } else if (strcmp(state, "zombie") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    ready(child);
    until_input_ends();
    return 0;
  } else if (strcmp(state, "traced") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) return 77;
    ready(child);
    until_input_ends();
    kill(child, 9);
    return 0;
  } else if (strcmp(state, "computes") == 0) {
    uint64_t right[2] = {0, 0};
    char byte;
    pthread_create(&threads[0], NULL, computes, &right[0]);
    ready(getpid());
    pthread_create(&threads[1], NULL, computes, &right[1]);
    /* The first thread must not be parked either. */
    while (!stop) {
      struct pollfd input = {0, POLLIN, 0};
      if (poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0) stop = 1;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("result %s\n", right[0] && right[1] ? "ok" : "WRONG");
    return 0;
  } else if (strcmp(state, "epoll") == 0) {
    const int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, 0, &event);
    long interrupted = 0, early = 0;
    ready(getpid());
    for (;;) {
      struct timespec begin, end;
      clock_gettime(CLOCK_MONOTONIC, &begin);
      const int result = epoll_wait(set, &event, 1, 1000);
      clock_gettime(CLOCK_MONOTONIC, &end);
      const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
      if (result < 0 && errno == EINTR) ++interrupted;
      if (result == 0 && seconds < 0.999) ++early;
      if (result > 0) break;
    }
    printf("result ok, eintr %ld, early %ld\n", interrupted, early);
    return interrupted != 0 || early != 0;
  } else if (strcmp(state, "patches") == 0) {
    return patches();
  } else if (strcmp(state, "in-hooks") == 0) {
    return in_hooks();
  } else if (strcmp(state, "binds") == 0 && argc > 2) {
    return bind_all(argv[2]);
  } else if (strcmp(state, "allocates") == 0) {
    return allocate();
  } else if (strcmp(state, "plugin") == 0) {
    char line[64];
    void *(*run)(void *) = NULL;
    ready(getpid());
    while (fgets(line, sizeof(line), stdin) != NULL) {
      if (run == NULL) {
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | (argc > 3 ? RTLD_DEEPBIND : 0));
        if (plugin == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&run = dlsym(plugin, "run");
      } else {
        pthread_t thread;
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
      }
      ready(0);
    }
    return 0;
  }
  ready(getpid());
  until_input_ends();
  return 0;
}
