// Host functions in streams.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

// A stream callback with what it is called with; goes when it has been called.
struct StreamCallback {
  cudaStreamCallback_t callback;
  cudaStream_t stream;
  void* user_data;

  static void Call(void* self) {
    auto* callback = static_cast<StreamCallback*>(self);
    callback->callback(callback->stream, cudaSuccess, callback->user_data);
    delete callback;
  }
};

}  // namespace

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* user_data) {
  if (function == nullptr) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  if (const cudaError_t error = CheckLegacyStream(stream); error != cudaSuccess) return error;
  Simulator::Get().Submit(stream, HostWork{function, user_data});
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* user_data,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  if (Capture* capture = stream->capture.load(std::memory_order_relaxed)) return RefuseInCapture(capture);
  Simulator::Get().Submit(stream, HostWork{StreamCallback::Call, new StreamCallback{callback, handle, user_data}});
  return cudaSuccess;
}

}  // namespace simgpu::runtime
