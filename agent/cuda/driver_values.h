// Conversions used by the expressions of driver_calls.h. Needs <cuda.h>, in whichever form its includer wants it.
#pragma once

namespace stallscope::agent {

// A program may pass nullptr where a structure is wanted; CUDA answers with an error, and so must we.
inline CUstream DriverLaunchStream(const CUlaunchConfig* config) {
  return config == nullptr ? nullptr : config->hStream;
}

}  // namespace stallscope::agent
