/* Whether a thread of this process sleeps in the kernel: the programs of tests/safety and tests/system wait for that before they
 * disturb one another, where a pause of so many milliseconds would only make it likely.
 *
 * C and C++, for test programs alone. Reads /proc; false where that cannot be read. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static inline bool SleepsInKernel(pid_t thread) {
  char path[64], stat[512] = {0};
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  const size_t bytes = fread(stat, 1, sizeof(stat) - 1, file);
  fclose(file);
  /* The name stands in parentheses and may hold any character, also parentheses. */
  const char *name_end = bytes > 0 ? strrchr(stat, ')') : NULL;
  return name_end != NULL && strncmp(name_end, ") S", 3) == 0;
}
