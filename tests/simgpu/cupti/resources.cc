#include "tests/simgpu/cupti/resources.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <unistd.h>

#include <cstring>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/graph.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {
namespace {

thread_local uint64_t load_begin_stamp_ns = 0;  // of a module load under way

template <typename Params>
const Params& As(const ApiCall& call) {
  return *static_cast<const Params*>(call.params);
}

bool Wanted(uint32_t cbid) {
  bool wanted = false;
  Clients::Get().Each([&wanted, cbid](Client& client) {
    wanted = wanted || client.switches.CallbackOn(CUPTI_CB_DOMAIN_RESOURCE, cbid);
  });
  return wanted;
}

void Say(uint32_t cbid, CUstream stream, void* descriptor) {
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(CurrentDevice());
  data.resourceHandle.stream = stream;
  data.resourceDescriptor = descriptor;
  Clients::Get().Each([cbid, &data](Client& client) { client.Call(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data); });
}

void SayStream(uint32_t cbid, cudaStream_t stream) { Say(cbid, stream, nullptr); }

void SayGraph(uint32_t cbid, cudaGraph_t graph, cudaGraphExec_t exec, cudaGraph_t original = nullptr) {
  if (!Wanted(cbid)) return;
  CUpti_GraphData data{};
  data.graph = graph;
  data.originalGraph = original;
  data.graphExec = exec;
  Say(cbid, nullptr, &data);
}

CUgraphNodeType TypeOf(const Work& work) {
  if (std::holds_alternative<KernelWork>(work)) return CU_GRAPH_NODE_TYPE_KERNEL;
  if (std::holds_alternative<CopyWork>(work)) return CU_GRAPH_NODE_TYPE_MEMCPY;
  if (std::holds_alternative<FillWork>(work)) return CU_GRAPH_NODE_TYPE_MEMSET;
  return CU_GRAPH_NODE_TYPE_EMPTY;
}

void SayNode(uint32_t cbid, CUgraph graph, const GraphNode& node) {
  CUpti_GraphData data{};
  data.graph = graph;
  data.node = reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(&node));
  data.nodeType = TypeOf(node.work);
  Say(cbid, nullptr, &data);
}

void SayCaptured(cudaGraph_t graph) {
  SayGraph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph, nullptr);
  if (graph == nullptr || !Wanted(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)) return;
  for (const GraphNode& node : reinterpret_cast<const Graph*>(graph)->nodes) {
    SayNode(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, node);
  }
}

// Each node of the executable graph is said to be a clone of the graph's.
void SayInstantiated(cudaGraphExec_t exec, cudaGraph_t graph) {
  if (Wanted(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)) {
    const auto& nodes = reinterpret_cast<GraphExec*>(exec)->nodes;
    const auto& originals = reinterpret_cast<Graph*>(graph)->nodes;
    for (size_t i = 0; i < nodes.size() && i < originals.size(); ++i) {
      CUpti_GraphData data{};
      data.graph = graph;
      data.originalGraph = graph;
      data.node = reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(&nodes[i]));
      data.originalNode = reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(&originals[i]));
      data.nodeType = TypeOf(nodes[i].work);
      data.graphExec = exec;
      Say(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, nullptr, &data);
    }
  }
  SayGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph, exec);
}

// The image that a loading call compiles, or null.
const char* LoadedImage(const ApiCall& call) {
  if (call.params == nullptr) return nullptr;
  if (call.domain == ApiDomain::kRuntime) {
    if (call.cbid != CUPTI_RUNTIME_TRACE_CBID_cudaLibraryLoadData_v12060) return nullptr;
    return static_cast<const char*>(As<cudaLibraryLoadData_v12060_params>(call).code);
  }
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
      return static_cast<const char*>(As<cuModuleLoadData_params>(call).image);
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
      return static_cast<const char*>(As<cuModuleLoadDataEx_params>(call).image);
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData:
      return static_cast<const char*>(As<cuLibraryLoadData_params>(call).code);
    default:
      return nullptr;
  }
}

// PTX is text and begins with a comment or a directive; cubins and fat binaries begin with their own magic.
bool IsPtx(const char* image) {
  while (*image == ' ' || *image == '\n' || *image == '\r' || *image == '\t') ++image;
  return *image == '.' || (image[0] == '/' && (image[1] == '/' || image[1] == '*'));
}

void WriteJitRecord(const ApiCall& call) {
  CUpti_ActivityJit2 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_JIT;
  record.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
  record.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
  record.deviceId = static_cast<uint32_t>(CurrentOrdinal());
  record.start = load_begin_stamp_ns;
  record.end = StampNow();
  record.correlationId = call.correlation_id;
  record.jitOperationCorrelationId = call.correlation_id;
  record.processId = static_cast<uint32_t>(getpid());
  record.threadId = ThreadId();
  Clients::Get().Each([&record](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_JIT)) client.Write(record);
  });
}

void AfterModuleLoad(const ApiCall& call, const char* image) {
  if (IsPtx(image) && load_begin_stamp_ns != 0) WriteJitRecord(call);
  static std::atomic<uint32_t> next_module_id{1};
  CUpti_ModuleResourceData data{};
  data.moduleId = next_module_id.fetch_add(1, std::memory_order_relaxed);
  data.pCubin = image;
  Say(CUPTI_CBID_RESOURCE_MODULE_LOADED, nullptr, &data);
}

}  // namespace

void BeforeResourceCall(const ApiCall& call) {
  if (const char* image = LoadedImage(call)) {
    load_begin_stamp_ns = Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_JIT) && IsPtx(image) ? StampNow() : 0;
    return;
  }
  if (call.domain == ApiDomain::kDriver) {
    if (call.cbid == CUPTI_DRIVER_TRACE_CBID_cuModuleUnload || call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload) {
      CUpti_ModuleResourceData data{};
      Say(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, nullptr, &data);
    }
    return;
  }
  switch (call.cbid) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaStreamDestroy_v5050:
      return SayStream(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, As<cudaStreamDestroy_v5050_params>(call).stream);
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphDestroy_v10000:
      return SayGraph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, As<cudaGraphDestroy_v10000_params>(call).graph,
                      nullptr);
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphExecDestroy_v10000:
      return SayGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, nullptr,
                      As<cudaGraphExecDestroy_v10000_params>(call).graphExec);
    case CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020:
      return Say(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr, nullptr);
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiate_v12000:
      return SayGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, As<cudaGraphInstantiate_v12000_params>(call).graph,
                      nullptr);
    default:
      return;
  }
}

void AfterResourceCall(const ApiCall& call) {
  if (call.result != 0) return;
  if (const char* image = LoadedImage(call)) return AfterModuleLoad(call, image);
  if (call.domain == ApiDomain::kDriver) return;
  switch (call.cbid) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreate_v3020:
      return SayStream(CUPTI_CBID_RESOURCE_STREAM_CREATED, *As<cudaStreamCreate_v3020_params>(call).pStream);
    case CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithFlags_v5000:
      return SayStream(CUPTI_CBID_RESOURCE_STREAM_CREATED, *As<cudaStreamCreateWithFlags_v5000_params>(call).pStream);
    case CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithPriority_v5050:
      return SayStream(CUPTI_CBID_RESOURCE_STREAM_CREATED,
                       *As<cudaStreamCreateWithPriority_v5050_params>(call).pStream);
    case CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_ptsz_v10000:
      return SayCaptured(*As<cudaStreamEndCapture_v10000_params>(call).pGraph);
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphCreate_v10000:
      return SayGraph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, *As<cudaGraphCreate_v10000_params>(call).pGraph, nullptr);
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphClone_v10000: {
      const auto& p = As<cudaGraphClone_v10000_params>(call);
      return SayGraph(CUPTI_CBID_RESOURCE_GRAPH_CLONED, *p.pGraphClone, nullptr, p.originalGraph);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiate_v12000: {
      const auto& p = As<cudaGraphInstantiate_v12000_params>(call);
      return SayInstantiated(*p.pGraphExec, p.graph);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaGraphInstantiateWithFlags_v11040: {
      const auto& p = As<cudaGraphInstantiateWithFlags_v11040_params>(call);
      return SayInstantiated(*p.pGraphExec, p.graph);
    }
    default:
      return;
  }
}

void SynchronizedCallbacks(const Wait& wait) {
  uint32_t cbid;
  if (wait.kind == WaitKind::kStream) {
    cbid = CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED;
  } else if (wait.kind == WaitKind::kContext) {
    cbid = CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
  } else {
    return;
  }
  CUpti_SynchronizeData data{};
  data.context = reinterpret_cast<CUcontext>(CurrentDevice());
  const ApiCall* call = CurrentCall();
  if (wait.kind == WaitKind::kStream && call != nullptr && call->params != nullptr) {
    // The waits on one stream have the stream as their first parameter.
    std::memcpy(&data.stream, call->params, sizeof data.stream);
  }
  Clients::Get().Each([cbid, &data](Client& client) { client.Call(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data); });
}

}  // namespace simgpu::cupti
