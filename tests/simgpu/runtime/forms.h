// Functions that changed their form with CUDA 13: the bodies are written in the newer form, which CUDA 12 exports under
// a name with a suffix. forms_12.cc has CUDA 12's older forms.
#ifndef STALLSCOPE_TESTS_SIMGPU_RUNTIME_FORMS_H_
#define STALLSCOPE_TESTS_SIMGPU_RUNTIME_FORMS_H_

#include <cuda_runtime_api.h>

#if CUDART_VERSION < 13000
#undef cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#define cudaMemAdvise cudaMemAdvise_v2
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#endif

#endif  // STALLSCOPE_TESTS_SIMGPU_RUNTIME_FORMS_H_
