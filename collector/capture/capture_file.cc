#include "collector/capture/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/capture/block.h"
#include "collector/capture/format.h"

namespace stallscope::capture {
namespace {

absl::Status CheckFileHeader(const std::string& path, std::string_view header) {
  if (header.size() < kFileHeaderBytes || header.substr(0, kFileMagic.size()) != kFileMagic) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is not a Stallscope capture; give the .stallcap file that `stallscope run --capture FILE` wrote"));
  }
  const uint16_t major = GetLittle16(header.data() + 8), minor = GetLittle16(header.data() + 10);
  if (major != kVersionMajor) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has capture format ", major, ".", minor,
                                                   ", this program reads format ", kVersionMajor, ".", kVersionMinor,
                                                   "; use the Stallscope version that wrote it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CaptureFile> CaptureFile::Open(const std::string& path) {
  // O_NONBLOCK: a named pipe must be refused below, not waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const std::string what = absl::StrCat("cannot read capture ", path, ": ", strerror(errno));
    if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(absl::StrCat(what, "; check the name"));
    return absl::PermissionDeniedError(absl::StrCat(what, "; check who owns it"));
  }
  CaptureFile file(fd, 0);
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file; give a .stallcap file"));
  }
  file.bytes_ = static_cast<uint64_t>(status.st_size);
  std::string header;
  file.ReadAt(0, kFileHeaderBytes, &header);
  if (absl::Status checked = CheckFileHeader(path, header); !checked.ok()) return checked;
  file.capture_number_ = GetLittle32(&header[12]);
  return file;
}

bool CaptureFile::ReadAt(uint64_t offset, size_t count, std::string* out) const {
  out->clear();
  if (offset > bytes_ || count > bytes_ - offset) return false;
  out->resize(count);
  size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(fd_, out->data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      out->clear();
      return false;
    }
    done += static_cast<size_t>(got);
  }
  return true;
}

CaptureFile::CaptureFile(CaptureFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      bytes_(std::exchange(other.bytes_, 0)),
      capture_number_(other.capture_number_) {}

CaptureFile::~CaptureFile() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace stallscope::capture
