// A capture file opened for reading: found, its header checked. Single thread; closed by the destructor.
//
// Read in pieces, not mapped: a file cut by somebody else while it is mapped would kill the reader with SIGBUS. The
// file may still be growing (a collector writes it): bytes() is what it had when it was opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stallscope::capture {

class CaptureFile {
 public:
  // NotFound, PermissionDenied; InvalidArgument: not a capture, or another major version (both named).
  static absl::StatusOr<CaptureFile> Open(const std::string& path);
  CaptureFile(CaptureFile&& other) noexcept;
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile();

  uint64_t bytes() const { return bytes_; }
  uint32_t capture_number() const { return capture_number_; }  // ties its tail to it; 0: has none
  // Exactly `count` bytes from `offset`; false when the file does not have them.
  bool ReadAt(uint64_t offset, size_t count, std::string* out) const;

 private:
  CaptureFile(int fd, uint64_t bytes) : fd_(fd), bytes_(bytes) {}
  int fd_;
  uint64_t bytes_;
  uint32_t capture_number_ = 0;
};

}  // namespace stallscope::capture
