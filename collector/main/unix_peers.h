// Which unix socket is connected to which, by inode: asked of the kernel through sock_diag(7), since /proc does not say.
//
// Any user may ask; the answer covers the network namespace that the collector runs in. Single thread. Where the kernel
// refuses (a sandbox without netlink), nothing is known.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

class UnixPeers {
 public:
  virtual ~UnixPeers() = default;
  // Inode of the other end; 0: none, or not known. Asks the kernel again for an inode it does not know, but not more often
  // than every kAskAgainNs.
  uint64_t PeerOf(uint64_t inode, HostNs now);

 protected:
  static constexpr int64_t kAskAgainNs = 50'000'000;
  using Peers = absl::flat_hash_map<uint64_t, uint64_t>;
  virtual Peers Ask();

 private:
  Peers peers_;
  HostNs asked_at_ = INT64_MIN;
};

}  // namespace stallscope
