// The CUDA work of the test programs that use CUPTI beside the agent: fills on the default stream.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>

inline void Fill(int count) {
  static void* memory = nullptr;
  if (memory == nullptr) cudaMalloc(&memory, 4096);
  for (int i = 0; i < count; ++i) cudaMemsetAsync(memory, 0, 64, nullptr);
  cudaDeviceSynchronize();
}

inline void FillFor(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    Fill(10);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}
