#include "tests/workloads/script/play_device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "tests/workloads/script/line_reader.h"

// What nvcc's start-up code calls. Kernels registered so are names alone: they exist only on the simulated GPU.
extern "C" {
void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function, const char* device_name,
                            int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterFatBinaryEnd(void** handle);
}

namespace workloads::script {
namespace {

constexpr char kWholeKernel[] = "graph_traced_as_a_whole";

dim3 ToDim(const Extent& extent) { return dim3(extent.x, extent.y, extent.z); }

thread_local uint32_t current_device = 0;

void UseDevice(uint32_t device) {
  if (device == current_device) return;
  if (cudaSetDevice(static_cast<int>(device)) == cudaSuccess) current_device = device;
}

}  // namespace

void Buffers::Reserve(uint32_t device, const DeviceWork& work) {
  sides_[device].bytes = std::max(sides_[device].bytes, work.bytes);
  if (work.kind != DeviceWork::Kind::kCopy || work.copy == CopyKind::kDeviceToDevice) return;
  if (work.copy == CopyKind::kPeer) return;
  host_bytes_ = std::max(host_bytes_, work.bytes);
}

void Buffers::Allocate() {
  for (auto& [device, side] : sides_) {
    if (side.bytes == 0) continue;
    UseDevice(device);
    for (char*& buffer : side.device) {
      if (cudaMalloc(reinterpret_cast<void**>(&buffer), side.bytes) != cudaSuccess) buffer = nullptr;
    }
  }
  if (host_bytes_ == 0) return;
  if (cudaMallocHost(reinterpret_cast<void**>(&pinned_), host_bytes_) != cudaSuccess) pinned_ = nullptr;
  pageable_.resize(host_bytes_);
}

PlayDevice::PlayDevice(const Script& script, const PlayClock& clock) : script_(script), clock_(clock) {}

void PlayDevice::Check(cudaError_t error, Place place) const {
  if (error == cudaSuccess) return;
  std::fprintf(
      stderr, "%s\n",
      ErrorAt(script_.file_name, place, std::string("CUDA refuses this: ") + cudaGetErrorString(error)).c_str());
  std::_Exit(1);
}

void PlayDevice::SetUp() {
  static const int empty_fat_binary = 0;
  stubs_ = static_cast<char*>(std::calloc(script_.names.size() + 1, 1));  // lives as long as the kernels: for ever
  void** handle = __cudaRegisterFatBinary(const_cast<int*>(&empty_fat_binary));
  const auto add = [&](size_t index, const char* name) {
    __cudaRegisterFunction(handle, stubs_ + index, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  for (size_t i = 0; i < script_.names.size(); ++i) add(i, script_.names[i].c_str());
  add(script_.names.size(), kWholeKernel);
  __cudaRegisterFatBinaryEnd(handle);

  for (const Stream& stream : script_.streams) {
    UseDevice(stream.device);
    cudaStream_t created = stream.kind == Stream::Kind::kPerThread ? cudaStreamPerThread : nullptr;
    if (stream.kind == Stream::Kind::kBlocking || stream.kind == Stream::Kind::kNonBlocking) {
      const unsigned flags = stream.kind == Stream::Kind::kBlocking ? cudaStreamDefault : cudaStreamNonBlocking;
      Check(cudaStreamCreateWithPriority(&created, flags, stream.priority), Place{});
    }
    streams_.push_back(created);
  }
  for (const Event& event : script_.events) {
    cudaEvent_t created = nullptr;
    const unsigned flags = cudaEventDisableTiming | (event.blocking ? cudaEventBlockingSync : 0u);
    Check(cudaEventCreateWithFlags(&created, flags), Place{});
    events_.push_back(created);
  }
  std::set<std::pair<int, uint32_t>> used;
  for (const Thread& thread : script_.threads) {
    for (const Statement& s : thread.statements) {
      if (s.action == Action::kGraph) used.emplace(s.object, script_.streams[static_cast<size_t>(s.stream)].device);
    }
  }
  for (const auto& [graph, device] : used) {
    for (const GraphNode& node : script_.graphs[static_cast<size_t>(graph)].nodes) {
      graph_buffers_.Reserve(device, node.work);
    }
  }
  graph_buffers_.Allocate();
  for (const auto& [graph, device] : used) {
    graphs_[{graph, device}] = Capture(script_.graphs[static_cast<size_t>(graph)], device);
  }
}

Buffers PlayDevice::MakeBuffers(const Thread& thread) const {
  Buffers buffers;
  for (const Statement& s : thread.statements) {
    if (s.action == Action::kDevice) buffers.Reserve(script_.streams[static_cast<size_t>(s.stream)].device, s.work);
  }
  buffers.Allocate();
  return buffers;
}

cudaStream_t PlayDevice::Use(int stream) const {
  UseDevice(script_.streams[static_cast<size_t>(stream)].device);
  return streams_[static_cast<size_t>(stream)];
}

cudaGraphExec_t PlayDevice::Capture(const Graph& graph, uint32_t device) {
  UseDevice(device);
  uint32_t branches = 0;
  for (const GraphNode& node : graph.nodes) branches = std::max(branches, node.branch + 1);
  std::vector<cudaStream_t> lanes(branches);
  for (cudaStream_t& lane : lanes) Check(cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking), graph.place);
  cudaEvent_t joint = nullptr;
  Check(cudaEventCreateWithFlags(&joint, cudaEventDisableTiming), graph.place);
  Check(cudaStreamBeginCapture(lanes[0], cudaStreamCaptureModeThreadLocal), graph.place);
  Check(cudaEventRecord(joint, lanes[0]), graph.place);
  for (size_t i = 1; i < lanes.size(); ++i) Check(cudaStreamWaitEvent(lanes[i], joint, 0), graph.place);
  for (const GraphNode& node : graph.nodes) {
    if (node.work.at_ns != kNoTime) clock_.GiveBeginInGraph(node.work.at_ns);
    Launch(node.work, lanes[node.branch], device, &graph_buffers_, node.place);
  }
  for (size_t i = 1; i < lanes.size(); ++i) {
    Check(cudaEventRecord(joint, lanes[i]), graph.place);
    Check(cudaStreamWaitEvent(lanes[0], joint, 0), graph.place);
  }
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t exec = nullptr;
  Check(cudaStreamEndCapture(lanes[0], &captured), graph.place);
  Check(cudaGraphInstantiate(&exec, captured, 0), graph.place);
  Check(cudaGraphDestroy(captured), graph.place);
  Check(cudaEventDestroy(joint), graph.place);
  for (cudaStream_t lane : lanes) Check(cudaStreamDestroy(lane), graph.place);
  return exec;
}

void PlayDevice::Launch(const DeviceWork& work, cudaStream_t stream, uint32_t device, Buffers* buffers,
                        Place place) const {
  clock_.GiveDuration(work.duration_ns);
  switch (work.kind) {
    case DeviceWork::Kind::kKernel:
      return Check(
          cudaLaunchKernel(stubs_ + work.name, ToDim(work.grid), ToDim(work.block), nullptr, work.shared_bytes, stream),
          place);
    case DeviceWork::Kind::kWhole:
      return Check(cudaLaunchKernel(stubs_ + script_.names.size(), dim3(1), dim3(1), nullptr, 0, stream), place);
    case DeviceWork::Kind::kFill:
      return Check(cudaMemsetAsync(buffers->Device(device, 0), 0, work.bytes, stream), place);
    case DeviceWork::Kind::kCopy:
      break;
  }
  char* const host = work.pageable ? buffers->Pageable() : buffers->Pinned();
  char* const on_device = buffers->Device(device, 0);
  const auto copy = [&](void* destination, const void* source, cudaMemcpyKind kind) {
    Check(work.synchronous ? cudaMemcpy(destination, source, work.bytes, kind)
                           : cudaMemcpyAsync(destination, source, work.bytes, kind, stream),
          place);
  };
  switch (work.copy) {
    case CopyKind::kHostToDevice:
      return copy(on_device, host, cudaMemcpyHostToDevice);
    case CopyKind::kDeviceToHost:
      return copy(host, on_device, cudaMemcpyDeviceToHost);
    case CopyKind::kDeviceToDevice:
      return copy(buffers->Device(device, 1), on_device, cudaMemcpyDeviceToDevice);
    case CopyKind::kHostToHost:
      return copy(buffers->Pinned(), buffers->Pageable(), cudaMemcpyHostToHost);
    case CopyKind::kPeer: {
      int devices = 1;
      Check(cudaGetDeviceCount(&devices), place);
      const int peer = (static_cast<int>(device) + 1) % devices;
      return Check(cudaMemcpyPeerAsync(buffers->Device(device, 1), peer, on_device, static_cast<int>(device),
                                       work.bytes, stream),
                   place);
    }
  }
}

void PlayDevice::Submit(const Statement& s, Buffers* buffers) const {
  cudaStream_t stream = Use(s.stream);
  if (s.work.at_ns != kNoTime) clock_.GiveBegin(s.work.at_ns);
  Launch(s.work, stream, current_device, buffers, s.place);
}

void PlayDevice::LaunchGraph(const Statement& s) const {
  cudaStream_t stream = Use(s.stream);
  if (s.work.at_ns != kNoTime) clock_.GiveBegin(s.work.at_ns);
  Check(cudaGraphLaunch(graphs_.at({s.object, current_device}), stream), s.place);
}

bool PlayDevice::Synchronize(const Statement& s) const {
  const auto event = [&] { return events_[static_cast<size_t>(s.object)]; };
  const auto query = [&](cudaError_t answer) {
    if (answer != cudaErrorNotReady) Check(answer, s.place);
    return answer == cudaSuccess;
  };
  switch (s.action) {
    case Action::kRecord:
      Check(cudaEventRecord(event(), Use(s.stream)), s.place);
      break;
    case Action::kAwait:
      Check(cudaStreamWaitEvent(Use(s.stream), event(), 0), s.place);
      break;
    case Action::kSyncDevice:
      Use(s.stream);
      Check(cudaDeviceSynchronize(), s.place);
      break;
    case Action::kSyncStream:
      Check(cudaStreamSynchronize(Use(s.stream)), s.place);
      break;
    case Action::kSyncEvent:
      Check(cudaEventSynchronize(event()), s.place);
      break;
    case Action::kQueryStream:
      return query(cudaStreamQuery(Use(s.stream)));
    case Action::kQueryEvent:
    case Action::kPollEvent:
      return query(cudaEventQuery(event()));
    default:
      break;
  }
  return true;
}

void PlayDevice::WaitForEverything() const {
  for (const Stream& stream : script_.streams) {
    UseDevice(stream.device);
    Check(cudaDeviceSynchronize(), Place{});
  }
}

void PlayDevice::Allocate(const Statement& s, Buffers* buffers) const {
  void* memory = nullptr;
  switch (s.memory) {
    case MemoryKind::kDevice:
      Check(cudaMalloc(&memory, s.work.bytes), s.place);
      break;
    case MemoryKind::kPinned:
      Check(cudaMallocHost(&memory, s.work.bytes), s.place);
      break;
    case MemoryKind::kRegistered:
      memory = std::aligned_alloc(4096, (s.work.bytes + 4095) / 4096 * 4096);
      if (memory == nullptr) Check(cudaErrorMemoryAllocation, s.place);
      Check(cudaHostRegister(memory, s.work.bytes, cudaHostRegisterDefault), s.place);
      break;
  }
  buffers->allocated[static_cast<int>(s.memory)].push_back(memory);
}

void PlayDevice::Free(const Statement& s, Buffers* buffers) const {
  std::deque<void*>& allocated = buffers->allocated[static_cast<int>(s.memory)];
  void* memory = allocated.front();
  allocated.pop_front();
  switch (s.memory) {
    case MemoryKind::kDevice:
      return Check(cudaFree(memory), s.place);
    case MemoryKind::kPinned:
      return Check(cudaFreeHost(memory), s.place);
    case MemoryKind::kRegistered:
      Check(cudaHostUnregister(memory), s.place);
      std::free(memory);
      return;
  }
}

}  // namespace workloads::script
