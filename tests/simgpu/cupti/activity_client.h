// A client of the simulated libcupti for its tests: lends buffers, keeps what comes back, and launches a kernel.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_ACTIVITY_CLIENT_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_ACTIVITY_CLIENT_H_

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);

namespace simgpu::cupti {

inline void KernelStub() {}

using Bytes = std::vector<uint8_t>;

// What the client got back, buffer by buffer.
struct Delivered {
  std::mutex mutex;
  std::vector<Bytes> buffers;
  std::set<std::thread::id> requesting_threads;
  std::atomic<int> requests{0};
  std::atomic<bool> refuse{false};
};
inline Delivered& Client() {
  static auto* delivered = new Delivered;
  return *delivered;
}

constexpr size_t kBufferBytes = 16 << 10;

inline void CUPTIAPI Request(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *max_records = 0;
  *bytes = kBufferBytes;
  *buffer = Client().refuse ? nullptr : static_cast<uint8_t*>(std::malloc(kBufferBytes));
  ++Client().requests;
  std::lock_guard lock(Client().mutex);
  Client().requesting_threads.insert(std::this_thread::get_id());
}

inline void CUPTIAPI Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  std::lock_guard lock(Client().mutex);
  Client().buffers.emplace_back(buffer, buffer + valid_bytes);
  std::free(buffer);
}

inline void StartClient() {
  __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(&KernelStub), nullptr, "_Z10test_kernelv", -1, nullptr,
                         nullptr, nullptr, nullptr, nullptr);
  ASSERT_EQ(cuptiActivityRegisterCallbacks(Request, Complete), CUPTI_SUCCESS);
}

inline cudaError_t LaunchKernel(cudaStream_t stream) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(&KernelStub), dim3(2, 3, 1), dim3(64, 1, 1), nullptr, 0,
                          stream);
}

// A graph of `nodes` kernels, one after the other.
inline cudaGraphExec_t MakeGraph(cudaStream_t stream, int nodes) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  for (int i = 0; i < nodes; ++i) LaunchKernel(stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  return exec;
}

// The records of one kind that the client has by now, in the layout of this library.
template <typename Record>
std::vector<Record> Arrived(CUpti_ActivityKind kind) {
  std::lock_guard lock(Client().mutex);
  std::vector<Record> records;
  for (Bytes& buffer : Client().buffers) {
    CUpti_Activity* activity = nullptr;
    while (cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &activity) == CUPTI_SUCCESS) {
      if (activity->kind != kind) continue;
      Record record;
      std::memcpy(&record, activity, sizeof record);
      records.push_back(record);
    }
  }
  return records;
}

class CuptiActivity : public testing::Test {
 protected:
  void SetUp() override {
    StartClient();
    Drain();
  }
  void TearDown() override {
    for (int kind = 0; kind < 56; ++kind) cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
    Drain();
    Client().refuse = false;
    cudaGetLastError();
  }
  void Drain() {
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    size_t dropped = 0;
    cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
    std::lock_guard lock(Client().mutex);
    Client().buffers.clear();
    Client().requesting_threads.clear();
  }
  // Flushes, and the records of one kind that the client has by then.
  template <typename Record>
  std::vector<Record> Records(CUpti_ActivityKind kind, uint32_t flag = 0) {
    EXPECT_EQ(cuptiActivityFlushAll(flag), CUPTI_SUCCESS);
    return Arrived<Record>(kind);
  }
};

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_ACTIVITY_CLIENT_H_
