// One agent's connection: bytes, descriptors and credentials in; frames to its session.
//
// Lives on the collector's thread; kept alive by its pending read. Whatever comes, only this connection can end by it:
// bytes that are no frames, a first frame that is no hello, another major version, another user.
#pragma once

#include <sys/socket.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collector/base/event.h"
#include "collector/ingest/frame_splitter.h"

namespace google::protobuf {
class Arena;
}

namespace stallscope::v1 {
class Control;
class Frame;
}  // namespace stallscope::v1

namespace stallscope {

class ProcessSession;
class SessionTable;

class AgentConnection : public std::enable_shared_from_this<AgentConnection> {
 public:
  // What the connection needs of the collector, which outlives it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual SessionTable* table() = 0;
    virtual google::protobuf::Arena* frame_arena() = 0;
    virtual HostNs Now() const = 0;
    // One counted notice for each kind.
    virtual void OnTrouble(const std::string& kind) = 0;
    // After one read: the frames in it are appended and taken in.
    virtual void OnBytes(uint64_t bytes) = 0;
    virtual void OnClosed(AgentConnection* connection) = 0;
    // A tool asks for something of a process. Empty: it was told; else why not.
    virtual std::string TellProcess(uint32_t pid, const v1::Control& control) = 0;
  };

  AgentConnection(boost::asio::local::stream_protocol::socket socket, Owner* owner);
  ~AgentConnection();

  // Checks who is there and begins to read.
  void Start();
  // Reads what is already in the socket, then closes. Calls back as usual.
  void DrainAndClose();
  void Close();

  // Tells the agent what a tool asks for. False: it does not listen.
  bool Tell(const v1::Control& control);

  const ProcessSession* session() const { return session_; }
  bool said_hello() const { return session_ != nullptr; }
  HostNs opened_at() const { return opened_at_; }

 private:
  void WaitForBytes();
  // At most `rounds` reads, so that one busy process does not starve the others; false once closed.
  bool ReadSome(int rounds);
  bool TakeFrames();
  bool TakeFrame(std::string_view bytes);
  bool TakeHello(const v1::Frame& frame, std::string_view bytes);
  void TakeDescriptors(msghdr* message);
  bool SendFrame(const v1::Frame& frame);
  void Refuse(const std::string& why);
  void AnswerTool(const v1::Frame& request);

  boost::asio::local::stream_protocol::socket socket_;
  Owner* const owner_;
  ingest::FrameSplitter splitter_;
  ProcessSession* session_ = nullptr;  // owned by the table, which keeps it while it is connected
  uint32_t peer_pid_ = 0;
  int memory_fd_ = -1;  // came in, belongs to the next hello
  HostNs opened_at_ = 0;
  bool closed_ = false;
};

}  // namespace stallscope
