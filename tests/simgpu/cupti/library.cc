// What differs between the drop-ins libcupti.so.11.8, .12 and .13: compiled once for each.
#include "tests/simgpu/cupti/layout.h"

namespace simgpu::cupti {

const char* const kLibraryCudaVersion = SIMGPU_LIBRARY_CUDA_VERSION;

}  // namespace simgpu::cupti
