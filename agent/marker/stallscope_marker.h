/* Tells Stallscope where a step of token generation ends. Header only, C and C++, no library to link.
 *
 *   #include "stallscope_marker.h"
 *   ...
 *   stallscope_step(tokens);   // after each step: how many tokens it delivered
 *
 * Outside of Stallscope this is one load and one comparison. Any thread. The first call looks the agent up with dlsym;
 * where the agent is loaded later, up to 1,000 further calls look again. On glibc before 2.34 link with -ldl. */
#ifndef STALLSCOPE_MARKER_H_
#define STALLSCOPE_MARKER_H_

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*stallscope_step_function)(unsigned tokens);

static inline void stallscope_step(unsigned tokens) {
  static stallscope_step_function step; /* races between threads store the same value */
  static unsigned looked_up;
  if (step == NULL) {
    if (looked_up >= 1000) return;
    ++looked_up;
    *(void **)&step = dlsym(NULL, "stallscope_step_v1"); /* NULL: RTLD_DEFAULT */
    if (step == NULL) return;
  }
  step(tokens);
}

#ifdef __cplusplus
}
#endif

#endif /* STALLSCOPE_MARKER_H_ */
