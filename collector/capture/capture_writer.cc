#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/capture/block.h"
#include "collector/capture/capture.h"
#include "collector/capture/capture_index.h"
#include "collector/capture/capture_tail.h"
#include "collector/capture/format.h"
#include "collector/ingest/limits.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

using capture::CaptureIndexEntry;

// Writes whole blocks only: what is on disk ends in a whole block at every moment the writer can choose.
class FileCaptureWriter final : public CaptureWriter {
 public:
  // `tail` may be nullptr.
  FileCaptureWriter(std::string path, int fd, uint32_t capture_number, std::unique_ptr<capture::TailWriter> tail)
      : path_(std::move(path)), fd_(fd), tail_(std::move(tail)) {
    std::string header(capture::kFileMagic);
    capture::PutLittle16(capture::kVersionMajor, &header);
    capture::PutLittle16(capture::kVersionMinor, &header);
    capture::PutLittle32(capture_number, &header);
    Write(header);
  }

  ~FileCaptureWriter() override { Close().IgnoreError(); }

  void Append(const v1::Frame& frame) override {
    if (!status_.ok() || fd_ < 0) return;
    scratch_.clear();
    if (!frame.SerializeToString(&scratch_)) return;
    AppendBytes(scratch_, {});
    NoteTime(frame.body_case() == v1::Frame::kBatch ? frame.batch().base_ns() : 0);
  }

  void AppendSerialized(uint32_t process, std::string_view frame_bytes, uint64_t at_ns) override {
    if (!status_.ok() || fd_ < 0) return;
    // Field 1 once more, at the end: protobuf takes the last value of a scalar.
    char stamp[6] = {0x08};
    size_t stamp_bytes = 1;
    do {
      stamp[stamp_bytes++] = static_cast<char>((process & 0x7f) | (process > 0x7f ? 0x80 : 0));
      process >>= 7;
    } while (process != 0);
    AppendBytes(frame_bytes, std::string_view(stamp, stamp_bytes));
    NoteTime(at_ns);
  }

  void Commit() override {
    if (tail_ == nullptr || frames_committed_ == frames_in_block_ || !status_.ok() || fd_ < 0) return;
    if (tail_->Append(static_cast<uint32_t>(index_.size()), std::string_view(block_).substr(bytes_committed_),
                      frames_in_block_ - frames_committed_)) {
      bytes_committed_ = block_.size();
      frames_committed_ = frames_in_block_;
    } else {
      // No room to grow: a block in the file needs less, and the tail then begins anew in the room that it has.
      Flush();
    }
  }

  void Flush() override {
    if (frames_in_block_ == 0 || !status_.ok() || fd_ < 0) return;
    const uint64_t offset = bytes_written_;
    if (Write(capture::EncodeBlock(block_, frames_in_block_))) {
      index_.push_back({offset, static_cast<uint32_t>(block_.size()), frames_in_block_, first_ns_, last_ns_});
    } else {
      EndTail(/*is_needed=*/frames_committed_ > 0);
    }
    block_.clear();
    bytes_committed_ = 0;
    frames_in_block_ = frames_committed_ = 0;
    first_ns_ = last_ns_ = 0;
  }

  absl::Status Close() override {
    if (fd_ < 0) return status_;
    Flush();
    if (status_.ok()) Write(capture::EncodeCaptureIndex(index_, bytes_written_));
    if (close(fd_) != 0 && status_.ok()) status_ = Failure(errno);
    fd_ = -1;
    EndTail(/*is_needed=*/false);
    return status_;
  }

  const absl::Status& status() const override { return status_; }
  uint64_t bytes_written() const override { return bytes_written_; }

 private:
  void AppendBytes(std::string_view frame_bytes, std::string_view stamp) {
    const size_t frame_size = frame_bytes.size() + stamp.size();
    if (frame_size > ingest::kMaxFrameBytes + 8) return;
    if (block_.size() + frame_size + 4 > capture::kBlockTargetBytes) {
      Commit();  // compressing takes longer than this
      Flush();
    }
    capture::PutLittle32(static_cast<uint32_t>(frame_size), &block_);
    block_ += frame_bytes;
    block_ += stamp;
    ++frames_in_block_;
  }

  void NoteTime(uint64_t at_ns) {
    if (at_ns == 0) return;
    first_ns_ = first_ns_ == 0 ? at_ns : std::min(first_ns_, at_ns);
    last_ns_ = std::max(last_ns_, at_ns);
  }

  void EndTail(bool is_needed) {
    if (tail_ != nullptr && !is_needed) tail_->Remove();
    tail_.reset();
  }

  // All or nothing: after a short write the file is cut back to its last whole block, which works on a full disk.
  bool Write(std::string_view bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t wrote = write(fd_, bytes.data() + done, bytes.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        status_ = Failure(wrote == 0 ? ENOSPC : errno);
        if (done > 0 && ftruncate(fd_, static_cast<off_t>(bytes_written_)) != 0) {
          status_ = absl::DataLossError(absl::StrCat(status_.message(), "; its last block is incomplete"));
        }
        return false;
      }
      done += static_cast<size_t>(wrote);
    }
    bytes_written_ += bytes.size();
    return true;
  }

  absl::Status Failure(int error) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("capture ", path_, " stopped at ", bytes_written_, " bytes: ", strerror(error),
                     "; what was written is readable. Free space (or write elsewhere) and start a new capture"));
  }

  const std::string path_;
  int fd_;
  std::unique_ptr<capture::TailWriter> tail_;
  absl::Status status_;
  uint64_t bytes_written_ = 0;
  std::string block_, scratch_;
  uint32_t frames_in_block_ = 0;
  size_t bytes_committed_ = 0;  // of block_: what the tail has
  uint32_t frames_committed_ = 0;
  uint64_t first_ns_ = 0, last_ns_ = 0;
  std::vector<CaptureIndexEntry> index_;
};

absl::Status CannotWrite(const std::string& path, int error) {
  const std::string what = absl::StrCat("cannot write capture ", path, ": ", strerror(error));
  if (error == ENOENT) return absl::UnavailableError(absl::StrCat(what, "; make its folder first"));
  if (error == EACCES || error == EROFS) {
    return absl::PermissionDeniedError(absl::StrCat(what, "; choose a folder that you may write to"));
  }
  return absl::UnavailableError(absl::StrCat(what, "; choose another file"));
}

// Whether a capture may take the place of this regular file: it is empty, or a capture (perhaps cut). Not so when we may
// not look.
bool MayBeReplaced(const std::string& path) {
  std::string start(capture::kFileMagic.size(), '\0');
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : pread(fd, start.data(), start.size(), 0);
  if (fd >= 0) close(fd);
  return got >= 0 &&
         capture::kFileMagic.substr(0, static_cast<size_t>(got)) == start.substr(0, static_cast<size_t>(got));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CaptureWriter>> CaptureWriter::Create(const std::string& path) {
  // 0600: a capture names programs, symbols and paths of its user.
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return CannotWrite(path, errno);
  uint32_t capture_number = 0;
  std::unique_ptr<capture::TailWriter> tail;
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    if (!MayBeReplaced(path)) {
      close(fd);
      return absl::FailedPreconditionError(absl::StrCat(
          "there is a file ", path, " that is no capture, and it is not overwritten; choose another name"));
    }
    // Only says which tail belongs to which file, so that 0 (no random numbers yet, early in a boot) does no harm.
    if (getrandom(&capture_number, sizeof(capture_number), GRND_NONBLOCK) < 0) capture_number = 0;
    auto created = capture::TailWriter::Create(path, capture_number);
    if (!created.ok()) {
      close(fd);
      return created.status();
    }
    tail = *std::move(created);
    // Emptied only now: before the tail's lock was ours, it may have been another collector's.
    if (ftruncate(fd, 0) != 0) {
      const absl::Status failed = CannotWrite(path, errno);
      tail->Remove();
      close(fd);
      return failed;
    }
  }
  auto writer = std::make_unique<FileCaptureWriter>(path, fd, capture_number, std::move(tail));
  if (!writer->status().ok()) return writer->status();
  return writer;
}

}  // namespace stallscope
