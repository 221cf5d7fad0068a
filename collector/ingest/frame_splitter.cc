#include "collector/ingest/frame_splitter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "collector/ingest/limits.h"

namespace stallscope::ingest {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kFirstBufferBytes = 128 * 1024;
constexpr size_t kMinSpaceBytes = 16 * 1024;

}  // namespace

FrameSplitter::Space FrameSplitter::Prepare() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() - end_ < kMinSpaceBytes) {
    if (begin_ > 0) {
      memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // Next() refuses a longer frame before the buffer could pass the limit by more than one doubling.
    if (buffer_.size() - end_ < kMinSpaceBytes) buffer_.resize(std::max(kFirstBufferBytes, buffer_.size() * 2));
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

absl::StatusOr<std::optional<std::string_view>> FrameSplitter::Next() {
  if (end_ - begin_ < kLengthBytes) return std::nullopt;
  uint32_t frame_bytes;
  memcpy(&frame_bytes, buffer_.data() + begin_, kLengthBytes);
  if (frame_bytes > kMaxFrameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a frame of ", frame_bytes, " bytes (limit ", kMaxFrameBytes, ")"));
  }
  if (end_ - begin_ - kLengthBytes < frame_bytes) return std::nullopt;
  const std::string_view frame(buffer_.data() + begin_ + kLengthBytes, frame_bytes);
  begin_ += kLengthBytes + frame_bytes;
  return frame;
}

}  // namespace stallscope::ingest
