/* Tells Stallscope that a step ended and how many tokens it delivered. For an engine's source code; C and C++.
 *
 *   #include "stallscope_step.h"
 *   ...
 *   stallscope_step(sequences);   // right after the new tokens are known to the host
 *
 * No library to link: the function is looked up once, and without Stallscope in the process the call does nothing. Any
 * thread; about 10 ns. tokens 0 ends a step whose token count the caller does not know. */
#ifndef STALLSCOPE_STEP_H_
#define STALLSCOPE_STEP_H_

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*stallscope_step_function)(uint64_t tokens);

static inline void stallscope_step_ignored(uint64_t tokens) { (void)tokens; }

static inline void stallscope_step(uint64_t tokens) {
  static stallscope_step_function report;
  stallscope_step_function now = __atomic_load_n(&report, __ATOMIC_RELAXED);
  if (!now) {
    /* RTLD_DEFAULT without _GNU_SOURCE */
    void *found = dlsym((void *)0, "stallscope_report_step");
    now = found ? (stallscope_step_function)(uintptr_t)found : stallscope_step_ignored;
    __atomic_store_n(&report, now, __ATOMIC_RELAXED);
  }
  now(tokens);
}

#ifdef __cplusplus
}
#endif

#endif /* STALLSCOPE_STEP_H_ */
