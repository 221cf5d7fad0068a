// A workload script in memory: what each host thread does, relative in time, and the streams, events, mutexes, queues and
// graphs that it does it with. The text is defined in docs/workload-scripts.md.
//
// Written by: ParseScript. Read by: CheckScript, SummarizeScript, the player. All times are nanoseconds; names are indices
// into the tables of the Script. Immutable once parsed, so that threads may share it.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_SCRIPT_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace workloads::script {

inline constexpr uint64_t kNoTime = ~uint64_t{0};
inline constexpr uint64_t kMaxTimeNs = uint64_t{86'400} * 1'000'000'000;  // a day
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 36;                  // 64 GiB, a copy
inline constexpr uint64_t kMaxDevices = 16;
inline constexpr int kDefaultStream = 0;  // every script has it: `default`, the legacy default stream of device 0

// Where in the file something stands, from 1.
struct Place {
  uint32_t line = 0, column = 0;
};

enum class CopyKind : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kHostToHost, kPeer };
enum class MemoryKind : uint8_t { kDevice, kPinned, kRegistered };
inline constexpr int kMemoryKinds = 3;

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
};

// Device work: a kernel, a copy, a fill, or a graph of which only the whole is known.
struct DeviceWork {
  enum class Kind : uint8_t { kKernel, kCopy, kFill, kWhole };
  Kind kind = Kind::kKernel;
  CopyKind copy = CopyKind::kHostToDevice;
  bool pageable = false;     // the copy's host side is pageable memory
  bool synchronous = false;  // the call is cudaMemcpy
  uint32_t name = 0;         // of a kernel
  Extent grid, block;
  uint32_t shared_bytes = 0;
  uint64_t bytes = 0;
  uint64_t duration_ns = 0;
  uint64_t at_ns = kNoTime;  // begin, after the script's begin (in a graph: after the graph's)
};

struct GraphNode {
  DeviceWork work;
  uint32_t branch = 0;  // nodes of one branch run in order, branches beside each other
  Place place;
};

struct Graph {
  std::string name;
  std::vector<GraphNode> nodes;
  Place place;
};

struct Stream {
  enum class Kind : uint8_t { kBlocking, kNonBlocking, kLegacy, kPerThread };
  std::string name;
  Kind kind = Kind::kBlocking;
  uint32_t device = 0;
  int priority = 0;
};

struct Event {
  std::string name;
  bool blocking = false;
};

struct Mutex {
  std::string name;
};

struct Queue {
  std::string name;
  uint64_t capacity = 0;  // 0: unlimited
};

enum class Action : uint8_t {
  kWork,         // duration_ns: the core is busy
  kSleep,        // duration_ns: off the core
  kCall,         // object: a name; duration_ns. An API call without effect on the device
  kDevice,       // stream, work
  kGraph,        // stream, object: a graph; work.at_ns
  kRecord,       // object: an event; stream
  kAwait,        // stream waits for object: an event
  kSyncDevice,   // stream: any of the device
  kSyncStream,   // stream
  kSyncEvent,    // object: an event
  kQueryStream,  // stream
  kQueryEvent,   // object: an event
  kPollEvent,    // object: an event; queries until it is done
  kLock,         // object: a mutex
  kUnlock,       // object: a mutex
  kPut,          // object: a queue
  kTake,         // object: a queue
  kAlloc,        // memory, work.bytes
  kFree,         // memory: the oldest of this kind that this thread allocated
  kStep,         // count: tokens that a decode step delivered
  kRepeat,       // count; object: index of its kEndRepeat
  kEndRepeat,    // object: index of its kRepeat
};

struct Statement {
  Action action = Action::kWork;
  MemoryKind memory = MemoryKind::kDevice;
  int stream = kDefaultStream;
  int object = 0;
  uint64_t count = 0;
  uint64_t duration_ns = 0;
  uint64_t call_ns = 0;  // host time of the CUDA call; 0: as the simulator models it
  DeviceWork work;
  Place place;
};

struct Thread {
  std::string name;
  std::vector<Statement> statements;
  Place place;
};

struct Script {
  std::string file_name;
  std::vector<std::string> names;  // of kernels and calls
  std::vector<Stream> streams;     // [kDefaultStream] is `default`
  std::vector<Event> events;
  std::vector<Mutex> mutexes;
  std::vector<Queue> queues;
  std::vector<Graph> graphs;
  std::vector<Thread> threads;
};

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_SCRIPT_H_
