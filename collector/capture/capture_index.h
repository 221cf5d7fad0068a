// Where each block of a capture lies and which times it covers, for seeking. Written at the end of the file by Close;
// rebuilt from the block headers when the file ends without it (times are then unknown: 0).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/capture/capture_file.h"

namespace stallscope::capture {

struct CaptureIndexEntry {
  uint64_t offset = 0;
  uint32_t raw_bytes = 0, frames = 0;
  uint64_t first_ns = 0, last_ns = 0;  // of batches, CLOCK_MONOTONIC; 0: none or not known
  bool operator==(const CaptureIndexEntry&) const = default;
};

struct CaptureIndex {
  std::vector<CaptureIndexEntry> blocks;
  bool rebuilt = false;  // the file had none
};

// Index block and trailer, to be appended at `offset`.
std::string EncodeCaptureIndex(const std::vector<CaptureIndexEntry>& blocks, uint64_t offset);

// Every entry returned lies inside the file; whether its block is whole only reading it tells.
CaptureIndex ReadCaptureIndex(const CaptureFile& file);

absl::StatusOr<CaptureIndex> LoadCaptureIndex(const std::string& path);

}  // namespace stallscope::capture
