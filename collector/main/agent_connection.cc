#include "collector/main/agent_connection.h"

#include <errno.h>
#include <google/protobuf/arena.h>
#include <string.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/ingest/process_stream.h"
#include "collector/main/session_table.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr int kReadsPerTurn = 8;
constexpr int kMaxDescriptors = 4;  // one is expected; a few more are closed one by one, the kernel closes the rest

}  // namespace

AgentConnection::AgentConnection(boost::asio::local::stream_protocol::socket socket, Owner* owner)
    : socket_(std::move(socket)), owner_(owner), opened_at_(owner->Now()) {}

AgentConnection::~AgentConnection() {
  if (memory_fd_ >= 0) close(memory_fd_);
}

void AgentConnection::Start() {
  boost::system::error_code error;
  socket_.non_blocking(true, error);
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (error || getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    owner_->OnTrouble("connections whose peer could not be asked for");
    Close();
    return;
  }
  if (peer.uid != geteuid() && geteuid() != 0) {
    owner_->OnTrouble("connections from another user were refused");
    Refuse(absl::StrCat("this collector belongs to uid ", geteuid(), ", you are uid ", peer.uid));
    return;
  }
  peer_pid_ = static_cast<uint32_t>(peer.pid);
  WaitForBytes();
}

void AgentConnection::WaitForBytes() {
  socket_.async_wait(boost::asio::socket_base::wait_read, [self = shared_from_this()](boost::system::error_code error) {
    if (self->closed_) return;
    if (error) {
      self->Close();
    } else if (self->ReadSome(kReadsPerTurn)) {
      self->WaitForBytes();
    }
  });
}

void AgentConnection::DrainAndClose() {
  // What lies in the socket's buffer when we stop; a peer that keeps sending is not waited for.
  if (!closed_ && ReadSome(256)) Close();
}

void AgentConnection::Close() {
  if (std::exchange(closed_, true)) return;
  boost::system::error_code ignored;
  socket_.close(ignored);
  if (session_ != nullptr) session_->OnDisconnected(owner_->Now());
  session_ = nullptr;
  owner_->OnClosed(this);
}

bool AgentConnection::SendFrame(const v1::Frame& frame) {
  const std::string body = frame.SerializeAsString();
  const auto length = static_cast<uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += body;
  // Hardly anything is ever sent this way, so there is room, or the peer is gone.
  return send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

void AgentConnection::Refuse(const std::string& why) {
  v1::Frame frame;
  frame.mutable_control()->set_refused(why);
  if (!SendFrame(frame)) owner_->OnTrouble("refusals that could not be delivered");
  Close();
}

bool AgentConnection::Tell(const v1::Control& control) {
  v1::Frame frame;
  *frame.mutable_control() = control;
  frame.mutable_control()->clear_pid();
  frame.mutable_control()->clear_refused();
  return !closed_ && SendFrame(frame);
}

void AgentConnection::AnswerTool(const v1::Frame& request) {
  const std::string why = owner_->TellProcess(request.control().pid(), request.control());
  if (!why.empty()) return Refuse(why);
  v1::Frame frame;
  if (request.control().detach()) {
    frame.mutable_state()->set_what(v1::State::DETACHED);
    frame.mutable_state()->set_value(request.control().pid());
  } else {
    frame.mutable_state()->set_what(v1::State::LEVEL);
    frame.mutable_state()->set_value(request.control().level());
  }
  if (!SendFrame(frame)) owner_->OnTrouble("answers that could not be delivered");
  Close();
}

bool AgentConnection::ReadSome(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const ingest::FrameSplitter::Space space = splitter_.Prepare();
    iovec piece{space.data, space.bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(socket_.native_handle(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0) {
      if (splitter_.pending() > 0) owner_->OnTrouble("connections ended inside a frame (what came before it is kept)");
      Close();
      return false;
    }
    TakeDescriptors(&message);
    splitter_.Commit(static_cast<size_t>(got));
    const bool is_open = TakeFrames();
    owner_->OnBytes(static_cast<uint64_t>(got));
    if (!is_open) return false;
  }
  return true;
}

void AgentConnection::TakeDescriptors(msghdr* message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      if (memory_fd_ >= 0) close(memory_fd_);
      memory_fd_ = fd;
    }
  }
}

bool AgentConnection::TakeFrames() {
  while (true) {
    const auto frame = splitter_.Next();
    if (!frame.ok()) {
      owner_->OnTrouble("connections sent something else than Stallscope frames and were closed");
      Close();
      return false;
    }
    if (!frame->has_value()) return true;
    if (!TakeFrame(**frame)) return false;
  }
}

bool AgentConnection::TakeFrame(std::string_view bytes) {
  google::protobuf::Arena* arena = owner_->frame_arena();
  arena->Reset();
  auto* frame = google::protobuf::Arena::CreateMessage<v1::Frame>(arena);
  const bool parsed = frame->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (parsed && session_ == nullptr && frame->control().pid() != 0) {
    AnswerTool(*frame);
    return false;
  }
  if (!parsed || (session_ == nullptr && !frame->has_hello())) {
    owner_->OnTrouble("connections sent something else than Stallscope frames and were closed");
    Close();
    return false;
  }
  if (frame->has_hello()) return TakeHello(*frame, bytes);
  // A frame that breaks the contract inside is left out and counted by the session; the next one may be good.
  session_->OnFrame(*frame, bytes, owner_->Now()).IgnoreError();
  return true;
}

bool AgentConnection::TakeHello(const v1::Frame& frame, std::string_view bytes) {
  if (const absl::Status checked = ingest::CheckHello(frame.hello()); !checked.ok()) {
    owner_->OnTrouble(absl::StrCat("processes were refused: ", std::string(checked.message())));
    Refuse(std::string(checked.message()));
    return false;
  }
  ProcessSession* session = owner_->table()->OnHello(frame.hello(), peer_pid_, owner_->Now());
  if (session == nullptr) {
    owner_->OnTrouble("processes were refused: too many at once");
    Refuse("this collector watches as many processes as it can; start another one for the rest");
    return false;
  }
  if (session != session_) {
    if (session_ != nullptr) session_->OnDisconnected(owner_->Now());
    session_ = session;
    session_->OnConnected();
  }
  if (memory_fd_ >= 0) session_->OnMemory(std::exchange(memory_fd_, -1));
  session_->OnFrame(frame, bytes, owner_->Now()).IgnoreError();
  return true;
}

}  // namespace stallscope
