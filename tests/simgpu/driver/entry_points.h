// Which exported function a program of some CUDA version means by a name. The table is generated from cudaTypedefs.h.
#ifndef STALLSCOPE_TESTS_SIMGPU_DRIVER_ENTRY_POINTS_H_
#define STALLSCOPE_TESTS_SIMGPU_DRIVER_ENTRY_POINTS_H_

namespace simgpu::driver {

struct EntryPoint {
  const char* function;  // "cuMemAdvise"
  int since_version;     // 12020; 0: of old
  const char* exported;  // "cuMemAdvise_v2"
};
extern const EntryPoint kEntryPoints[];
extern const unsigned kEntryPointCount;

}  // namespace simgpu::driver

#endif  // STALLSCOPE_TESTS_SIMGPU_DRIVER_ENTRY_POINTS_H_
