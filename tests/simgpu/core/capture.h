// Stream capture: operations of a capturing stream become nodes of a graph. Events carry a capture to other streams.
//
// Thread: a capture has its own mutex; `Stream::capture` is set while it holds and read without it.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_CAPTURE_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_CAPTURE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tests/simgpu/core/graph.h"
#include "tests/simgpu/core/timeline.h"

namespace simgpu {

class Capture {
 public:
  // Into a new graph, or into one of the program's behind `dependencies`.
  explicit Capture(Stream* origin, Graph* graph = nullptr, std::vector<int> dependencies = {});
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  Stream* origin() const { return origin_; }
  uint64_t id() const { return id_; }
  Graph* graph() const { return graph_; }

  void Append(Stream* stream, Work work);
  std::vector<int> Tail(Stream* stream);
  // What the next node of the stream depends on, as the program wants it.
  void SetTail(Stream* stream, std::vector<int> nodes);
  void AddToTail(Stream* stream, const std::vector<int>& nodes);
  // `stream` waits for an event recorded in this capture: it joins, and depends on the event's nodes as well.
  void Join(Stream* stream, const std::vector<int>& dependencies);
  // A call that a capture does not allow was made on one of its streams: it can only be ended.
  void Invalidate() { invalidated_.store(true, std::memory_order_relaxed); }
  bool invalidated() const { return invalidated_.load(std::memory_order_relaxed); }
  // Lets all streams go and hands over the graph; null if a joined stream was never joined back to the origin or if the
  // capture was invalidated.
  Graph* End();

 private:
  Stream* const origin_;
  const uint64_t id_;
  const bool own_graph_;
  const size_t nodes_before_;  // in a graph of the program's
  std::atomic<bool> invalidated_{false};
  std::mutex mutex_;  // guards graph_, members_ and the members' capture_tail
  Graph* graph_;      // null after End
  std::vector<Stream*> members_;
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_CAPTURE_H_
