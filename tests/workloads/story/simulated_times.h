// The simulator's doors for a program that knows how long everything takes. On a real GPU they are not there: then
// things take what they take.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_SIMULATED_TIMES_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_SIMULATED_TIMES_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace workloads {

class SimulatedTimes {
 public:
  SimulatedTimes() {
    Find("simgpu_next_duration", &next_duration_);
    Find("simgpu_next_call_duration", &next_call_);
    Find("simgpu_next_graph_durations", &next_nodes_);
    Find("simgpu_last_call_duration", &last_call_);
    Find("simgpu_device_end", &device_end_);
    void (*copies_move)(int) = nullptr;
    Find("simgpu_copies_move", &copies_move);
    if (copies_move != nullptr) copies_move(0);  // gigabytes; nobody reads them
  }
  bool available() const { return device_end_ != nullptr; }

  void NextOperation(uint64_t ns) const {
    if (next_duration_ != nullptr) next_duration_(ns);
  }
  void NextCall(uint64_t ns) const {
    if (next_call_ != nullptr) next_call_(ns);
  }
  void NextGraph(const uint64_t* ns, size_t count) const {
    if (next_nodes_ != nullptr) next_nodes_(ns, count);
  }
  uint64_t LastCall() const { return last_call_ == nullptr ? 0 : last_call_(); }
  uint64_t DeviceEnd() const { return device_end_ == nullptr ? 0 : device_end_(); }

 private:
  template <typename Function>
  static void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
  void (*next_duration_)(uint64_t) = nullptr;
  void (*next_call_)(uint64_t) = nullptr;
  void (*next_nodes_)(const uint64_t*, size_t) = nullptr;
  uint64_t (*last_call_)() = nullptr;
  uint64_t (*device_end_)() = nullptr;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_SIMULATED_TIMES_H_
