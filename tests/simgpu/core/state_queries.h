// Functions that only tell a thread's own state. Programs call them several times for each launch, so they are traced only
// while a tracer has asked for one of them (as the real library pays next to nothing for functions that nobody asked for).
// Names without version and suffix: the generated wrappers and the simulated CUPTI go by them.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_STATE_QUERIES_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_STATE_QUERIES_H_

namespace simgpu {

inline constexpr const char* kStateQueries[] = {"cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError",
                                                "__cudaPushCallConfiguration", "__cudaPopCallConfiguration"};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_STATE_QUERIES_H_
