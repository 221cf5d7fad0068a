// Where a collector listens, and who else does.
//
// Beside the socket lies <socket>.json ({"pid","socket","http","started_ns"}), held open with an exclusive flock for as
// long as the collector lives: the lock, not the file, says that somebody is there, so whatever a killed collector left
// behind is replaced.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stallscope {

class AddressClaim {
 public:
  // Makes the socket's directory (0700) when it is missing, and takes the address. AlreadyExists names the pid of the
  // collector that has it. A stale socket is removed.
  static absl::StatusOr<AddressClaim> Take(const std::string& socket_path);
  AddressClaim(AddressClaim&& other) noexcept;
  AddressClaim& operator=(AddressClaim&&) = delete;
  // Removes socket and address file.
  ~AddressClaim();

  // Once the collector listens.
  absl::Status Publish(const std::string& http_address, int64_t started_ns);

 private:
  AddressClaim(std::string socket_path, int lock_fd) : socket_path_(std::move(socket_path)), lock_fd_(lock_fd) {}
  std::string socket_path_;
  int lock_fd_;
};

}  // namespace stallscope
