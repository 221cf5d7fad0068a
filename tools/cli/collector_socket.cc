#include "tools/cli/collector_socket.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "run-";

// The pid in "run-4711.sock" or "run-4711.sock.json"; 0 for other names.
pid_t PidInName(const std::string& name) {
  const size_t prefix = sizeof(kPrefix) - 1;
  if (name.compare(0, prefix, kPrefix) != 0) return 0;
  char* end = nullptr;
  const long pid = std::strtol(name.c_str() + prefix, &end, 10);
  const std::string rest = end;
  return rest == ".sock" || rest == ".sock.json" ? static_cast<pid_t>(pid) : 0;
}

}  // namespace

std::string OwnSocketPath(const std::string& default_socket_path) {
  return (fs::path(default_socket_path).parent_path() / (kPrefix + std::to_string(getpid()) + ".sock")).string();
}

void RemoveLeftSockets(const std::string& default_socket_path) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(default_socket_path).parent_path(), error)) {
    const pid_t pid = PidInName(entry.path().filename().string());
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) fs::remove(entry.path(), error);
  }
}

bool SomebodyListens(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return false;
  socket_path.copy(address.sun_path, socket_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool listens = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return listens;
}

}  // namespace stallscope::cli
