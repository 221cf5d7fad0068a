#include "tools/cli/http_get.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

using testing::HasSubstr;

// Takes one connection, reads the request and answers with fixed bytes.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneAnswer() {
    thread_.join();
    close(listener_);
  }
  const std::string& address() const { return address_; }
  const std::string& request() const { return request_; }

 private:
  void Serve() {
    const int link = accept(listener_, nullptr, nullptr);
    char bytes[4096];
    while (request_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = read(link, bytes, sizeof(bytes));
      if (got <= 0) break;
      request_.append(bytes, static_cast<size_t>(got));
    }
    EXPECT_EQ(write(link, answer_.data(), answer_.size()), static_cast<ssize_t>(answer_.size()));
    close(link);
  }

  std::string answer_, address_, request_;
  int listener_;
  std::thread thread_;
};

TEST(HttpGet, Answer200_IsItsBody) {
  std::string request;
  {
    OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    auto body = HttpGet(server.address(), "/api/v1/budget?window=all", 5000);
    ASSERT_TRUE(body.ok()) << body.status();
    EXPECT_EQ(*body, "hello");
    request = server.request();
  }
  EXPECT_THAT(request, testing::StartsWith("GET /api/v1/budget?window=all HTTP/1.1\r\n"));
}

TEST(HttpGet, OtherAnswers_NameThem) {
  OneAnswer server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  auto body = HttpGet(server.address(), "/x", 5000);
  EXPECT_EQ(body.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(body.status().message()), HasSubstr("answered 404 to /x"));
}

TEST(HttpGet, NoHttp_IsUnavailable) {
  OneAnswer server("SSH-2.0-OpenSSH\r\n");
  EXPECT_EQ(HttpGet(server.address(), "/", 5000).status().code(), absl::StatusCode::kUnavailable);
}

TEST(HttpGet, NobodyThere_IsUnavailableWithTheNextStep) {
  auto body = HttpGet("127.0.0.1:1", "/", 5000);
  EXPECT_EQ(body.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(body.status().message()), HasSubstr("stallscope collect"));
}

TEST(HttpGet, UnreadableAddresses_AreRefused) {
  for (const char* address : {"", "9417", "host:9417", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x"}) {
    EXPECT_EQ(HttpGet(address, "/", 5000).status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace stallscope::cli
