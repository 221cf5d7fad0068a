#include "collector/main/address.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/main/collector.h"

namespace stallscope {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr size_t kMaxAddressFileBytes = 64 * 1024;

std::string AddressFile(const std::string& socket_path) { return socket_path + ".json"; }

std::string ReadAll(int fd) {
  std::string text(kMaxAddressFileBytes, '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

// Fields that are missing or of another type stay as they are.
CollectorAddress ParseAddress(const std::string& text, int64_t* started_ns) {
  CollectorAddress address;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return address;
  if (json.contains("pid") && json["pid"].is_number_unsigned()) address.pid = json["pid"].get<uint32_t>();
  if (json.contains("socket") && json["socket"].is_string()) address.socket = json["socket"].get<std::string>();
  if (json.contains("http") && json["http"].is_string()) address.http = json["http"].get<std::string>();
  if (json.contains("started_ns") && json["started_ns"].is_number_integer()) {
    *started_ns = json["started_ns"].get<int64_t>();
  }
  return address;
}

// Nothing when nobody holds its lock: the collector is gone.
std::optional<CollectorAddress> ReadLockedAddress(const std::string& address_file, int64_t* started_ns) {
  const int fd = open(address_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::optional<CollectorAddress> address;
  struct stat status;
  const bool ours = fstat(fd, &status) == 0 && (status.st_uid == geteuid() || geteuid() == 0 || status.st_uid == 0);
  if (ours && S_ISREG(status.st_mode) && flock(fd, LOCK_SH | LOCK_NB) != 0) {
    CollectorAddress read = ParseAddress(ReadAll(fd), started_ns);
    if (read.pid != 0) address = std::move(read);
  }
  close(fd);
  return address;
}

absl::Status PrepareDirectory(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat("cannot make ", directory, " for the collector's socket: ",
                                               strerror(errno), "; make it, or choose another socket: --listen PATH"));
  }
  struct stat status;
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " is not a directory; choose another socket: --listen PATH"));
  }
  // Whoever owns the directory can put a socket of his own in our place.
  const bool owner_trusted = status.st_uid == geteuid() || status.st_uid == 0;
  const bool others_may_replace = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!owner_trusted || others_may_replace) {
    return absl::PermissionDeniedError(
        absl::StrCat("others may write to ", directory,
                     "; make it yours (chown, chmod 700) or choose another socket: --listen PATH"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AddressClaim> AddressClaim::Take(const std::string& socket_path) {
  if (socket_path.empty() || socket_path.size() > kMaxSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat("a socket path has 1 to ", kMaxSocketPath, " bytes, this one has ",
                                                   socket_path.size(), "; choose a shorter one: --listen PATH"));
  }
  const std::filesystem::path directory = std::filesystem::path(socket_path).parent_path();
  if (absl::Status prepared = PrepareDirectory(directory.empty() ? "." : directory.string()); !prepared.ok()) {
    return prepared;
  }
  const std::string file = AddressFile(socket_path);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot write ", file, ": ", strerror(errno), "; choose another socket: --listen PATH"));
    }
    AddressClaim claim(socket_path, fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      int64_t started_ns;
      const CollectorAddress other = ParseAddress(ReadAll(fd), &started_ns);
      claim.lock_fd_ = -1;
      close(fd);
      return absl::AlreadyExistsError(absl::StrCat(
          "a collector", other.pid != 0 ? absl::StrCat(" (pid ", other.pid, ")") : std::string(), " listens at ",
          socket_path, " already; use that one, stop it, or choose another socket: --listen PATH"));
    }
    // The one before us may have removed the file between our open and our lock.
    struct stat ours, named;
    if (fstat(fd, &ours) == 0 && stat(file.c_str(), &named) == 0 && ours.st_ino == named.st_ino) {
      struct stat old;
      if (lstat(socket_path.c_str(), &old) == 0 && !S_ISSOCK(old.st_mode)) {
        return absl::InvalidArgumentError(
            absl::StrCat(socket_path, " exists and is not a socket; remove it or choose another: --listen PATH"));
      }
      unlink(socket_path.c_str());
      return claim;
    }
    claim.lock_fd_ = -1;
    close(fd);
  }
  return absl::UnavailableError(absl::StrCat("cannot take ", socket_path, "; try again"));
}

AddressClaim::AddressClaim(AddressClaim&& other) noexcept
    : socket_path_(std::move(other.socket_path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

AddressClaim::~AddressClaim() {
  if (lock_fd_ < 0) return;
  struct stat at_path;
  if (lstat(socket_path_.c_str(), &at_path) == 0 && S_ISSOCK(at_path.st_mode)) unlink(socket_path_.c_str());
  unlink(AddressFile(socket_path_).c_str());
  close(lock_fd_);
}

absl::Status AddressClaim::Publish(const std::string& http_address, int64_t started_ns) {
  const std::string text = Json{{"pid", static_cast<uint32_t>(getpid())},
                                {"socket", socket_path_},
                                {"http", http_address},
                                {"started_ns", started_ns}}
                               .dump(-1, ' ', false, Json::error_handler_t::replace) +
                           "\n";
  if (ftruncate(lock_fd_, 0) != 0 ||
      pwrite(lock_fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return absl::UnavailableError(absl::StrCat("cannot write ", AddressFile(socket_path_), ": ", strerror(errno),
                                               "; free space or choose another socket: --listen PATH"));
  }
  return absl::OkStatus();
}

std::string DefaultSocketPath() {
  if (const char* path = getenv("STALLSCOPE_SOCKET"); path != nullptr && *path != '\0') return path;
  if (const char* folder = getenv("XDG_RUNTIME_DIR"); folder != nullptr && *folder != '\0') {
    return absl::StrCat(folder, "/stallscope/collector.sock");
  }
  if (geteuid() == 0) return "/run/stallscope/collector.sock";
  return absl::StrCat("/tmp/stallscope-", geteuid(), "/collector.sock");
}

std::optional<CollectorAddress> FindCollectorAt(const std::string& socket_path) {
  int64_t started_ns = 0;
  return ReadLockedAddress(AddressFile(socket_path), &started_ns);
}

std::vector<CollectorAddress> FindCollectors() {
  std::vector<std::pair<int64_t, CollectorAddress>> found;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(DefaultSocketPath()).parent_path();
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".json") continue;
    int64_t started_ns = 0;
    std::optional<CollectorAddress> address = ReadLockedAddress(at->path().string(), &started_ns);
    if (address.has_value()) found.emplace_back(started_ns, *std::move(address));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<CollectorAddress> addresses;
  for (auto& [started_ns, address] : found) addresses.push_back(std::move(address));
  return addresses;
}

}  // namespace stallscope
