#include "agent/cuda/capture_state.h"

#include <driver_types.h>
#include <errno.h>

#include "agent/cuda/real_function.h"
#include "agent/cuda/runtime_calls.h"

namespace stallscope::agent {
namespace {

// cudaStreamLegacy; handle 0 means the same unless the caller was built for per-thread default streams.
constexpr uint64_t kLegacyStream = 1;

enum class Boundary : uint8_t { kNone, kBegin, kEnd };

// The class kGraphBuild covers more than captures; the name says which.
Boundary BoundaryOf(const char* symbol) {
  constexpr char kPrefix[] = "cudaStream";
  for (uint32_t i = 0; i < sizeof(kPrefix) - 1; ++i) {
    if (symbol[i] != kPrefix[i]) return Boundary::kNone;
  }
  switch (symbol[sizeof(kPrefix) - 1]) {
    case 'B':
      return Boundary::kBegin;  // cudaStreamBeginCapture*, the only names of the class with this letter
    case 'E':
      return Boundary::kEnd;
    default:
      return Boundary::kNone;
  }
}

std::atomic<void*> g_is_capturing{nullptr};

// A few handles. A full one forgets, and then work is taken for work that runs.
class Handles {
 public:
  void Add(uint64_t handle) noexcept {
    if (handle == 0 || Has(handle)) return;
    for (std::atomic<uint64_t>& entry : entries_) {
      uint64_t empty = 0;
      if (entry.compare_exchange_strong(empty, handle, std::memory_order_relaxed)) return;
    }
  }
  void Remove(uint64_t handle) noexcept {
    for (std::atomic<uint64_t>& entry : entries_) {
      uint64_t expected = handle;
      entry.compare_exchange_strong(expected, 0, std::memory_order_relaxed);
    }
  }
  void Clear() noexcept {
    for (std::atomic<uint64_t>& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }
  bool Has(uint64_t handle) const noexcept {
    for (const std::atomic<uint64_t>& entry : entries_) {
      if (handle != 0 && entry.load(std::memory_order_relaxed) == handle) return true;
    }
    return false;
  }

 private:
  std::atomic<uint64_t> entries_[16] = {};
};
constinit Handles g_streams, g_events;

// A stream that waits for an event of a captured one is captured too.
void FollowJoins(const CudaCallInfo& call, const CudaCallArguments& arguments) noexcept {
  if (call.call_class == wire::CudaCallClass::kEventRecord) {
    if (g_streams.Has(arguments.object)) {
      g_events.Add(arguments.argument);
    } else {
      g_events.Remove(arguments.argument);
    }
  } else if (call.call_class == wire::CudaCallClass::kStreamWaitEvent && g_events.Has(arguments.argument)) {
    g_streams.Add(arguments.object);
  }
}

}  // namespace

void NoteCapture(const CudaCallInfo& call, int32_t result, const CudaCallArguments& arguments) noexcept {
  if (CapturesRunning() && result == 0) FollowJoins(call, arguments);
  if (call.call_class != wire::CudaCallClass::kGraphBuild) return;
  switch (BoundaryOf(call.symbol)) {
    case Boundary::kBegin:
      if (result != 0) break;
      g_streams.Add(arguments.object);
      g_captures_running.fetch_add(1, std::memory_order_relaxed);
      break;
    case Boundary::kEnd: {
      // Also when it failed: the capture of an invalidated stream is over too.
      int32_t running = g_captures_running.load(std::memory_order_relaxed);
      while (running > 0 &&
             !g_captures_running.compare_exchange_weak(running, running - 1, std::memory_order_relaxed)) {
      }
      g_streams.Remove(arguments.object);
      if (running <= 1) {
        g_streams.Clear();
        g_events.Clear();
      }
      break;
    }
    case Boundary::kNone:
      break;
  }
}

bool StreamIsKnownToCapture(uint64_t stream) noexcept { return g_streams.Has(stream); }

bool StreamIsCapturing(uint64_t stream) noexcept {
  if (stream == 0 || stream == kLegacyStream) return false;
  using IsCapturing = cudaError_t (*)(cudaStream_t, cudaStreamCaptureStatus*);
  const auto ask = reinterpret_cast<IsCapturing>(RealFunction(&g_is_capturing, "cudaStreamIsCapturing"));
  if (ask == nullptr) return false;
  const int saved_errno = errno;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const bool answered = ask(reinterpret_cast<cudaStream_t>(stream), &status) == cudaSuccess;
  errno = saved_errno;
  return answered && status != cudaStreamCaptureStatusNone;
}

}  // namespace stallscope::agent
