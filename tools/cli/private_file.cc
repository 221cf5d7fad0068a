#include "tools/cli/private_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stallscope::cli {

absl::StatusOr<std::string> MakePrivateFile(const std::string& stem) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = absl::StrCat(folder != nullptr && folder[0] != '\0' ? folder : "/tmp", "/", stem, "-XXXXXX");
  const int fd = mkstemp(path.data());
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", path, ": ", strerror(errno), ". Set TMPDIR to a folder of yours."));
  }
  close(fd);
  return path;
}

}  // namespace stallscope::cli
