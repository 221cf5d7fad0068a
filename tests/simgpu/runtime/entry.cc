#include "tests/simgpu/runtime/entry.h"

#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "runtime_impl.h"

namespace simgpu::runtime {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
}  // namespace

cudaError_t KeepFailure(cudaError_t error) { return last_error = error; }

cudaError_t NotSupported(const char* function) {
  static auto* mutex = new std::mutex;
  static auto* said = new std::set<std::string>;
  std::lock_guard lock(*mutex);
  if (said->insert(function).second) std::fprintf(stderr, "simgpu: %s is not simulated\n", function);
  return cudaErrorNotSupported;
}

cudaError_t RefuseInCapture(Capture* capture) {
  capture->Invalidate();
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t CheckLegacyStream(const Stream* stream) {
  if (stream->kind() != StreamKind::kLegacy) return cudaSuccess;
  return Simulator::Get().InvalidateBlockingCaptures(stream->device()) ? cudaErrorStreamCaptureImplicit : cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  SetDeviceFlags(CurrentOrdinal(), flags);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  *flags = DeviceFlags(CurrentOrdinal()) | cudaDeviceMapHost;
  return cudaSuccess;
}

const Kernel* FindKernel(const void* function) {
  KernelTable& kernels = Simulator::Get().kernels();
  if (const Kernel* kernel = kernels.FindByHostFunction(function)) return kernel;
  return kernels.IsKernel(function) ? static_cast<const Kernel*>(function) : nullptr;
}

const char* KernelName(const void* function) {
  const Kernel* kernel = FindKernel(function);
  return kernel == nullptr ? nullptr : kernel->name.c_str();
}

uint64_t TraceBegin() { return Hooks() == nullptr ? 0 : Simulator::Get().clock().NowNs(); }

void TraceWait(WaitKind kind, Device* device, Stream* stream, const Event* event, uint64_t begin_ns) {
  constexpr uint32_t kNone = ~uint32_t{0};
  const TraceHooks* hooks = Hooks();
  if (hooks == nullptr || begin_ns == 0) return;
  hooks->wait({kind, device->context_id(), stream == nullptr ? kNone : stream->id(),
               event == nullptr ? kNone : event->id, CurrentCorrelationId(), begin_ns,
               Simulator::Get().clock().NowNs()});
}

}  // namespace simgpu::runtime
