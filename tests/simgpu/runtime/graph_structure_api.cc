// The nodes and edges of a graph, whatever the nodes do.
#include <cstdio>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/forms.h"
#include "tests/simgpu/runtime/graph_handles.h"

namespace simgpu::runtime {
namespace {

std::vector<GraphNode*> Living(Graph* graph) {
  std::vector<GraphNode*> nodes;
  for (GraphNode& node : graph->nodes) {
    if (!node.removed) nodes.push_back(&node);
  }
  return nodes;
}

std::vector<GraphNode*> NodesAt(Graph* graph, const std::vector<int>& indices) {
  std::vector<GraphNode*> nodes;
  for (int index : indices) nodes.push_back(&graph->nodes[static_cast<size_t>(index)]);
  return nodes;
}

// Edge data (programmatic launch) is not modelled: all edges are full dependencies, which zero means.
void ClearEdgeData(cudaGraphEdgeData* data, size_t count) {
  for (size_t i = 0; data != nullptr && i < count; ++i) data[i] = {};
}

bool IsNode(cudaGraphNode_t handle) { return handle != nullptr && !FindNode(handle)->removed; }

const char* KindName(const Work& work) {
  constexpr const char* kNames[] = {"empty", "kernel", "memcpy", "memset", "host", "memory", "event", "child graph"};
  return kNames[work.index()];
}

}  // namespace

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  GiveNodes(Living(FindGraph(graph)), nodes, count);
  return cudaSuccess;
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  std::vector<GraphNode*> roots = Living(FindGraph(graph));
  std::erase_if(roots, [](const GraphNode* node) { return !node->dependencies.empty(); });
  GiveNodes(roots, nodes, count);
  return cudaSuccess;
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              size_t* count) {
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  std::vector<GraphNode*> begins, ends;
  for (GraphNode* node : Living(FindGraph(graph))) {
    for (GraphNode* dependency : NodesAt(FindGraph(graph), node->dependencies)) {
      begins.push_back(dependency);
      ends.push_back(node);
    }
  }
  size_t room = *count;
  GiveNodes(begins, from, &room);
  ClearEdgeData(data, std::min(*count, ends.size()));
  GiveNodes(ends, to, count);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                                         size_t* count) {
  if (!IsNode(handle) || count == nullptr) return cudaErrorInvalidValue;
  GraphNode* node = FindNode(handle);
  ClearEdgeData(data, std::min(*count, node->dependencies.size()));
  GiveNodes(NodesAt(node->graph, node->dependencies), nodes, count);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                                           size_t* count) {
  if (!IsNode(handle) || count == nullptr) return cudaErrorInvalidValue;
  GraphNode* node = FindNode(handle);
  const std::vector<int> dependents = Dependents(*node);
  ClearEdgeData(data, std::min(*count, dependents.size()));
  GiveNodes(NodesAt(node->graph, dependents), nodes, count);
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, size_t count) {
  std::vector<int> begins, ends;
  if (!IndicesOf(FindGraph(graph), from, count, &begins) || !IndicesOf(FindGraph(graph), to, count, &ends)) {
    return cudaErrorInvalidValue;
  }
  for (size_t i = 0; i < count; ++i) {
    if (begins[i] == ends[i] || !AddDependency(FindNode(to[i]), begins[i])) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, size_t count) {
  std::vector<int> begins, ends;
  if (!IndicesOf(FindGraph(graph), from, count, &begins) || !IndicesOf(FindGraph(graph), to, count, &ends)) {
    return cudaErrorInvalidValue;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!RemoveDependency(FindNode(to[i]), begins[i])) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  if (!IsNode(node)) return cudaErrorInvalidValue;
  RemoveNode(FindNode(node));
  return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t clone) {
  if (found == nullptr || !IsNode(original) || clone == nullptr) return cudaErrorInvalidValue;
  *found = HandleOf(FindInClone(FindGraph(clone), *FindNode(original)));
  return *found == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  if (!IsNode(handle) || type == nullptr) return cudaErrorInvalidValue;
  const Work& work = FindNode(handle)->work;
  if (const auto* memory = std::get_if<MemoryWork>(&work)) {
    *type = memory->frees ? cudaGraphNodeTypeMemFree : cudaGraphNodeTypeMemAlloc;
  } else if (const auto* event = std::get_if<EventWork>(&work)) {
    *type = event->waits ? cudaGraphNodeTypeWaitEvent : cudaGraphNodeTypeEventRecord;
  } else {
    constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeEmpty,  cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                            cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost,   cudaGraphNodeTypeEmpty,
                                            cudaGraphNodeTypeEmpty,  cudaGraphNodeTypeGraph};
    *type = kTypes[work.index()];
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int) {
  if (graph == nullptr || path == nullptr) return cudaErrorInvalidValue;
  std::FILE* file = std::fopen(path, "we");
  if (file == nullptr) return cudaErrorOperatingSystem;
  std::fprintf(file, "digraph simulated_graph_%u {\n", FindGraph(graph)->id);
  for (const GraphNode* node : Living(FindGraph(graph))) {
    const auto* kernel = std::get_if<KernelWork>(&node->work);
    std::fprintf(file, "  n%d [label=\"%s\"];\n", node->index,
                 kernel == nullptr ? KindName(node->work) : kernel->kernel->name.c_str());
    for (int dependency : node->dependencies) std::fprintf(file, "  n%d -> n%d;\n", dependency, node->index);
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
  return cudaSuccess;
}

}  // namespace simgpu::runtime
