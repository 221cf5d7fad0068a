#include "collector/capture/capture_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/capture/block.h"
#include "collector/capture/format.h"

namespace stallscope::capture {
namespace {

constexpr uint32_t kEndOfTail = 0;

// Of one open file, not of the process: a writer and a reader in one process see each other too.
struct flock WholeFile(int16_t kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string FileHeader(uint32_t capture_number) {
  std::string header(kTailMagic);
  PutLittle16(kVersionMajor, &header);
  PutLittle16(kVersionMinor, &header);
  PutLittle32(capture_number, &header);
  return header;
}

// Whatever the file has, up to `limit` bytes.
std::string ReadAll(int fd, size_t limit) {
  std::string bytes;
  char piece[16 * 1024];
  while (bytes.size() < limit) {
    const size_t wanted = std::min(sizeof(piece), limit - bytes.size());
    const ssize_t got = pread(fd, piece, wanted, static_cast<off_t>(bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes.append(piece, static_cast<size_t>(got));
  }
  return bytes;
}

absl::Status CannotWrite(const std::string& path, int error) {
  const std::string what = absl::StrCat("cannot write ", path, " beside the capture: ", strerror(error));
  if (error == EACCES || error == EROFS || error == ELOOP) {
    return absl::PermissionDeniedError(absl::StrCat(what, "; choose a folder that you may write to"));
  }
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(absl::StrCat(what, "; free space or write elsewhere"));
  }
  return absl::UnavailableError(absl::StrCat(what, "; choose another file"));
}

void ReadRawBlocks(std::string_view bytes, CaptureTail* tail) {
  bool first = true;
  while (bytes.size() >= sizeof(uint32_t) && GetLittle32(bytes.data()) != kEndOfTail) {
    tail->cut = true;
    if (bytes.size() < kBlockHeaderBytes || GetLittle32(bytes.data()) != kRawBlockMagic) return;
    const uint32_t frames_bytes = GetLittle32(bytes.data() + 4), block = GetLittle32(bytes.data() + 8);
    if (frames_bytes > bytes.size() - kBlockHeaderBytes || (!first && block != tail->block)) return;
    const std::string_view frames = bytes.substr(kBlockHeaderBytes, frames_bytes);
    if (Crc32c(bytes.substr(4, 12), frames) != GetLittle32(bytes.data() + 16)) return;
    tail->cut = first = false;
    tail->block = block;
    tail->frames += frames;
    bytes.remove_prefix(kBlockHeaderBytes + frames_bytes);
  }
  // Each write ends in the mark; only a header without a single block has none.
  if (bytes.size() < sizeof(uint32_t) && !(first && bytes.empty())) tail->cut = true;
}

CaptureTail Unusable(std::string problem) {
  CaptureTail tail;
  tail.state = CaptureTail::State::kUnusable;
  tail.problem = std::move(problem);
  return tail;
}

CaptureTail ReadTailOf(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return Unusable("it is not a regular file");
  const std::string bytes = ReadAll(fd, kFileHeaderBytes + kTailMaxBytes);
  if (bytes.size() < kTailMagic.size() || bytes.compare(0, kTailMagic.size(), kTailMagic) != 0) {
    // A writer that was killed before its first write left nothing, so nothing is missing.
    return bytes.empty() ? CaptureTail() : Unusable("it is not the tail of a Stallscope capture");
  }
  if (bytes.size() < kFileHeaderBytes) return Unusable("it ends inside its header");
  CaptureTail tail;
  const uint16_t major = GetLittle16(&bytes[8]), minor = GetLittle16(&bytes[10]);
  if (major != kVersionMajor) {
    return Unusable(absl::StrCat("it has capture format ", major, ".", minor, ", this program reads format ",
                                 kVersionMajor, ".", kVersionMinor));
  }
  tail.state = CaptureTail::State::kRead;
  tail.capture_number = GetLittle32(&bytes[12]);
  struct flock asked = WholeFile(F_RDLCK);
  tail.being_written = fcntl(fd, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
  ReadRawBlocks(std::string_view(bytes).substr(kFileHeaderBytes), &tail);
  return tail;
}

}  // namespace

std::string TailPath(const std::string& capture_path) { return capture_path + ".tail"; }

absl::StatusOr<std::unique_ptr<TailWriter>> TailWriter::Create(const std::string& capture_path,
                                                               uint32_t capture_number) {
  const std::string path = TailPath(capture_path);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return CannotWrite(path, errno);
  std::unique_ptr<TailWriter> writer(new TailWriter(path, fd));
  struct flock lock = WholeFile(F_WRLCK);
  // A file system without locks: readers then take the writer for dead.
  if (fcntl(fd, F_OFD_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES)) {
    return absl::AlreadyExistsError(
        absl::StrCat("another collector is writing capture ", capture_path, "; choose another file"));
  }
  // FILE was named by the user and may be replaced; a file that only happens to have this name may not.
  const std::string before = ReadAll(fd, kTailMagic.size());
  if (!before.empty() && before != kTailMagic) {
    return absl::AlreadyExistsError(absl::StrCat(
        path, " is needed beside the capture, but is something else; move it away or choose another file"));
  }
  const std::string header = FileHeader(capture_number);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size())) {
    const absl::Status failed = CannotWrite(path, errno != 0 ? errno : ENOSPC);
    writer->Remove();
    return failed;
  }
  writer->end_bytes_ = header.size();
  return writer;
}

TailWriter::~TailWriter() { close(fd_); }

bool TailWriter::Append(uint32_t block, std::string_view frames, uint32_t frame_count) {
  if (block != block_) {
    block_ = block;
    end_bytes_ = kFileHeaderBytes;
  }
  std::string header;
  PutLittle32(kRawBlockMagic, &header);
  PutLittle32(static_cast<uint32_t>(frames.size()), &header);
  PutLittle32(block, &header);
  PutLittle32(frame_count, &header);
  PutLittle32(Crc32c(std::string_view(header).substr(4), frames), &header);
  uint32_t end_mark = kEndOfTail;
  const iovec pieces[] = {
      {header.data(), header.size()}, {const_cast<char*>(frames.data()), frames.size()}, {&end_mark, sizeof(end_mark)}};
  const auto bytes = static_cast<ssize_t>(header.size() + frames.size() + sizeof(end_mark));
  ssize_t wrote;
  do {
    wrote = pwritev(fd_, pieces, 3, static_cast<off_t>(end_bytes_));
  } while (wrote < 0 && errno == EINTR);
  if (wrote != bytes) return false;  // a part of it is no whole raw block, so it does not count
  end_bytes_ += header.size() + frames.size();
  return true;
}

void TailWriter::Remove() { unlink(path_.c_str()); }

CaptureTail ReadTail(const std::string& capture_path) {
  const int fd = open(TailPath(capture_path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? CaptureTail() : Unusable(strerror(errno));
  CaptureTail tail = ReadTailOf(fd);
  close(fd);
  return tail;
}

}  // namespace stallscope::capture
