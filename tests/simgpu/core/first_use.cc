#include "tests/simgpu/core/first_use.h"

#include <mutex>
#include <unordered_set>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/core/trace.h"

namespace simgpu {
namespace {

struct Loaded {
  std::mutex mutex;  // guards `kernels`
  std::unordered_set<const Kernel*> kernels;
};
Loaded& LoadedKernels() {
  static auto* loaded = new Loaded;
  return *loaded;
}

}  // namespace

void LoadAtFirstUse(const Kernel* kernel) {
  Simulator& simulator = Simulator::Get();
  if (__builtin_expect(simulator.config().lazy_load_ns == 0, 1)) return;
  Loaded& loaded = LoadedKernels();
  {
    std::lock_guard lock(loaded.mutex);
    if (!loaded.kernels.insert(kernel).second) return;
  }
  const uint64_t begin_ns = simulator.clock().NowNs();
  simulator.SpendHostTime(simulator.config().lazy_load_ns);
  if (const TraceHooks* hooks = Hooks()) hooks->kernel_loaded(begin_ns, simulator.clock().NowNs());
}

}  // namespace simgpu
