#include "tests/simgpu/core/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace simgpu {
namespace {

std::atomic<uint64_t> next_capture_id{1};

// Every node from which `tail` can be reached, itself included.
std::vector<bool> Reached(const Graph& graph, const std::vector<int>& tail) {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (int node : tail) reached[node] = true;
  for (int node = static_cast<int>(graph.nodes.size()) - 1; node >= 0; --node) {
    if (!reached[node]) continue;
    for (int dependency : graph.nodes[node].dependencies) reached[dependency] = true;
  }
  return reached;
}

}  // namespace

Capture::Capture(Stream* origin, Graph* graph, std::vector<int> dependencies)
    : origin_(origin),
      id_(next_capture_id.fetch_add(1, std::memory_order_relaxed)),
      own_graph_(graph == nullptr),
      nodes_before_(graph == nullptr ? 0 : graph->nodes.size()),
      graph_(graph == nullptr ? NewGraph() : graph) {
  members_.push_back(origin);
  origin->capture_tail = std::move(dependencies);
  origin->capture.store(this, std::memory_order_release);
}

Capture::~Capture() {
  if (own_graph_) delete graph_;
}

void Capture::Append(Stream* stream, Work work) {
  std::lock_guard lock(mutex_);
  const int index = static_cast<int>(graph_->nodes.size());
  AppendNode(graph_, std::move(work), stream->capture_tail);
  stream->capture_tail.assign(1, index);
}

std::vector<int> Capture::Tail(Stream* stream) {
  std::lock_guard lock(mutex_);
  return stream->capture_tail;
}

void Capture::SetTail(Stream* stream, std::vector<int> nodes) {
  std::lock_guard lock(mutex_);
  stream->capture_tail = std::move(nodes);
}

void Capture::AddToTail(Stream* stream, const std::vector<int>& nodes) { Join(stream, nodes); }

void Capture::Join(Stream* stream, const std::vector<int>& dependencies) {
  std::lock_guard lock(mutex_);
  if (stream->capture.load(std::memory_order_acquire) != this) {
    members_.push_back(stream);
    stream->capture_tail.clear();
    stream->capture.store(this, std::memory_order_release);
  }
  for (int node : dependencies) {
    auto& tail = stream->capture_tail;
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
}

Graph* Capture::End() {
  std::lock_guard lock(mutex_);
  const std::vector<bool> joined = Reached(*graph_, origin_->capture_tail);
  const bool complete =
      std::find(joined.begin() + static_cast<ptrdiff_t>(nodes_before_), joined.end(), false) == joined.end();
  for (Stream* member : members_) {
    member->capture_tail.clear();
    member->capture.store(nullptr, std::memory_order_release);
  }
  Graph* graph = std::exchange(graph_, nullptr);
  if (complete && !invalidated()) return graph;
  if (own_graph_) delete graph;
  return nullptr;
}

}  // namespace simgpu
