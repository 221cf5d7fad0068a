// Cuts a byte stream into frames: 4 bytes little-endian length, then the frame. Single thread.
//
// The buffer grows with what has come in, not with what a length promises, and never past one frame of the largest
// size.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stallscope::ingest {

class FrameSplitter {
 public:
  // Where to read to next; at least 16 KiB. Valid until the next call.
  struct Space {
    char* data;
    size_t bytes;
  };
  Space Prepare();
  void Commit(size_t bytes) { end_ += bytes; }

  // The next whole frame (without its length), valid until Prepare; nullopt: more bytes are needed. InvalidArgument:
  // the length is past the limit, so the stream cannot be followed any further.
  absl::StatusOr<std::optional<std::string_view>> Next();

  // Bytes of a frame that has not come in whole.
  size_t pending() const { return end_ - begin_; }

 private:
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace stallscope::ingest
