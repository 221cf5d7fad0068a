// The GPU side of the reference story: one decode step is a dozen piecewise graphs, the kernels and copies between them,
// the tokens' way down, and a wait for the whole device. Every call and operation takes what the plan says, on the
// simulated GPU.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_STORY_ENGINE_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_STORY_ENGINE_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "tests/workloads/story/plan.h"
#include "tests/workloads/story/simulated_times.h"

namespace workloads {

// One thread at a time. CUDA errors end the program with a line that names the call.
class StoryEngine {
 public:
  // Allocates, registers host memory, captures the graphs.
  explicit StoryEngine(Plan* plan);
  StoryEngine(const StoryEngine&) = delete;
  StoryEngine& operator=(const StoryEngine&) = delete;
  ~StoryEngine();

  // Runs one step and returns how many tokens it delivered. `wait_until(at_ns)` is called once all work is enqueued: the
  // caller has other things to wait for until then.
  uint64_t Step(uint64_t step, const std::function<void(uint64_t)>& wait_until);

 private:
  template <typename MakeCall>
  void Call(ApiRow row, MakeCall make_call);
  void Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, uint64_t duration_ns);
  void Kernel(StoryKernel kernel);
  void Capture(unsigned kind);
  void LaunchGraph();
  // Part `part` of `parts` of the step's work beside the graphs.
  void Between(uint64_t step, uint64_t part, uint64_t parts);
  void BringTokensDown(uint64_t step);
  void WaitForTokens();

  Plan* const plan_;
  const SimulatedTimes times_;
  cudaStream_t main_ = nullptr, copies_ = nullptr, side_ = nullptr, idle_ = nullptr;
  cudaEvent_t side_done_ = nullptr, tokens_down_ = nullptr;
  char* pool_ = nullptr;   // the key/value pool
  char* state_ = nullptr;  // everything small
  void* host_[2] = {};     // registered; the first feeds the device, the second takes what it gives back
  size_t host_bytes_ = 0;
  cudaGraph_t graphs_[kGraphKinds] = {};
  cudaGraphExec_t execs_[kGraphKinds] = {};
  size_t next_graph_ = 0;
  std::vector<void*> blocks_;  // allocated in the last step
  uint64_t tile_ = 0;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_STORY_ENGINE_H_
