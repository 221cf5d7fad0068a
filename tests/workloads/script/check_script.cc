#include "tests/workloads/script/check_script.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "tests/workloads/script/line_reader.h"

namespace workloads::script {
namespace {

constexpr uint64_t kMaxStatements = 1'000'000'000;  // with repeats multiplied out

std::string TimeText(uint64_t ns) { return std::to_string(ns) + "ns"; }

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  return b != 0 && a > std::numeric_limits<uint64_t>::max() / b ? std::numeric_limits<uint64_t>::max() : a * b;
}
uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

// Where a placed piece of device work lies in time.
struct Placed {
  uint64_t begin_ns, end_ns;
  Place place;
};

class Checker {
 public:
  explicit Checker(const Script& script) : script_(script), puts_(script.queues.size()), takes_(script.queues.size()) {}

  std::string Check() {
    for (const Graph& graph : script_.graphs) CheckGraph(graph);
    for (size_t i = 0; i < script_.threads.size() && error_.empty(); ++i) CheckThread(script_.threads[i], i);
    if (error_.empty()) CheckStreams();
    if (error_.empty()) CheckQueues();
    return error_;
  }

 private:
  void Refuse(Place place, const std::string& what) {
    if (error_.empty()) error_ = ErrorAt(script_.file_name, place, what);
  }

  void CheckGraph(const Graph& graph) {
    std::map<uint32_t, uint64_t> branch_end_ns;
    for (const GraphNode& node : graph.nodes) {
      if (node.work.kind == DeviceWork::Kind::kWhole && graph.nodes.size() > 1) {
        Refuse(node.place, "`whole` stands for every node of a graph; expected it to be the only one");
      }
      uint64_t& end_ns = branch_end_ns[node.branch];
      if (node.work.at_ns != kNoTime && node.work.at_ns < end_ns) {
        Refuse(node.place, "impossible timing: this begins at " + TimeText(node.work.at_ns) +
                               ", before what precedes it in branch " + std::to_string(node.branch) + " ends (" +
                               TimeText(end_ns) + ")");
      }
      end_ns = (node.work.at_ns == kNoTime ? end_ns : node.work.at_ns) + node.work.duration_ns;
    }
  }

  struct RepeatState {
    std::vector<bool> held;
    std::vector<int64_t> allocated;
  };

  void CheckThread(const Thread& thread, size_t thread_index) {
    std::vector<bool> held(script_.mutexes.size(), false);
    std::vector<Place> locked_at(script_.mutexes.size());
    std::vector<int64_t> allocated(kMemoryKinds, 0);
    std::vector<RepeatState> repeats;
    uint64_t times = 1;
    std::vector<uint64_t> outer_times;
    for (const Statement& s : thread.statements) {
      const auto object = static_cast<size_t>(s.object);
      statements_ = SaturatingAdd(statements_, times);
      if (statements_ > kMaxStatements) Refuse(s.place, "the repeats make more than a billion statements");
      switch (s.action) {
        case Action::kRepeat:
          repeats.push_back({held, allocated});
          outer_times.push_back(times);
          times = SaturatingMultiply(times, s.count);
          break;
        case Action::kEndRepeat:
          if (held != repeats.back().held) Refuse(s.place, "a mutex that is locked in a repeat must be unlocked in it");
          for (int kind = 0; kind < kMemoryKinds; ++kind) {
            if (allocated[kind] < repeats.back().allocated[kind]) {
              Refuse(s.place, "the repeat frees more than it allocates");
            }
          }
          repeats.pop_back();
          times = outer_times.back();
          outer_times.pop_back();
          break;
        case Action::kLock:
          if (held[object]) Refuse(s.place, "this thread holds " + script_.mutexes[object].name + " already");
          held[object] = true;
          locked_at[object] = s.place;
          break;
        case Action::kUnlock:
          if (!held[object]) Refuse(s.place, "this thread does not hold " + script_.mutexes[object].name);
          held[object] = false;
          break;
        case Action::kAlloc:
          ++allocated[static_cast<size_t>(s.memory)];
          break;
        case Action::kFree:
          if (--allocated[static_cast<size_t>(s.memory)] < 0) {
            Refuse(s.place, "nothing of this kind is allocated in this thread; expected an `alloc` before");
          }
          break;
        case Action::kPut:
          puts_[object].times = SaturatingAdd(puts_[object].times, times);
          puts_[object].place = s.place;
          break;
        case Action::kTake:
          takes_[object].times = SaturatingAdd(takes_[object].times, times);
          takes_[object].place = s.place;
          break;
        case Action::kDevice:
          if (s.work.at_ns != kNoTime) PlaceWork(s, s.work.duration_ns, thread_index);
          break;
        case Action::kGraph:
          if (s.work.at_ns != kNoTime) PlaceWork(s, GraphSpanNs(script_.graphs[object]), thread_index);
          break;
        default:
          break;
      }
      if (!error_.empty()) return;
    }
    for (size_t i = 0; i < held.size(); ++i) {
      if (held[i]) Refuse(locked_at[i], script_.mutexes[i].name + " is not unlocked before the thread ends");
    }
  }

  // Streams are in order, so what one thread puts on a stream may not begin before what it put there earlier ends.
  void PlaceWork(const Statement& s, uint64_t duration_ns, size_t thread) {
    const bool own = script_.streams[static_cast<size_t>(s.stream)].kind == Stream::Kind::kPerThread;
    std::vector<Placed>& placed = placed_[{s.stream, own ? thread + 1 : 0}];
    Placed& last = last_of_thread_[{s.stream, thread + 1}];
    const Placed now{s.work.at_ns, s.work.at_ns + duration_ns, s.place};
    if (now.begin_ns < last.end_ns) Overlap(s.stream, now, last);
    last = now;
    placed.push_back(now);
  }

  void Overlap(int stream, const Placed& later, const Placed& earlier) {
    Refuse(later.place, "impossible timing: this begins on stream " +
                            script_.streams[static_cast<size_t>(stream)].name + " at " + TimeText(later.begin_ns) +
                            ", before the work of line " + std::to_string(earlier.place.line) + " ends there (" +
                            TimeText(earlier.end_ns) + ")");
  }

  void CheckStreams() {
    for (auto& [stream, placed] : placed_) {
      std::stable_sort(placed.begin(), placed.end(),
                       [](const Placed& a, const Placed& b) { return a.begin_ns < b.begin_ns; });
      for (size_t i = 1; i < placed.size(); ++i) {
        if (placed[i].begin_ns < placed[i - 1].end_ns) Overlap(stream.first, placed[i], placed[i - 1]);
      }
    }
  }

  void CheckQueues() {
    for (size_t i = 0; i < script_.queues.size(); ++i) {
      const Queue& queue = script_.queues[i];
      const std::string counts = queue.name + " is put " + std::to_string(puts_[i].times) + " times and taken " +
                                 std::to_string(takes_[i].times) + " times";
      if (takes_[i].times > puts_[i].times) Refuse(takes_[i].place, counts + ": this would wait for ever");
      if (queue.capacity != 0 && puts_[i].times - takes_[i].times > queue.capacity) {
        Refuse(puts_[i].place, counts + ", and holds " + std::to_string(queue.capacity) + ": this would wait for ever");
      }
    }
  }

  struct Uses {
    uint64_t times = 0;
    Place place;  // of the last
  };

  const Script& script_;
  std::string error_;
  uint64_t statements_ = 0;
  std::vector<Uses> puts_, takes_;
  std::map<std::pair<int, size_t>, std::vector<Placed>> placed_;  // by stream; a per-thread one by thread as well
  std::map<std::pair<int, size_t>, Placed> last_of_thread_;
};

}  // namespace

uint64_t GraphSpanNs(const Graph& graph) {
  std::map<uint32_t, uint64_t> branch_end_ns;
  uint64_t span_ns = 0;
  for (const GraphNode& node : graph.nodes) {
    uint64_t& end_ns = branch_end_ns[node.branch];
    end_ns = (node.work.at_ns == kNoTime ? end_ns : node.work.at_ns) + node.work.duration_ns;
    span_ns = std::max(span_ns, end_ns);
  }
  return span_ns;
}

std::string CheckScript(const Script& script) { return Checker(script).Check(); }

}  // namespace workloads::script
