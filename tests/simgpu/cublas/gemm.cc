#include "tests/simgpu/cublas/gemm.h"

#include <generated_cuda_runtime_api_meta.h>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu::cublas {
namespace {

// Tile of the products' kernels, for their grids.
constexpr int64_t kTileRows = 128, kTileColumns = 64;
constexpr unsigned kThreads = 384;

unsigned Tiles(int64_t size, int64_t tile) { return static_cast<unsigned>((size + tile - 1) / tile); }

}  // namespace

const char* GemmName(int data_type) {
  switch (data_type) {
    case CUDA_R_32F:
      return "cutlass_80_simt_sgemm_128x64_8x5_tn_align1";
    case CUDA_R_64F:
      return "cutlass_80_tensorop_d884gemm_128x64_16x3_tn_align1";
    case CUDA_R_16BF:
      return "nvjet_tst_128x64_64x6_2x1_v_bz_coopB_TNT";
    case CUDA_R_8F_E4M3:
      return "nvjet_qqtst_128x64_128x6_2x1_v_bz_coopB_TNT";
    case CUDA_R_8I:
      return "cutlass_80_tensorop_i16832gemm_s8_128x64_64x3_tn_align16";
    default:
      return "nvjet_hsh_128x64_64x6_2x1_v_bz_coopB_TNT";
  }
}

int LaunchTiles(cudaStream_t stream, const char* kernel_name, int64_t m, int64_t n, int64_t batch) {
  if (m < 0 || n < 0 || batch < 0) return kInvalidValue;
  if (m == 0 || n == 0 || batch == 0) return kSuccess;
  KernelWork work;
  work.kernel = Simulator::Get().kernels().Named(kernel_name);
  work.grid = {Tiles(m, kTileRows), Tiles(n, kTileColumns), static_cast<unsigned>(batch)};
  work.block = {kThreads, 1, 1};
  if (CallsAreWatched()) {
    constexpr uint32_t kLaunchKernelCbid = 211;
    const cudaLaunchKernel_v7000_params params{
        work.kernel, {work.grid.x, work.grid.y, work.grid.z}, {kThreads, 1, 1}, nullptr, 0, stream};
    ApiScope api_scope(ApiDomain::kRuntime, kLaunchKernelCbid, "cudaLaunchKernel_v7000", &params, kernel_name);
    Simulator::Get().Submit(StreamOf(stream), work);
    return api_scope.Return(kSuccess);
  }
  Simulator::Get().Submit(StreamOf(stream), work);
  return kSuccess;
}

}  // namespace simgpu::cublas
