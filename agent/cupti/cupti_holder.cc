// A program for a test: holds CUPTI like a profiler while it makes CUDA calls, then lets it go and makes calls until it
// is told to stop.
//
// usage: cupti_holder SECONDS    how long it goes on after letting go
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void CUPTIAPI Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void FillFor(std::chrono::milliseconds time) {
  void* memory = nullptr;
  cudaMalloc(&memory, 4096);
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    cudaMemset(memory, 0, 64);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  cudaDeviceSynchronize();
  cudaFree(memory);
}

}  // namespace

int main(int argc, char** argv) {
  void* library = dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr || argc != 2) return 2;
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  const auto unsubscribe = reinterpret_cast<decltype(&cuptiUnsubscribe)>(dlsym(library, "cuptiUnsubscribe"));
  CUpti_SubscriberHandle subscriber = nullptr;
  if (subscribe(&subscriber, Ignore, nullptr) != CUPTI_SUCCESS) return 3;
  FillFor(std::chrono::milliseconds(100));
  unsubscribe(subscriber);
  FillFor(std::chrono::milliseconds(static_cast<int>(1000 * std::atof(argv[1]))));
}
