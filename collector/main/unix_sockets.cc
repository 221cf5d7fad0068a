#include "collector/main/unix_sockets.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "proto/wire/unix_name.h"

namespace stallscope {
namespace {

constexpr int64_t kNameHoldsNs = 500'000'000;

static_assert(offsetof(unix_diag_vfs, udiag_vfs_ino) == 0);
uint32_t FirstWord(const rtattr* attribute) {
  uint32_t word = 0;
  if (RTA_PAYLOAD(attribute) >= sizeof(word)) std::memcpy(&word, RTA_DATA(attribute), sizeof(word));
  return word;
}

}  // namespace

bool UnixSockets::AskAgain(HostNs now) {
  if (asked_at_ != INT64_MIN && now - asked_at_ < kAskAgainNs) return false;
  asked_at_ = now;
  sockets_ = Ask();
  named_.clear();
  for (const auto& [inode, socket] : sockets_) {
    if (!socket.datagram || socket.name.empty()) continue;
    named_[wire::UnixNameObject(socket.name.data(), socket.name.size())].push_back(inode);
  }
  for (auto& [object, inodes] : named_) std::sort(inodes.begin(), inodes.end());
  return true;
}

const UnixSockets::Socket* UnixSockets::Find(uint64_t inode, HostNs now) {
  auto found = sockets_.find(inode);
  // One without another end may have got one since.
  if ((found == sockets_.end() || found->second.peer == 0) && AskAgain(now)) found = sockets_.find(inode);
  return found == sockets_.end() ? nullptr : &found->second;
}

std::vector<uint64_t> UnixSockets::Named(uint64_t name_object, HostNs now) {
  auto found = named_.find(name_object);
  // A name goes from socket to socket as its server starts again.
  if ((found == named_.end() || now - asked_at_ >= kNameHoldsNs) && AskAgain(now)) found = named_.find(name_object);
  return found == named_.end() ? std::vector<uint64_t>() : found->second;
}

UnixSockets::Sockets UnixSockets::Ask() {
  Sockets sockets;
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return sockets;
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof(question);
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0u;
  question.request.udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_NAME | UDIAG_SHOW_VFS;
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
      Socket& told = sockets[found->udiag_ino];
      told.datagram = found->udiag_type == SOCK_DGRAM;
      auto attribute_bytes = static_cast<unsigned>(message->nlmsg_len - NLMSG_LENGTH(sizeof(*found)));
      const char* at = static_cast<const char*>(NLMSG_DATA(message)) + NLMSG_ALIGN(sizeof(*found));
      for (auto* attribute = reinterpret_cast<const rtattr*>(at); RTA_OK(attribute, attribute_bytes);
           attribute = RTA_NEXT(attribute, attribute_bytes)) {
        const size_t bytes = RTA_PAYLOAD(attribute);
        if (attribute->rta_type == UNIX_DIAG_PEER) {
          told.peer = FirstWord(attribute);
        } else if (attribute->rta_type == UNIX_DIAG_VFS) {
          told.file = FirstWord(attribute);
        } else if (attribute->rta_type == UNIX_DIAG_NAME) {
          const char* name = static_cast<const char*>(RTA_DATA(attribute));
          told.name.assign(name, wire::UnixNameBytes(name, bytes));
        }
      }
    }
  }
  close(fd);
  return sockets;
}

}  // namespace stallscope
