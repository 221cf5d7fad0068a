// The callback domains resource and synchronize, and JIT records: read off API calls, since each of these events is the
// work of one call. A graph's nodes are said when the graph is captured or built node by node.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_RESOURCES_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_RESOURCES_H_

#include "tests/simgpu/core/trace.h"

namespace simgpu::cupti {

// What is about to go away is said before the call, what came into being after it.
void BeforeResourceCall(const ApiCall& call);
void AfterResourceCall(const ApiCall& call);

void SynchronizedCallbacks(const Wait& wait);

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_RESOURCES_H_
