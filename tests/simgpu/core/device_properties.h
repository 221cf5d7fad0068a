// The simulated device as the programs see it: an H200-like part. One table for cudaGetDeviceProperties,
// cudaDeviceGetAttribute and cuDeviceGetAttribute.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_DEVICE_PROPERTIES_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_DEVICE_PROPERTIES_H_

#include <cuda_runtime_api.h>

#include "tests/simgpu/core/config.h"

namespace simgpu {

cudaDeviceProp DeviceProperties(const Config& config, int ordinal);
// Attributes share their numbers between runtime and driver API. What is not modelled reads 0.
int DeviceAttribute(const Config& config, int ordinal, int attribute);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_DEVICE_PROPERTIES_H_
