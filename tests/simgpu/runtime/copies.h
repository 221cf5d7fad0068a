// Makes and submits the copies and fills that the copy functions, the graph nodes and the driver's functions share.
#ifndef STALLSCOPE_TESTS_SIMGPU_RUNTIME_COPIES_H_
#define STALLSCOPE_TESTS_SIMGPU_RUNTIME_COPIES_H_

#include <cuda_runtime_api.h>

#include "tests/simgpu/core/work.h"

namespace simgpu::runtime {

CopyWork MakeCopy(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,
                  size_t rows);
// False when the copy needs arrays, which are not simulated, or when its sizes do not fit.
bool MakeCopy3D(const cudaMemcpy3DParms& parameters, CopyWork* copy);
bool MakeCopy3D(const cudaMemcpy3DPeerParms& parameters, CopyWork* copy);
bool MakeCopy3D(const cudaMemcpy3DBatchOp& operation, CopyWork* copy);
FillWork MakeFill(void* pointer, size_t pitch, unsigned value, unsigned element_bytes, size_t width, size_t rows);

cudaError_t SubmitCopy(CopyWork copy, cudaStream_t stream, bool synchronous);
cudaError_t SubmitFill(FillWork fill, cudaStream_t stream);

}  // namespace simgpu::runtime

#endif  // STALLSCOPE_TESTS_SIMGPU_RUNTIME_COPIES_H_
