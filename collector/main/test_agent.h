// For tests: the agent's end of a connection, made by hand, and an analysis that only counts.
#pragma once

#include <gtest/gtest.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "collector/budget/process_analysis.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {

// Counts what it is given.
class CountingAnalysis final : public ProcessAnalysis {
 public:
  void OnWait(const WaitEvent&) override { ++waits; }
  void OnThreadSample(const ThreadSampleEvent&) override { ++samples; }
  void OnLoss(const LossEvent& loss) override { lost += loss.records; }
  void OnIdentity(const IdentityEvent&) override { ++identities; }
  void Advance(HostNs) override {}
  void Finish() override {}
  ProcessReport Report(int64_t, HostNs) const override {
    ProcessReport report;
    report.steps = 1;
    report.health.events = waits;
    report.health.dropped = lost;
    report.health.unmatched = samples;
    report.health.clamped = identities;
    return report;
  }
  void SetStepObserver(StepObserver, void*) override {}
  uint64_t waits = 0, lost = 0, samples = 0, identities = 0;
};

inline std::string Framed(const v1::Frame& frame) {
  const std::string body = frame.SerializeAsString();
  const auto length = static_cast<uint32_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&length), 4) + body;
}

// The agent's end of a connection.
class TestAgent {
 public:
  explicit TestAgent(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~TestAgent() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  void SendBytes(const std::string& bytes, int pass_fd = -1) {
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (pass_fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(part), &pass_fd, sizeof(int));
    }
    EXPECT_GE(sendmsg(fd_, &message, MSG_NOSIGNAL), 0);
    if (pass_fd >= 0) close(pass_fd);
  }
  void Send(const v1::Frame& frame, int pass_fd = -1) { SendBytes(Framed(frame), pass_fd); }

  void SendHello(uint32_t pid, bool streaming = true, int pass_fd = -1, uint32_t major = 1) {
    v1::Frame frame;
    v1::Hello* hello = frame.mutable_hello();
    hello->set_version_major(major);
    hello->set_pid(pid);
    hello->set_monotonic_ns(1000);
    hello->set_streaming(streaming);
    hello->set_process_name("engine");
    Send(frame, pass_fd);
  }
  void SendWaits(int count, uint64_t first_record) {
    v1::Frame frame;
    v1::Batch* batch = frame.mutable_batch();
    batch->set_thread(1);
    batch->set_first_record(first_record);
    batch->set_record_count(static_cast<uint32_t>(count));
    batch->set_base_ns(2000);
    for (int i = 0; i < count; ++i) {
      batch->mutable_waits()->add_begin_delta_ns(10);
      batch->mutable_waits()->add_duration_ns(5);
    }
    Send(frame);
  }
  // The collector's answer, empty when it closed without one.
  v1::Control ReadControl() {
    std::string bytes;
    char buffer[4096];
    ssize_t got;
    while ((got = read(fd_, buffer, sizeof(buffer))) > 0) bytes.append(buffer, static_cast<size_t>(got));
    v1::Frame frame;
    if (bytes.size() > 4 && !frame.ParseFromString(bytes.substr(4))) ADD_FAILURE() << "the answer is no frame";
    return frame.control();
  }

 private:
  int fd_;
};

}  // namespace stallscope
