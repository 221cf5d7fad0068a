// What a library with the per-subscriber functions (CUDA 13.3 on) answers differently. Two versions of one small file:
// subscriber_api.cc in the drop-in of 13.3, no_subscriber_api.cc in all others.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_SUBSCRIBER_SESSIONS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_SUBSCRIBER_SESSIONS_H_

#include <cupti.h>

#include <cstdint>

namespace simgpu::cupti {

uint32_t LibraryApiVersion();
bool WantsToShare(const CUpti_SubscriberParams& params);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_SUBSCRIBER_SESSIONS_H_
