#include "collector/main/unix_peers.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace stallscope {

uint64_t UnixPeers::PeerOf(uint64_t inode, HostNs now) {
  auto found = peers_.find(inode);
  if (found == peers_.end() && (asked_at_ == INT64_MIN || now - asked_at_ >= kAskAgainNs)) {
    asked_at_ = now;
    peers_ = Ask();
    found = peers_.find(inode);
  }
  return found == peers_.end() ? 0 : found->second;
}

UnixPeers::Peers UnixPeers::Ask() {
  Peers peers;
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return peers;
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof(question);
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0u;
  question.request.udiag_show = UDIAG_SHOW_PEER;
  bool more = send(fd, &question, sizeof(question), 0) == static_cast<ssize_t>(sizeof(question));
  alignas(nlmsghdr) char answer[32768];
  while (more) {
    const ssize_t got = recv(fd, answer, sizeof(answer), 0);
    if (got <= 0) break;
    auto left = static_cast<unsigned>(got);
    for (auto* message = reinterpret_cast<nlmsghdr*>(answer); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
        more = false;
        break;
      }
      if (message->nlmsg_len < NLMSG_LENGTH(sizeof(unix_diag_msg))) continue;
      const auto* found = static_cast<const unix_diag_msg*>(NLMSG_DATA(message));
      auto attribute_bytes = static_cast<unsigned>(message->nlmsg_len - NLMSG_LENGTH(sizeof(*found)));
      const char* at = static_cast<const char*>(NLMSG_DATA(message)) + NLMSG_ALIGN(sizeof(*found));
      for (auto* attribute = reinterpret_cast<const rtattr*>(at); RTA_OK(attribute, attribute_bytes);
           attribute = RTA_NEXT(attribute, attribute_bytes)) {
        uint32_t peer = 0;
        if (attribute->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(attribute) < sizeof(peer)) continue;
        std::memcpy(&peer, RTA_DATA(attribute), sizeof(peer));
        peers[found->udiag_ino] = peer;
      }
    }
  }
  close(fd);
  return peers;
}

}  // namespace stallscope
