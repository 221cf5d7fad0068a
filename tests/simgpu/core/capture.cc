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

Capture::Capture(Stream* origin)
    : origin_(origin), id_(next_capture_id.fetch_add(1, std::memory_order_relaxed)), graph_(NewGraph()) {
  members_.push_back(origin);
  origin->capture_tail.clear();
  origin->capture.store(this, std::memory_order_release);
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
  const bool complete = std::find(joined.begin(), joined.end(), false) == joined.end();
  for (Stream* member : members_) {
    member->capture_tail.clear();
    member->capture.store(nullptr, std::memory_order_release);
  }
  if (!complete) {
    delete graph_;
    graph_ = nullptr;
  }
  return graph_;
}

}  // namespace simgpu
