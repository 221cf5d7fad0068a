/* A program with an allocator of its own that locks, waits and asks the system for memory through libc, from its first call on: that
 * call comes from the loader or the C library, before anything is set up. */
#include <sys/mman.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *area;
static size_t used, capacity;
static long calls;

static void *take(size_t alignment, size_t bytes) {
  pthread_mutex_lock(&mutex);
  ++calls;
  if (bytes == 0) bytes = 1;
  used = (used + 16 + alignment - 1) / alignment * alignment;
  if (area == NULL || used + bytes > capacity) {
    capacity = (bytes + alignment + (4 << 20)) / 4096 * 4096;
    area = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) _exit(97);
    used = alignment > 16 ? alignment : 16;
  }
  char *result = area + used;
  ((size_t *)result)[-1] = bytes;
  used += bytes;
  pthread_mutex_unlock(&mutex);
  if (calls % 64 == 1) usleep(1);
  return result;
}

void *malloc(size_t bytes) { return take(16, bytes); }
void free(void *pointer) { (void)pointer; }
void *calloc(size_t count, size_t bytes) { return take(16, count * bytes); } /* fresh pages are zero */
void *realloc(void *old, size_t bytes) {
  void *fresh = take(16, bytes);
  if (old != NULL) {
    size_t kept = ((size_t *)old)[-1];
    memcpy(fresh, old, kept < bytes ? kept : bytes);
  }
  return fresh;
}
void *memalign(size_t alignment, size_t bytes) { return take(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  *result = take(alignment, bytes);
  return 0;
}

static void *allocate(void *argument) {
  for (int i = 0; i < 2000; ++i) {
    char *bytes = malloc(i % 200 + 1);
    MUST(bytes != NULL);
    bytes[0] = 1;
    free(bytes);
  }
  return argument;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) MUST(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
  for (int i = 0; i < 4; ++i) MUST(pthread_join(threads[i], NULL) == 0);
  FILE *file = fopen("/proc/self/stat", "r");
  SEE(fgetc(file) > 0);
  fclose(file);
  SEE(calls > 8000);
  return 0;
}
