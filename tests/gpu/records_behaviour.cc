// When records come, and which: a flush beside unfinished work, synchronization records, graph trace.
#include <cstdlib>
#include <functional>
#include <map>

#include "tests/gpu/cupti_access.h"
#include "tests/gpu/kernels.h"
#include "tests/gpu/questions.h"

namespace gpu_probe {
namespace {

constexpr int kShort = 8;
constexpr int kNodes = 6;

cudaGraphExec_t GraphOfKernels(cudaStream_t stream, int nodes) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing");
  for (int i = 0; i < nodes; ++i) LaunchShort(stream);
  Check(cudaStreamEndCapture(stream, &graph), "capturing");
  Check(cudaGraphInstantiate(&exec, graph, 0), "instantiating");
  return exec;
}

size_t Kernels() { return Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size(); }

const char* TypeName(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "stream waits for event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "stream";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "context";
    default:
      return "other";
  }
}

}  // namespace

Answer AskFlushUnfinished() {
  Check(cudaFree(nullptr), "starting CUDA");
  StartRecording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  for (int i = 0; i < kShort; ++i) LaunchShort(nullptr);
  Check(cudaDeviceSynchronize(), "the short kernels");
  LaunchLong(nullptr);
  Flush(false);
  const bool still_running = cudaStreamQuery(nullptr) == cudaErrorNotReady;
  const size_t beside_unfinished = Kernels();
  Flush(true);
  const size_t forced = Kernels();
  Check(cudaDeviceSynchronize(), "the long kernel");
  Flush(false);
  const auto all = Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  int without_end = 0;
  for (const auto& kernel : all) without_end += kernel.end == 0;
  if (!still_running) throw NotAnswered("the long kernel ended before the flush");
  return {{"finished", kShort},
          {"given_by_plain_flush", beside_unfinished},
          {"given_by_forced_flush", forced - beside_unfinished},
          {"in_all", all.size()},
          {"without_end", without_end},
          {"withholds", beside_unfinished == kShort ? "single records" : "the buffer"}};
}

Answer AskImplicitSynchronization() {
  Check(cudaFree(nullptr), "starting CUDA");
  static char pageable[1 << 16];
  void *device = nullptr, *other = nullptr, *pinned = nullptr;
  cudaStream_t stream;
  cudaEvent_t event;
  Check(cudaMalloc(&device, sizeof pageable), "allocating");
  Check(cudaStreamCreate(&stream), "a stream");
  Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"cudaMemcpy pageable to device", [&] { cudaMemcpy(device, pageable, sizeof pageable, cudaMemcpyHostToDevice); }},
      {"cudaMemcpy device to pageable", [&] { cudaMemcpy(pageable, device, sizeof pageable, cudaMemcpyDeviceToHost); }},
      {"cudaMemcpyAsync device to pageable",
       [&] { cudaMemcpyAsync(pageable, device, sizeof pageable, cudaMemcpyDeviceToHost, stream); }},
      {"cudaMemset", [&] { cudaMemset(device, 0, 4096); }},
      {"cudaMalloc", [&] { cudaMalloc(&other, 1 << 20); }},
      {"cudaFree", [&] { cudaFree(other); }},
      {"cudaMallocHost", [&] { cudaMallocHost(&pinned, 1 << 16); }},
      {"cudaFreeHost", [&] { cudaFreeHost(pinned); }},
      {"cudaEventRecord", [&] { cudaEventRecord(event, stream); }},
      {"cudaEventQuery", [&] { cudaEventQuery(event); }},
      {"cudaStreamQuery", [&] { cudaStreamQuery(stream); }},
      {"cudaStreamWaitEvent", [&] { cudaStreamWaitEvent(stream, event, 0); }},
      {"cudaEventSynchronize", [&] { cudaEventSynchronize(event); }},
      {"cudaStreamSynchronize", [&] { cudaStreamSynchronize(stream); }},
      {"cudaDeviceSynchronize", [&] { cudaDeviceSynchronize(); }},
      {"cudaStreamDestroy", [&] { cudaStreamDestroy(stream); }},
  };
  StartRecording({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION});
  Answer answer = Answer::object();
  for (const auto& [name, call] : calls) {
    Flush(true);
    ForgetRecords();
    LaunchMiddle(nullptr);
    call();
    Flush(false);
    Answer types = Answer::array();
    for (const auto& wait : Records<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
      types.push_back(TypeName(wait.type));
    }
    answer[name] = types;
  }
  return {{"synchronization_records", answer}};
}

Answer AskGraphTrace() {
  cudaStream_t stream;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  cudaGraphExec_t before_tracing = GraphOfKernels(stream, kNodes);
  StartRecording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  cudaGraphExec_t during_tracing = GraphOfKernels(stream, kNodes);
  Answer phases = Answer::array();
  const auto launch = [&](const char* phase, cudaGraphExec_t exec) {
    ForgetRecords();
    Check(cudaGraphLaunch(exec, stream), "launching the graph");
    Check(cudaStreamSynchronize(stream), "the graph");
    Flush(false);
    size_t with_graph_id = 0;
    for (const auto& kernel : Records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
      with_graph_id += kernel.graphId != 0;
    }
    const auto graphs = Records<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    phases.push_back({{"phase", phase},
                      {"node_records", Kernels()},
                      {"with_graph_id", with_graph_id},
                      {"graph_records", graphs.size()}});
  };
  launch("nodes; instantiated before tracing", before_tracing);
  launch("nodes; instantiated while tracing", during_tracing);
  Check(Cupti().cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "enabling graph trace");
  launch("graph trace on; instantiated before", before_tracing);
  launch("graph trace on; instantiated while tracing", during_tracing);
  Check(Cupti().cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "disabling graph trace");
  launch("graph trace off again; instantiated before", before_tracing);
  Check(Cupti().cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "enabling graph trace");
  launch("graph trace on again; instantiated before", before_tracing);
  const bool suppresses = phases[2]["node_records"] == 0 && phases[2]["graph_records"] == 1;
  const bool switches = phases[4]["node_records"] == kNodes && phases[5]["graph_records"] == 1;
  return {{"nodes_in_graph", kNodes},
          {"phases", phases},
          {"suppresses_node_records", suppresses},
          {"switches_live", switches}};
}

}  // namespace gpu_probe
