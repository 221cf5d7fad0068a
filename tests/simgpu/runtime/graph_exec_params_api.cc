// Changing single nodes of an executable graph, and the objects of the program that graphs keep alive.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/copies.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/graph_handles.h"

namespace simgpu::runtime {
namespace {

template <typename T, typename Parameters>
cudaError_t SetFrom(cudaGraphExec_t exec, cudaGraphNode_t node, const Parameters* parameters) {
  T* present = nullptr;
  if (const cudaError_t error = FindExecWork(exec, node, &present); error != cudaSuccess) return error;
  Work work;
  if (parameters == nullptr || !MakeWork(*parameters, &work)) return cudaErrorInvalidValue;
  *present = std::get<T>(std::move(work));
  return cudaSuccess;
}

cudaError_t SetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, bool waits, cudaEvent_t event) {
  EventWork* work = nullptr;
  if (const cudaError_t error = FindExecWork(exec, node, &work); error != cudaSuccess) return error;
  if (event == nullptr || work->waits != waits) return cudaErrorInvalidValue;
  work->event = reinterpret_cast<Event*>(event);
  return cudaSuccess;
}

// A program's cudaUserObject_t: destroyed with its last reference.
struct UserObject {
  void* pointer;
  cudaHostFn_t destroy;
  std::atomic<unsigned> references;

  void Release(unsigned count) {
    if (references.fetch_sub(count) != count) return;
    destroy(pointer);
    delete this;
  }
};

}  // namespace

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return SetFrom<KernelWork>(exec, node, parameters);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return SetFrom<CopyWork>(exec, node, parameters);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* destination,
                                               const void* source, size_t bytes, cudaMemcpyKind) {
  CopyWork* copy = nullptr;
  if (const cudaError_t error = FindExecWork(exec, node, &copy); error != cudaSuccess) return error;
  if (destination == nullptr || source == nullptr) return cudaErrorInvalidValue;
  *copy = MakeCopy(destination, bytes, source, bytes, bytes, 1);
  return cudaSuccess;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return SetFrom<FillWork>(exec, node, parameters);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  HostWork* work = nullptr;
  if (const cudaError_t error = FindExecWork(exec, node, &work); error != cudaSuccess) return error;
  if (parameters == nullptr || parameters->fn == nullptr) return cudaErrorInvalidValue;
  *work = HostWork{parameters->fn, parameters->userData};
  return cudaSuccess;
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return SetEvent(exec, node, false, event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return SetEvent(exec, node, true, event);
}

// The new child must have the shape of the old one.
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  if (exec == nullptr || node == nullptr || child == nullptr) return cudaErrorInvalidValue;
  const std::vector<GraphNode*> present = FindChildInExec(FindExec(exec), *FindNode(node));
  std::vector<const GraphNode*> wanted;
  for (const GraphNode& wish : FindGraph(child)->nodes) {
    if (!wish.removed) wanted.push_back(&wish);
  }
  if (present.empty() || present.size() != wanted.size()) return cudaErrorGraphExecUpdateFailure;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (present[i]->work.index() != wanted[i]->work.index()) return cudaErrorGraphExecUpdateFailure;
  }
  for (size_t i = 0; i < wanted.size(); ++i) present[i]->work = wanted[i]->work;
  return cudaSuccess;
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  if (exec == nullptr || node == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  GraphNode* present = FindInExec(FindExec(exec), *FindNode(node));
  if (present == nullptr) return cudaErrorInvalidValue;
  Work work;
  if (const cudaError_t error = MakeWork(*parameters, &work); error != cudaSuccess) return error;
  if (work.index() != present->work.index()) return cudaErrorInvalidValue;
  present->work = std::move(work);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled) {
  if (exec == nullptr || node == nullptr) return cudaErrorInvalidValue;
  GraphNode* present = FindInExec(FindExec(exec), *FindNode(node));
  if (present == nullptr) return cudaErrorInvalidValue;
  SetEnabled(present, enabled != 0);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int* enabled) {
  if (exec == nullptr || node == nullptr || enabled == nullptr) return cudaErrorInvalidValue;
  const GraphNode* present = FindInExec(FindExec(exec), *FindNode(node));
  if (present == nullptr) return cudaErrorInvalidValue;
  *enabled = present->enabled ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned int references,
                                 unsigned int) {
  if (object == nullptr || destroy == nullptr || references == 0) return cudaErrorInvalidValue;
  *object = reinterpret_cast<cudaUserObject_t>(new UserObject{pointer, destroy, {references}});
  return cudaSuccess;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  if (object == nullptr || count == 0) return cudaErrorInvalidValue;
  reinterpret_cast<UserObject*>(object)->references.fetch_add(count);
  return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  if (object == nullptr || count == 0) return cudaErrorInvalidValue;
  reinterpret_cast<UserObject*>(object)->Release(count);
  return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t handle, unsigned int count,
                                      unsigned int flags) {
  if (graph == nullptr || handle == nullptr || count == 0) return cudaErrorInvalidValue;
  auto* object = reinterpret_cast<UserObject*>(handle);
  if ((flags & cudaGraphUserObjectMove) == 0) object->references.fetch_add(count);
  for (unsigned i = 0; i < count; ++i) {
    FindGraph(graph)->user_objects.emplace_back(object, [](UserObject* held) { held->Release(1); });
  }
  return cudaSuccess;
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
  if (graph == nullptr || object == nullptr || count == 0) return cudaErrorInvalidValue;
  auto& held = FindGraph(graph)->user_objects;
  for (auto it = held.begin(); it != held.end() && count != 0;) {
    const bool match = it->get() == static_cast<void*>(object);
    it = match ? held.erase(it) : it + 1;
    count -= match ? 1 : 0;
  }
  return count == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace simgpu::runtime
