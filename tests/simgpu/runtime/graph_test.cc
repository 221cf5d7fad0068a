// Graphs of the simulated libcudart: built node by node, cloned, updated, captured across streams.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);

namespace {

void FirstStub() {}
void SecondStub() {}

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override {
    Register(&FirstStub, "_Z5firstv");
    Register(&SecondStub, "_Z6secondv");
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
    cudaMalloc(&device_, 64);
    cudaGraphCreate(&graph_, 0);
  }
  void TearDown() override {
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
    cudaFree(device_);
    cudaStreamDestroy(stream_);
    cudaStreamDestroy(side_);
  }

  static void Register(void (*stub)(), const char* name) {
    __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(stub), nullptr, name, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
  }
  static cudaKernelNodeParams Kernel(void (*stub)(), unsigned blocks) {
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(stub);
    kernel.gridDim = dim3(blocks);
    kernel.blockDim = dim3(32);
    return kernel;
  }
  static cudaMemsetParams Fill(void* to, unsigned value) {
    cudaMemsetParams fill{};
    fill.dst = to;
    fill.value = value;
    fill.elementSize = 4;
    fill.width = 16;
    fill.height = 1;
    return fill;
  }
  std::vector<int> Words() {
    std::vector<int> words(16);
    cudaMemcpy(words.data(), device_, 64, cudaMemcpyDeviceToHost);
    return words;
  }
  void Run() {
    ASSERT_EQ(cudaGraphLaunch(exec_, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr, side_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  void* device_ = nullptr;
};

TEST_F(CudaGraphs, NodesAddedBackwards_RunInTheOrderOfTheirEdges) {
  const cudaMemsetParams last = Fill(device_, 2), first = Fill(device_, 1);
  cudaGraphNode_t last_node, first_node;
  ASSERT_EQ(cudaGraphAddMemsetNode(&last_node, graph_, nullptr, 0, &last), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemsetNode(&first_node, graph_, nullptr, 0, &first), cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph_, &first_node, &last_node, nullptr, 1), cudaSuccess);
  size_t roots = 1, edges = 0;
  cudaGraphNode_t root;
  ASSERT_EQ(cudaGraphGetRootNodes(graph_, &root, &roots), cudaSuccess);
  EXPECT_EQ(root, first_node);
  ASSERT_EQ(cudaGraphGetEdges(graph_, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT_EQ(edges, 1u);
  ASSERT_EQ(cudaGraphInstantiate(&exec_, graph_, 0), cudaSuccess);
  Run();
  EXPECT_EQ(Words(), std::vector<int>(16, 2));
}

TEST_F(CudaGraphs, Circle_IsRefused) {
  cudaGraphNode_t one, two;
  cudaGraphAddEmptyNode(&one, graph_, nullptr, 0);
  cudaGraphAddEmptyNode(&two, graph_, &one, 1);
  ASSERT_EQ(cudaGraphAddDependencies(graph_, &two, &one, nullptr, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec_, graph_, 0), cudaErrorInvalidValue);
}

TEST_F(CudaGraphs, DestroyedNode_IsGoneWithItsEdges) {
  cudaGraphNode_t one, two;
  cudaGraphAddEmptyNode(&one, graph_, nullptr, 0);
  cudaGraphAddEmptyNode(&two, graph_, &one, 1);
  ASSERT_EQ(cudaGraphDestroyNode(one), cudaSuccess);
  size_t nodes = 0, dependencies = 0;
  cudaGraphGetNodes(graph_, nullptr, &nodes);
  cudaGraphNodeGetDependencies(two, nullptr, nullptr, &dependencies);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(dependencies, 0u);
}

TEST_F(CudaGraphs, ExecNodeParameters_ChangeTheExecutableAlone) {
  cudaMemsetParams fill = Fill(device_, 7);
  cudaGraphNode_t node;
  cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill);
  cudaGraphInstantiate(&exec_, graph_, 0);
  fill.value = 9;
  ASSERT_EQ(cudaGraphExecMemsetNodeSetParams(exec_, node, &fill), cudaSuccess);
  Run();
  EXPECT_EQ(Words(), std::vector<int>(16, 9));
  cudaMemsetParams kept;
  ASSERT_EQ(cudaGraphMemsetNodeGetParams(node, &kept), cudaSuccess);
  EXPECT_EQ(kept.value, 7u);
}

TEST_F(CudaGraphs, ExecUpdate_TakesOverTheOtherGraphsParameters) {
  cudaGraph_t other;
  cudaGraphNode_t node;
  const cudaMemsetParams old_fill = Fill(device_, 1), new_fill = Fill(device_, 5);
  cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &old_fill);
  cudaGraphInstantiate(&exec_, graph_, 0);
  cudaGraphCreate(&other, 0);
  cudaGraphAddMemsetNode(&node, other, nullptr, 0, &new_fill);
  cudaGraphExecUpdateResultInfo info;
  ASSERT_EQ(cudaGraphExecUpdate(exec_, other, &info), cudaSuccess);
  Run();
  EXPECT_EQ(Words(), std::vector<int>(16, 5));
  const cudaKernelNodeParams kernel = Kernel(&FirstStub, 1);
  cudaGraphDestroyNode(node);
  cudaGraphAddKernelNode(&node, other, nullptr, 0, &kernel);
  EXPECT_EQ(cudaGraphExecUpdate(exec_, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
  cudaGraphDestroy(other);
}

TEST_F(CudaGraphs, Clone_IsIndependentAndItsNodesAreFound) {
  cudaMemsetParams fill = Fill(device_, 3);
  cudaGraphNode_t node, copy = nullptr;
  cudaGraph_t clone;
  cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill);
  ASSERT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  ASSERT_EQ(cudaGraphNodeFindInClone(&copy, node, clone), cudaSuccess);
  EXPECT_NE(copy, node);
  fill.value = 4;
  cudaGraphMemsetNodeSetParams(node, &fill);
  cudaMemsetParams cloned;
  cudaGraphMemsetNodeGetParams(copy, &cloned);
  EXPECT_EQ(cloned.value, 3u);
  cudaGraphDestroy(clone);
}

TEST_F(CudaGraphs, ChildGraphAndDisabledNode_DoWhatTheySay) {
  cudaGraph_t child;
  cudaGraphCreate(&child, 0);
  const cudaMemsetParams fill = Fill(device_, 6), overwrite = Fill(device_, 8);
  cudaGraphNode_t in_child, child_node, over;
  cudaGraphAddMemsetNode(&in_child, child, nullptr, 0, &fill);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&child_node, graph_, nullptr, 0, child), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemsetNode(&over, graph_, &child_node, 1, &overwrite), cudaSuccess);
  cudaGraphInstantiate(&exec_, graph_, 0);
  ASSERT_EQ(cudaGraphNodeSetEnabled(exec_, over, 0), cudaSuccess);
  Run();
  EXPECT_EQ(Words(), std::vector<int>(16, 6));
  cudaGraphNodeSetEnabled(exec_, over, 1);
  Run();
  EXPECT_EQ(Words(), std::vector<int>(16, 8));
  cudaGraphDestroy(child);
}

TEST_F(CudaGraphs, KernelNode_TellsItsParameters) {
  const cudaKernelNodeParams kernel = Kernel(&SecondStub, 12);
  cudaGraphNode_t node;
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), cudaSuccess);
  cudaKernelNodeParams told;
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &told), cudaSuccess);
  EXPECT_EQ(told.func, kernel.func);
  EXPECT_EQ(told.gridDim.x, 12u);
  static char unknown;
  cudaKernelNodeParams bad = kernel;
  bad.func = &unknown;
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &bad), cudaErrorInvalidDeviceFunction);
}

TEST_F(CudaGraphs, CaptureAcrossStreams_TellsItsStateAndJoinsBack) {
  cudaEvent_t fork, join;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  cudaLaunchKernel(reinterpret_cast<const void*>(&FirstStub), dim3(1), dim3(1), nullptr, 0, stream_);
  cudaEventRecord(fork, stream_);
  cudaStreamWaitEvent(side_, fork, 0);
  cudaLaunchKernel(reinterpret_cast<const void*>(&SecondStub), dim3(1), dim3(1), nullptr, 0, side_);
  unsigned long long id = 0, side_id = 0;
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
  ASSERT_EQ(cudaStreamGetCaptureInfo(stream_, &status, &id, nullptr, nullptr, nullptr, nullptr), cudaSuccess);
  ASSERT_EQ(cudaStreamGetCaptureInfo(side_, &status, &side_id, nullptr, &nodes, nullptr, &count), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(id, side_id);
  EXPECT_EQ(count, 1u);
  cudaGraph_t captured;
  EXPECT_EQ(cudaStreamEndCapture(side_, &captured), cudaErrorStreamCaptureUnmatched);
  cudaEventRecord(join, side_);
  cudaStreamWaitEvent(stream_, join, 0);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &captured), cudaSuccess);
  size_t captured_nodes = 0;
  cudaGraphGetNodes(captured, nullptr, &captured_nodes);
  EXPECT_EQ(captured_nodes, 2u);
  cudaGraphDestroy(captured);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
}

TEST_F(CudaGraphs, DefaultStreamDuringCaptureOfABlockingStream_LosesTheCapture) {
  cudaStream_t blocking;
  cudaStreamCreate(&blocking);
  cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaMemset(device_, 0, 64), cudaErrorStreamCaptureImplicit);
  cudaGraph_t captured;
  EXPECT_EQ(cudaStreamEndCapture(blocking, &captured), cudaErrorStreamCaptureInvalidated);
  cudaStreamDestroy(blocking);
}

TEST_F(CudaGraphs, CapturedAllocation_LivesAsLongAsTheGraph) {
  void* memory = nullptr;
  cudaGraph_t captured;
  cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed);
  ASSERT_EQ(cudaMallocAsync(&memory, 4096, stream_), cudaSuccess);
  cudaMemsetAsync(memory, 1, 4096, stream_);
  cudaFreeAsync(memory, stream_);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &captured), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec_, captured, 0), cudaSuccess);
  cudaGraphDestroy(captured);
  Run();
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, memory);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
}

TEST_F(CudaGraphs, UserObject_IsDestroyedWithTheLastGraphThatHoldsIt) {
  int destroyed = 0;
  cudaUserObject_t object;
  cudaUserObjectCreate(
      &object, &destroyed, [](void* counter) { ++*static_cast<int*>(counter); }, 1, cudaUserObjectNoDestructorSync);
  ASSERT_EQ(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  cudaGraph_t clone;
  cudaGraphClone(&clone, graph_);
  cudaGraphReleaseUserObject(graph_, object, 1);
  EXPECT_EQ(destroyed, 0);
  cudaGraphDestroy(clone);
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
