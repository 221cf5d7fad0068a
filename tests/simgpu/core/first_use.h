// What happens when a kernel is launched for the first time: with lazy loading (key lazy_load_ns) it is loaded, inside the
// launch. Any thread.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_FIRST_USE_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_FIRST_USE_H_

#include "tests/simgpu/core/work.h"

namespace simgpu {

void LoadAtFirstUse(const Kernel* kernel);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_FIRST_USE_H_
