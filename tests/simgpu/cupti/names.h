// Function names by callback id, generated from the CUPTI headers; null where there is no function.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_NAMES_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_NAMES_H_

namespace simgpu::cupti {

extern const char* const kRuntimeNames[];
extern const unsigned kRuntimeNameCount;
extern const char* const kDriverNames[];
extern const unsigned kDriverNameCount;

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_NAMES_H_
