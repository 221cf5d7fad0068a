#include "tests/workloads/story/story_engine.h"

#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/workloads/truth_note.h"

namespace workloads {
namespace {

constexpr size_t kPoolBytes = size_t{4} << 30, kStateBytes = size_t{64} << 20;
constexpr size_t kHugeHostBytes = size_t{8} << 30, kRealHostBytes = size_t{64} << 20;
constexpr uint64_t kSetUpMallocs = 2;
constexpr size_t kTokenBytes = size_t{kSequences} * (1 + kDraftTokens) * sizeof(int);  // rejected ones are padding
// How much of a device-wide wait the device still works; the rest is over-wait.
constexpr double kWorkedShare = 0.35;

void Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "reference_story: %s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK_CUDA(call) Check(call, #call)

// 16 MB to 1 GB, as many of each size.
size_t LargeCopyBytes(uint64_t index) {
  const double share = static_cast<double>(index % 7) / 6;
  return static_cast<size_t>(static_cast<double>(kLargeFromBytes) *
                             std::pow(static_cast<double>(kLargeToBytes / kLargeFromBytes), share));
}

}  // namespace

template <typename MakeCall>
void StoryEngine::Call(ApiRow row, MakeCall make_call) {
  Ledger& ledger = plan_->calls[static_cast<size_t>(row)];
  times_.NextCall(ledger.Wanted());
  const uint64_t begin_ns = NowNs();
  make_call();
  const uint64_t outside_ns = NowNs() - begin_ns;
  times_.NextCall(0);
  // A tracer's clock reads lie between ours and the simulator's.
  const uint64_t inside_ns = times_.LastCall();
  ledger.Took(inside_ns == 0 ? outside_ns : (inside_ns + outside_ns) / 2);
}

StoryEngine::StoryEngine(Plan* plan) : plan_(plan) {
  for (cudaStream_t* stream : {&main_, &copies_, &side_, &idle_}) {
    CHECK_CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  }
  CHECK_CUDA(cudaEventCreateWithFlags(&side_done_, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventCreateWithFlags(&tokens_down_, cudaEventDisableTiming));
  Call(ApiRow::kMalloc, [&] { CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&pool_), kPoolBytes)); });
  Call(ApiRow::kMalloc, [&] { CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&state_), kStateBytes)); });
  host_bytes_ = times_.available() ? kHugeHostBytes : kRealHostBytes;
  for (void*& host : host_) {
    host = mmap(nullptr, host_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED) Check(cudaErrorMemoryAllocation, "mmap of host memory");
    Call(ApiRow::kHostRegister, [&] { CHECK_CUDA(cudaHostRegister(host, host_bytes_, 0)); });
  }
  for (const uint8_t kind : plan->graphs) {
    if (execs_[kind] == nullptr) Capture(kind);
  }
}

StoryEngine::~StoryEngine() {
  for (cudaStream_t stream : {main_, copies_, side_, idle_}) {
    cudaStreamDestroy(stream);
  }
  for (unsigned kind = 0; kind < kGraphKinds; ++kind) {
    if (execs_[kind] != nullptr) cudaGraphExecDestroy(execs_[kind]);
    if (graphs_[kind] != nullptr) cudaGraphDestroy(graphs_[kind]);
  }
  cudaEventDestroy(side_done_);
  cudaEventDestroy(tokens_down_);
  for (void* host : host_) {
    cudaHostUnregister(host);
    munmap(host, host_bytes_);
  }
  for (void* block : blocks_) cudaFree(block);
  cudaFree(state_);
  cudaFree(pool_);
}

// The nodes' durations are given at each launch, in this order (LaunchGraph).
void StoryEngine::Capture(unsigned kind) {
  CHECK_CUDA(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal));
  auto* memory = reinterpret_cast<float*>(state_);
  LaunchStoryKernel(StoryKernel::kGemm, memory, main_);
  for (uint64_t i = 0; i < kFillsPerGraph && !plan_->fixes.prezero; ++i) {
    LaunchStoryKernel(StoryKernel::kFill, memory, main_);
  }
  if ((kind & kGraphHasGroupedGemm) != 0) LaunchStoryKernel(StoryKernel::kGroupedGemm, memory, main_);
  if ((kind & kGraphHasSilu) != 0) LaunchStoryKernel(StoryKernel::kSilu, memory, main_);
  if ((kind & kGraphHasRmsNorm) != 0) LaunchStoryKernel(StoryKernel::kRmsNorm, memory, main_);
  if ((kind & kGraphHasTile) != 0) {
    Call(ApiRow::kMemcpyAsync, [&] {
      times_.NextCall(0);  // a captured call has its own time
      CHECK_CUDA(cudaMemcpyAsync(pool_, pool_ + kTileBytes, kTileBytes, cudaMemcpyDeviceToDevice, main_));
    });
  }
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaStreamEndCapture(main_, &graphs_[kind]));
  CHECK_CUDA(cudaGraphInstantiate(&execs_[kind], graphs_[kind], 0));
}

void StoryEngine::LaunchGraph() {
  if (next_graph_ == plan_->graphs.size()) return;
  const unsigned kind = plan_->graphs[next_graph_++];
  uint64_t nodes_ns[kFillsPerGraph + 5];
  size_t nodes = 0;
  const auto add = [&](StoryKernel kernel) {
    nodes_ns[nodes++] = plan_->kernel_ns[static_cast<size_t>(kernel)].Take();
  };
  add(StoryKernel::kGemm);
  for (uint64_t i = 0; i < kFillsPerGraph && !plan_->fixes.prezero; ++i) add(StoryKernel::kFill);
  if ((kind & kGraphHasGroupedGemm) != 0) add(StoryKernel::kGroupedGemm);
  if ((kind & kGraphHasSilu) != 0) add(StoryKernel::kSilu);
  if ((kind & kGraphHasRmsNorm) != 0) add(StoryKernel::kRmsNorm);
  if ((kind & kGraphHasTile) != 0) nodes_ns[nodes++] = plan_->tile_ns.Take();
  times_.NextGraph(nodes_ns, nodes);
  Call(ApiRow::kGraphLaunch, [&] { CHECK_CUDA(cudaGraphLaunch(execs_[kind], main_)); });
}

void StoryEngine::Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                       uint64_t duration_ns) {
  times_.NextOperation(duration_ns);
  Call(ApiRow::kMemcpyAsync, [&] { CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream)); });
}

void StoryEngine::Kernel(StoryKernel kernel) {
  times_.NextOperation(plan_->kernel_ns[static_cast<size_t>(kernel)].Take());
  LaunchStoryKernel(kernel, reinterpret_cast<float*>(state_), main_);
}

void StoryEngine::Between(uint64_t step, uint64_t part, uint64_t parts) {
  const uint64_t steps = plan_->steps;
  const auto here = [&](uint64_t of_run) { return Share(Share(of_run, steps, step), parts, part); };
  auto* host = static_cast<char*>(host_[0]);
  const uint64_t uploads = here(plan_->uploads), memsets = here(plan_->memsets), syncs = here(plan_->stream_syncs);
  const uint64_t small = here(plan_->small_copies), tiles = here(plan_->direct_tiles),
                 large = here(plan_->large_copies);

  for (uint64_t i = 0; i < uploads; ++i) {
    Copy(state_, host, 256 << (i % 4), cudaMemcpyHostToDevice, main_, plan_->upload_ns.Take());
  }
  for (uint64_t i = 0; i < memsets; ++i) {
    times_.NextOperation(plan_->memset_ns.Take());
    CHECK_CUDA(cudaMemsetAsync(state_, 0, 4096, main_));
  }
  // Slot by slot into the block tables, with a look after nearly each whether the stream is done: it is.
  uint64_t looked = 0;
  for (uint64_t i = 0; i < small; ++i) {
    Copy(state_ + 4096, state_ + 8192, size_t{4} << (i % 5), cudaMemcpyDeviceToDevice, side_, plan_->small_ns.Take());
    for (; looked < syncs * (i + 1) / small; ++looked) {
      Call(ApiRow::kStreamSynchronize, [&] { CHECK_CUDA(cudaStreamSynchronize(idle_)); });
    }
  }
  for (; looked < syncs; ++looked) {
    Call(ApiRow::kStreamSynchronize, [&] { CHECK_CUDA(cudaStreamSynchronize(idle_)); });
  }
  for (int kernel = 0; kernel < kStoryKernels; ++kernel) {
    const uint64_t launches = here(plan_->direct_kernels[static_cast<size_t>(kernel)]);
    for (uint64_t i = 0; i < launches; ++i) Kernel(static_cast<StoryKernel>(kernel));
  }
  for (uint64_t i = 0; i < tiles; ++i) {
    char* tile = pool_ + (tile_++ % 512) * 2 * kTileBytes;
    Copy(tile, tile + kTileBytes, kTileBytes, cudaMemcpyDeviceToDevice, copies_, plan_->tile_ns.Take());
  }
  for (uint64_t i = 0; i < large; ++i) {
    Copy(pool_, pool_ + (kPoolBytes / 2), LargeCopyBytes(tile_++), cudaMemcpyDeviceToDevice, copies_,
         plan_->large_ns.Take());
  }
  const uint64_t events = here(plan_->event_syncs);
  for (uint64_t i = 0; i < events; ++i) {
    Call(ApiRow::kEventSynchronize, [&] { CHECK_CUDA(cudaEventSynchronize(side_done_)); });
  }
}

void StoryEngine::BringTokensDown(uint64_t step) {
  auto* down = static_cast<char*>(host_[1]);
  const uint64_t read_backs = Share(plan_->read_backs, plan_->steps, step);
  for (uint64_t i = 1; i < read_backs; ++i) {  // how many of the drafts were accepted
    Copy(down + 4096, state_ + 4096, kSequences * sizeof(int), cudaMemcpyDeviceToHost, main_,
         plan_->read_back_ns.Take());
  }
  if (read_backs > 0) Copy(down, state_, kTokenBytes, cudaMemcpyDeviceToHost, main_, plan_->read_back_ns.Take());
}

void StoryEngine::WaitForTokens() {
  if (plan_->fixes.event_sync) {
    CHECK_CUDA(cudaEventSynchronize(tokens_down_));
    return;
  }
  Call(ApiRow::kDeviceSynchronize, [&] { CHECK_CUDA(cudaDeviceSynchronize()); });
}

uint64_t StoryEngine::Step(uint64_t step, const std::function<void(uint64_t)>& wait_until) {
  for (void* block : blocks_) CHECK_CUDA(cudaFree(block));
  blocks_.clear();
  const uint64_t step_mallocs = plan_->mallocs > kSetUpMallocs ? plan_->mallocs - kSetUpMallocs : 0;
  const uint64_t mallocs = plan_->fixes.pool ? 0 : Share(step_mallocs, plan_->steps, step);
  for (uint64_t i = 0; i < mallocs; ++i) {
    Call(ApiRow::kMalloc, [&] { CHECK_CUDA(cudaMalloc(&blocks_.emplace_back(), size_t{2} << 20)); });
  }
  CHECK_CUDA(cudaEventRecord(side_done_, idle_));
  const uint64_t graphs = Share(plan_->graphs.size(), plan_->steps, step);
  for (uint64_t i = 0; i < graphs; ++i) {
    LaunchGraph();
    Between(step, i, graphs);
  }
  BringTokensDown(step);
  if (plan_->fixes.event_sync) CHECK_CUDA(cudaEventRecord(tokens_down_, main_));

  if (times_.available()) {
    const uint64_t wait_ns = plan_->calls[static_cast<size_t>(ApiRow::kDeviceSynchronize)].Wanted();
    const auto worked_ns = static_cast<uint64_t>(static_cast<double>(wait_ns) * kWorkedShare);
    wait_until(times_.DeviceEnd() - worked_ns);
  }
  WaitForTokens();
  const uint64_t at_ns = NowNs();
  const auto spread = static_cast<double>(step * 7919 % 13) - 6;
  const auto accepted = static_cast<uint64_t>(kSequences * kDraftTokens * kAcceptedShare + spread + 0.5);
  NoteStep(at_ns, kSequences + accepted);
  return kSequences + accepted;
}

}  // namespace workloads
