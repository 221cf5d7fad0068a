// The unix sockets of this host, by inode: which is connected to which and which has a name, asked of the kernel through
// sock_diag(7), since /proc does not say the first.
//
// Any user may ask; the answer covers the network namespace that the collector runs in. Single thread. Where the kernel
// refuses (a sandbox without netlink), nothing is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

class UnixSockets {
 public:
  // The kernel is asked again for what it did not tell of, but not more often than this.
  static constexpr int64_t kAskAgainNs = 50'000'000;
  struct Socket {
    uint64_t peer = 0;      // inode of the other end; 0: none
    bool datagram = false;  // can be sent to by name
    std::string name;       // as it was bound: a path, or an abstract name with the NUL that it begins with
    uint32_t file = 0;      // inode of the path
  };
  using Sockets = absl::flat_hash_map<uint64_t, Socket>;

  virtual ~UnixSockets() = default;
  // nullptr: none, or not known. Valid until the next question.
  const Socket* Find(uint64_t inode, HostNs now);
  // Inodes of the datagram sockets with a name of that number (wire::UnixNameObject).
  std::vector<uint64_t> Named(uint64_t name_object, HostNs now);
  // All of them as last asked.
  const Sockets& sockets() const { return sockets_; }
  HostNs asked_at() const { return asked_at_; }

 protected:
  virtual Sockets Ask();

 private:
  bool AskAgain(HostNs now);

  Sockets sockets_;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> named_;  // inodes by the name's number
  HostNs asked_at_ = INT64_MIN;
};

}  // namespace stallscope
