// The tail of a capture that is being written (FILE.tail): the frames of the block that is not in FILE yet, so that
// SIGKILL of the collector loses none of them. The bytes are drawn in format.h.
//
// Written with plain writes into the page cache: it survives the process, not the machine. It never has to be emptied:
// each raw block names the block of FILE that it is a part of, and the next block's frames are written over the last
// one's, in the room that they already have. Written by: CaptureWriter. Read by: ReadCapture, as foreign data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stallscope::capture {

std::string TailPath(const std::string& capture_path);

// Single thread. Holds a lock on the tail as long as it lives: that tells a reader that the capture still grows, and
// keeps a second writer away from it.
class TailWriter {
 public:
  // For FILE of that path and number. AlreadyExists: somebody writes this capture, or a file of that name is no tail.
  static absl::StatusOr<std::unique_ptr<TailWriter>> Create(const std::string& capture_path, uint32_t capture_number);
  TailWriter(const TailWriter&) = delete;
  TailWriter& operator=(const TailWriter&) = delete;
  ~TailWriter();  // leaves the file

  // More frames of the block that will be FILE's `block`th, counted from 0. False: they are not in the tail, all before
  // them is.
  bool Append(uint32_t block, std::string_view frames, uint32_t frame_count);
  void Remove();

 private:
  TailWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  uint32_t block_ = 0;
  uint64_t end_bytes_;
};

struct CaptureTail {
  enum class State {
    kAbsent,
    kUnusable,  // `problem` says why
    kRead,
  };
  State state = State::kAbsent;
  std::string problem;
  uint32_t capture_number = 0;
  // Which block of FILE the frames belong to; without frames it says nothing.
  uint32_t block = 0;
  std::string frames;          // as inside a block of FILE
  bool being_written = false;  // its writer lives
  bool cut = false;            // something behind the last whole raw block is damaged or was never finished
};

// To be called before FILE is opened: a block that FILE has got since is then seen to be there.
CaptureTail ReadTail(const std::string& capture_path);

}  // namespace stallscope::capture
