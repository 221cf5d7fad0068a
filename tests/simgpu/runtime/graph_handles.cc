#include "tests/simgpu/runtime/graph_handles.h"

#include "runtime_impl.h"
#include "tests/simgpu/runtime/copies.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {

bool IndicesOf(const Graph* graph, const cudaGraphNode_t* handles, size_t count, std::vector<int>* indices) {
  for (size_t i = 0; i < count; ++i) {
    const GraphNode* node = FindNode(handles[i]);
    if (node == nullptr || node->graph != graph || node->removed) return false;
    indices->push_back(node->index);
  }
  return true;
}

void GiveNodes(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* handles, size_t* count) {
  if (handles != nullptr) {
    for (size_t i = 0; i < *count; ++i) handles[i] = i < nodes.size() ? HandleOf(nodes[i]) : nullptr;
  }
  *count = nodes.size();
}

bool MakeWork(const cudaKernelNodeParams& p, Work* work) {
  KernelWork kernel;
  kernel.kernel = FindKernel(p.func);
  if (kernel.kernel == nullptr) return false;
  kernel.grid = {p.gridDim.x, p.gridDim.y, p.gridDim.z};
  kernel.block = {p.blockDim.x, p.blockDim.y, p.blockDim.z};
  kernel.shared_bytes = p.sharedMemBytes;
  kernel.arguments = p.kernelParams;
  if (kernel.grid.Count() == 0 || kernel.block.Count() == 0) return false;
  *work = kernel;
  return true;
}

bool MakeWork(const cudaMemcpy3DParms& p, Work* work) {
  CopyWork copy;
  if (!MakeCopy3D(p, &copy)) return false;
  *work = copy;
  return true;
}

bool MakeWork(const cudaMemsetParams& p, Work* work) {
  const bool known_element = p.elementSize == 1 || p.elementSize == 2 || p.elementSize == 4;
  if (!known_element || p.dst == nullptr) return false;
  const FillWork fill = MakeFill(p.dst, p.pitch, p.value, p.elementSize, p.width * p.elementSize, p.height);
  if (fill.kind == MemoryKind::kPageable) return false;
  *work = fill;
  return true;
}

cudaError_t MakeWork(const cudaGraphNodeParams& p, Work* work) {
  switch (p.type) {
    case cudaGraphNodeTypeEmpty:
      *work = EmptyWork{};
      return cudaSuccess;
    case cudaGraphNodeTypeKernel: {
      // Two structs of the same meaning with fields in another order.
      cudaKernelNodeParams kernel{};
      kernel.func = p.kernel.func;
      kernel.gridDim = p.kernel.gridDim;
      kernel.blockDim = p.kernel.blockDim;
      kernel.sharedMemBytes = p.kernel.sharedMemBytes;
      kernel.kernelParams = p.kernel.kernelParams;
      return MakeWork(kernel, work) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
    }
    case cudaGraphNodeTypeMemcpy:
      return MakeWork(p.memcpy.copyParams, work) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaGraphNodeTypeMemset: {
      cudaMemsetParams fill{};
      fill.dst = p.memset.dst;
      fill.pitch = p.memset.pitch;
      fill.value = p.memset.value;
      fill.elementSize = p.memset.elementSize;
      fill.width = p.memset.width;
      fill.height = p.memset.height;
      return MakeWork(fill, work) ? cudaSuccess : cudaErrorInvalidValue;
    }
    case cudaGraphNodeTypeHost:
      *work = HostWork{p.host.fn, p.host.userData};
      return p.host.fn == nullptr ? cudaErrorInvalidValue : cudaSuccess;
    case cudaGraphNodeTypeGraph:
      if (p.graph.graph == nullptr) return cudaErrorInvalidValue;
      *work = ChildWork{std::shared_ptr<Graph>(Clone(*FindGraph(p.graph.graph)))};
      return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
      *work = EventWork{reinterpret_cast<Event*>(p.eventRecord.event), false};
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
      *work = EventWork{reinterpret_cast<Event*>(p.eventWait.event), true};
      return cudaSuccess;
    default:
      return NotSupported("a graph node of that type");
  }
}

}  // namespace simgpu::runtime
