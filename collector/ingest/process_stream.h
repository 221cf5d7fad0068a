// One process's frames in, its events out: the same for a live connection, a dead process's memory and a capture file.
//
// Single thread. Frames come in the order in which they were written. Owns the names (ProcessNames) of the process.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "collector/base/event.h"
#include "collector/ingest/batch_decoder.h"
#include "collector/ingest/process_registry.h"

namespace stallscope::v1 {
class Frame;
class Hello;
class Intern;
}  // namespace stallscope::v1

namespace stallscope::ingest {

// FailedPrecondition when the other side speaks another major version; both are named. InvalidArgument: fields past the
// limits.
absl::Status CheckHello(const v1::Hello& hello);

ProcessInfo ToProcessInfo(uint32_t process, const v1::Hello& hello);

// Two hellos of one agent in one process: the same boot, pid, start and set-up time. After exec the set-up time
// differs.
bool IsSameProcess(const ProcessInfo& a, const ProcessInfo& b);

class ProcessStream {
 public:
  // `hello` has passed CheckHello.
  ProcessStream(uint32_t process, const v1::Hello& hello);

  const ProcessInfo& info() const { return info_; }
  const ProcessRegistry& registry() const { return registry_; }
  ProcessRegistry& registry() { return registry_; }
  const DecodeCounts& counts() const { return decoder_.counts(); }
  // The first device's name, "" when no device was introduced.
  const std::string& gpu_name() const { return gpu_name_; }

  // Borrowed; outlives the frames. Must be set before the first frame.
  void SetSink(EventSink* sink) { sink_ = sink; }

  // Live: events that end later than this are not believed.
  void SetLatest(HostNs latest) { decoder_.SetTimeLimits(earliest_, latest); }

  // InvalidArgument: the frame breaks the contract; what it held is lost, the stream may go on. Unknown frames are
  // skipped.
  absl::Status OnFrame(const v1::Frame& frame);

 private:
  void OnIntern(const v1::Intern& intern);

  ProcessInfo info_;
  ProcessRegistry registry_;
  BatchDecoder decoder_;
  EventSink* sink_ = nullptr;
  HostNs earliest_ = 0;
  std::string gpu_name_;
};

}  // namespace stallscope::ingest
