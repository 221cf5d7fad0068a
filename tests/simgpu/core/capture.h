// Stream capture: operations of a capturing stream become nodes of a graph. Events carry a capture to other streams.
//
// Thread: a capture has its own mutex; `Stream::capture` is set while it holds and read without it.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_CAPTURE_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_CAPTURE_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "tests/simgpu/core/graph.h"
#include "tests/simgpu/core/timeline.h"

namespace simgpu {

class Capture {
 public:
  explicit Capture(Stream* origin);

  Stream* origin() const { return origin_; }
  uint64_t id() const { return id_; }
  Graph* graph() const { return graph_; }

  void Append(Stream* stream, Work work);
  std::vector<int> Tail(Stream* stream);
  // `stream` waits for an event recorded in this capture: it joins, and depends on the event's nodes as well.
  void Join(Stream* stream, const std::vector<int>& dependencies);
  // Lets all streams go and hands over the graph; null if a joined stream was never joined back to the origin.
  Graph* End();

 private:
  Stream* const origin_;
  const uint64_t id_;
  std::mutex mutex_;  // guards graph_, members_ and the members' capture_tail
  Graph* graph_;
  std::vector<Stream*> members_;
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_CAPTURE_H_
