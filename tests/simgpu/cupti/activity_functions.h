// What the exported activity functions do, for one client: the process's or a subscriber's.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_ACTIVITY_FUNCTIONS_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_ACTIVITY_FUNCTIONS_H_

#include <cupti.h>

#include "tests/simgpu/cupti/client.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace simgpu::cupti {

CUptiResult EnableKind(Client* client, CUpti_ActivityKind kind);
CUptiResult EnableKindAndDump(Client* client, CUpti_ActivityKind kind);
CUptiResult DisableKind(Client* client, CUpti_ActivityKind kind);
CUptiResult SetApiRecord(Client* client, uint32_t domain, CUpti_CallbackId cbid, uint8_t enable);
CUptiResult SetAttribute(Client* client, CUpti_ActivityAttribute attribute, size_t* bytes, const void* value);
CUptiResult GetAttribute(Client* client, CUpti_ActivityAttribute attribute, size_t* bytes, void* value);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_ACTIVITY_FUNCTIONS_H_
