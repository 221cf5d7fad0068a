#include "tools/cli/control_request.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::cli {
namespace {

constexpr uint32_t kMostAnswerBytes = 4096;
constexpr int kAnswerMs = 3000;

bool ReadAll(int fd, void* into, size_t bytes, int timeout_ms) {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, timeout_ms) <= 0) return false;
    const ssize_t got = recv(fd, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

absl::Status Exchange(int fd, const std::string& socket_path, const v1::Control& control, int timeout_ms) {
  v1::Frame request;
  *request.mutable_control() = control;
  const std::string body = request.SerializeAsString();
  auto length = static_cast<uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += body;
  if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()) ||
      !ReadAll(fd, &length, sizeof(length), timeout_ms) || length > kMostAnswerBytes) {
    return absl::UnavailableError(absl::StrCat("the collector at ", socket_path, " does not answer"));
  }
  std::string answer(length, '\0');
  v1::Frame frame;
  if (!ReadAll(fd, answer.data(), answer.size(), timeout_ms) || !frame.ParseFromString(answer)) {
    return absl::UnavailableError(absl::StrCat("the collector at ", socket_path, " gave no answer that can be read"));
  }
  if (frame.has_state()) return absl::OkStatus();
  return absl::UnavailableError(frame.control().refused());
}

}  // namespace

absl::Status AskCollector(const std::string& socket_path, const v1::Control& control) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is too long: ", socket_path));
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const absl::Status status =
        absl::UnavailableError(absl::StrCat("no collector listens at ", socket_path, ": ", strerror(errno)));
    if (fd >= 0) close(fd);
    return status;
  }
  absl::Status status = Exchange(fd, socket_path, control, kAnswerMs);
  close(fd);
  return status;
}

}  // namespace stallscope::cli
