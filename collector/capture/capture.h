// Capture files (.stallcap): write what the collector receives, read it back as the same events.
//
// The bytes are drawn in collector/capture/format.h. A file cut anywhere is readable up to its last whole block. While
// it is written, FILE.tail beside it holds what was committed and is not in a block yet; ReadCapture takes it in. A
// reader treats both as foreign data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/base/event.h"

namespace stallscope::v1 {
class Frame;
}

namespace stallscope {

// Appends frames in the order given; blocks are compressed and written on the caller's thread when they reach ~256 KiB
// or Flush is called. After a write error (disk full) it stops writing, keeps what is on disk valid, and status() says
// why. A tail is kept only for regular files, not for devices.
class CaptureWriter {
 public:
  virtual ~CaptureWriter() = default;
  static absl::StatusOr<std::unique_ptr<CaptureWriter>> Create(const std::string& path);
  virtual void Append(const v1::Frame& frame) = 0;
  // The same for a frame still in its bytes, as it came from a socket: stamped with the process number, otherwise kept
  // as it is (also what this version does not know). At most 4 MiB. `at_ns`: a time in it for the index, 0: none.
  virtual void AppendSerialized(uint32_t process, std::string_view frame_bytes, uint64_t at_ns) = 0;
  // From here on SIGKILL of this process loses nothing that was appended before; a crash of the machine may. One write.
  virtual void Commit() = 0;
  virtual void Flush() = 0;
  // Writes the index and closes; the tail goes. Also done by the destructor.
  virtual absl::Status Close() = 0;
  virtual const absl::Status& status() const = 0;
  virtual uint64_t bytes_written() const = 0;
};

struct CaptureSummary {
  uint64_t file_bytes = 0, blocks = 0, frames = 0, events = 0;
  // The last block was cut or damaged, or the file ends without its index (its writer was killed or is still writing);
  // everything before was delivered.
  bool truncated = false;
  uint64_t readable_bytes = 0;  // up to the last whole block
  uint64_t tail_events = 0;     // of the events, those that were only in FILE.tail
  std::string warning;          // one line for the user when truncated or with frames skipped; else empty
  std::vector<uint32_t> pids;   // of the processes in it, in their order
};

// Told after each block, with the bytes read so far and those of the file.
using ReadProgress = std::function<void(uint64_t read_bytes, uint64_t file_bytes)>;

// Reads a whole capture into the sink. InvalidArgument: not a capture, or another major version (both named in the
// message). NotFound / PermissionDenied from the file system. A truncated file is OK with summary.truncated.
// The capture of a collector that runs is read up to what it has received until now.
absl::StatusOr<CaptureSummary> ReadCapture(const std::string& path, ProcessSink* sink,
                                           const ReadProgress& progress = {});

}  // namespace stallscope
