// The simulated libcuda as a program without the runtime sees it (Triton's kind): modules, launches, entry points.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 counters[16];\n"
    ".visible .entry triton_matmul(\n.param .u64 a\n)\n{\nret;\n}\n.visible .entry triton_softmax()\n{\nret;\n}\n";

class CudaDriver : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadDataEx(&module_, kPtx, 0, nullptr, nullptr), CUDA_SUCCESS);
  }
  void TearDown() override { cuModuleUnload(module_); }
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

TEST_F(CudaDriver, Module_HasTheKernelsAndVariablesOfItsImageAndNoOthers) {
  CUfunction function;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "triton_softmax"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "triton_missing"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module_, "counters"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 64u);
  CUmodule other;
  EXPECT_EQ(cuModuleLoadData(&other, "no image"), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(CudaDriver, LaunchKernelEx_RunsOnItsStream) {
  CUfunction function;
  CUstream stream;
  cuModuleGetFunction(&function, module_, "triton_matmul");
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  CUevent begin, end;
  cuEventCreate(&begin, CU_EVENT_DEFAULT);
  cuEventCreate(&end, CU_EVENT_DEFAULT);
  cuEventRecord(begin, stream);
  EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
  cuEventRecord(end, stream);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0.0025f - 1e-5f);
  EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(&config), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  cuEventDestroy(begin);
  cuEventDestroy(end);
  cuStreamDestroy(stream);
}

TEST_F(CudaDriver, Memory_IsFilledCopiedAndDescribed) {
  CUdeviceptr device = 0;
  ASSERT_EQ(cuMemAlloc(&device, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32(device, 0x01020304, 16), CUDA_SUCCESS);
  unsigned words[16] = {};
  ASSERT_EQ(cuMemcpyDtoH(words, device, 64), CUDA_SUCCESS);
  EXPECT_EQ(words[15], 0x01020304u);
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 8), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(words)),
            CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, device + 8), CUDA_SUCCESS);
  EXPECT_EQ(base, device);
  EXPECT_EQ(cuMemFree(device), CUDA_SUCCESS);
}

TEST_F(CudaDriver, EntryPoints_FollowTheVersionAndTheDefaultStreamAskedFor) {
  void *old_form = nullptr, *new_form = nullptr, *plain = nullptr, *per_thread = nullptr, *missing = nullptr;
  CUdriverProcAddressQueryResult status;
  ASSERT_EQ(cuGetProcAddress("cuMemAdvise", &old_form, 12000, 0, &status), CUDA_SUCCESS);
  ASSERT_EQ(cuGetProcAddress("cuMemAdvise", &new_form, 12020, 0, &status), CUDA_SUCCESS);
  EXPECT_NE(old_form, new_form);
  EXPECT_EQ(new_form, reinterpret_cast<void *>(&cuMemAdvise_v2));
  ASSERT_EQ(cuGetProcAddress("cuLaunchKernel", &plain, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status),
            CUDA_SUCCESS);
  ASSERT_EQ(
      cuGetProcAddress("cuLaunchKernel", &per_thread, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
      CUDA_SUCCESS);
  EXPECT_EQ(plain, reinterpret_cast<void *>(&cuLaunchKernel));
  EXPECT_NE(per_thread, plain);
  EXPECT_EQ(cuGetProcAddress("cuFlyToTheMoon", &missing, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress("cuLaunchKernelEx", &missing, 11000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST_F(CudaDriver, FunctionThatIsNotSimulated_SaysSoOnceAndFails) {
  testing::internal::CaptureStderr();
  CUtexObject texture = 0;
  EXPECT_EQ(cuTexObjectCreate(&texture, nullptr, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuTexObjectCreate(&texture, nullptr, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "simgpu: cuTexObjectCreate is not simulated\n");
}

}  // namespace
