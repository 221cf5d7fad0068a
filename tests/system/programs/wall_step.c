// Preloaded: the wall clock, as libc tells it to this process, makes a step of an hour WALL_STEP_MS after the start. The
// monotonic clock goes on, as it does when somebody sets the time. Who asks the kernel past libc sees no step.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kStepS = 3600 };

static long MonotonicMs(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long g_begin_ms;
__attribute__((constructor)) static void Begin(void) { g_begin_ms = MonotonicMs(); }

static long StepS(void) {
  const char* after = getenv("WALL_STEP_MS");
  return after != NULL && g_begin_ms != 0 && MonotonicMs() - g_begin_ms >= atol(after) ? kStepS : 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += StepS();
  return result;
}

int gettimeofday(struct timeval* now, void* zone) {
  struct timespec wall;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &wall);
  now->tv_sec = wall.tv_sec;
  now->tv_usec = wall.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* to) {
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  if (to != NULL) *to = wall.tv_sec;
  return wall.tv_sec;
}
