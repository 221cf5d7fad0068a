// The simulated libcudart as a program sees it: error codes, data, queries. Times are asserted on the simulated device
// only.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);

namespace {

void KernelStub() {}
const void* Kernel() { return reinterpret_cast<const void*>(&KernelStub); }

class CudaRuntime : public testing::Test {
 protected:
  void SetUp() override {
    __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(&KernelStub), nullptr, "_Z10test_kernelv", -1,
                           nullptr, nullptr, nullptr, nullptr, nullptr);
    cudaGetLastError();
  }
};

TEST_F(CudaRuntime, LastError_IsKeptUntilItIsRead) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaRuntime, FunctionThatIsNotSimulated_SaysSoOnceAndFails) {
  testing::internal::CaptureStderr();
  cudaTextureObject_t texture = 0;
  cudaExternalMemory_t memory = nullptr;
  EXPECT_EQ(cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_EQ(cudaImportExternalMemory(&memory, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaCreateTextureObject(&texture, nullptr, nullptr, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "simgpu: cudaCreateTextureObject is not simulated\nsimgpu: cudaImportExternalMemory is not simulated\n");
}

TEST_F(CudaRuntime, Device_NamesItselfSimulated) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_NE(std::string(properties.name).find("Simulated GPU"), std::string::npos);
  EXPECT_GT(properties.totalGlobalMem, size_t{80} << 30);
  int multiprocessors = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(multiprocessors, properties.multiProcessorCount);
}

TEST_F(CudaRuntime, ElapsedTime_IsTheSimulatedOne) {
  cudaStream_t stream;
  cudaEvent_t begin, end;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  // A long enough run of kernels that launching them stays ahead of the device: gaps are then the stream's own.
  for (int i = 0; i < 20; ++i) cudaLaunchKernel(Kernel(), dim3(1), dim3(1), nullptr, 0, stream);
  cudaEventRecord(begin, stream);
  for (int i = 0; i < 10; ++i) cudaLaunchKernel(Kernel(), dim3(1), dim3(1), nullptr, 0, stream);
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 10 * (2500 + 700) / 1e6f - 1e-5f);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
}

TEST_F(CudaRuntime, Copies_KeepTheirBytes) {
  char host[4][8] = {"row 0", "row 1", "row 2", "row 3"}, back[4][8] = {};
  void* device;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&device, &pitch, 8, 4), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(device, pitch, host, 8, 8, 4, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(back, 8, device, pitch, 8, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::memcmp(host, back, sizeof host), 0);
  ASSERT_EQ(cudaMemset2D(device, pitch, 'x', 3, 4), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back, static_cast<char*>(device) + 3 * pitch, 8, cudaMemcpyDefault), cudaSuccess);
  EXPECT_STREQ(back[0], "xxx 3");
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
}

TEST_F(CudaRuntime, PointerAttributes_TellWhereMemoryLies) {
  void *device, *pinned;
  char local;
  cudaMalloc(&device, 64);
  cudaMallocHost(&pinned, 64);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, device);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&attributes, pinned);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&attributes, &local);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  cudaFree(device);
  cudaFreeHost(pinned);
}

TEST_F(CudaRuntime, UnknownKernelOrEmptyGrid_IsRefused) {
  static const char unknown = 0;
  EXPECT_EQ(cudaLaunchKernel(&unknown, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(Kernel(), dim3(0), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidConfiguration);
}

TEST_F(CudaRuntime, Capture_RefusesWhatCannotBeCaptured) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(stream, &status);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  cudaStreamDestroy(stream);
}

TEST_F(CudaRuntime, GraphUpdate_OtherShape_FailsWithTheReason) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t one, two;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaLaunchKernel(Kernel(), dim3(1), dim3(1), nullptr, 0, stream);
  cudaStreamEndCapture(stream, &one);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < 2; ++i) cudaLaunchKernel(Kernel(), dim3(1), dim3(1), nullptr, 0, stream);
  cudaStreamEndCapture(stream, &two);
  ASSERT_EQ(cudaGraphInstantiate(&exec, one, 0), cudaSuccess);
  cudaGraphExecUpdateResultInfo info;
  EXPECT_EQ(cudaGraphExecUpdate(exec, one, &info), cudaSuccess);
  EXPECT_EQ(cudaGraphExecUpdate(exec, two, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(one);
  cudaGraphDestroy(two);
  cudaStreamDestroy(stream);
}

}  // namespace
