#include "collector/serve/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "collector/serve/http_api.h"

namespace stallscope::serve {
namespace {

namespace asio = boost::asio;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FakeSource : public LiveSource {
 public:
  BudgetReport LiveReport(int64_t window_ns) override {
    last_window_ns = window_ns;
    BudgetReport report;
    report.processes.emplace_back().pid = 42;
    return report;
  }
  std::vector<ProcessStatus> LiveProcesses() override {
    ProcessStatus status;
    status.pid = 42;
    status.comm = "engine";
    return {status};
  }
  int64_t last_window_ns = -1;
};

Answer Ask(const std::string& target, FakeSource* source, const std::string& host = "127.0.0.1:9417") {
  return AnswerRequest("GET", target, host, source);
}

TEST(AnswerRequest, Budget_TakesTheWindowAsked) {
  FakeSource source;
  EXPECT_EQ(nlohmann::json::parse(Ask("/api/v1/budget", &source).body)["processes"][0]["pid"], 42);
  EXPECT_EQ(source.last_window_ns, 10'000'000'000);
  Ask("/api/v1/budget?window=2000ms", &source);
  EXPECT_EQ(source.last_window_ns, 2'000'000'000);
  Ask("/api/v1/budget?other=1&window=5m", &source);
  EXPECT_EQ(source.last_window_ns, 300'000'000'000);
  Ask("/api/v1/budget?window=all", &source);
  EXPECT_EQ(source.last_window_ns, 0);
}

TEST(AnswerRequest, BadWindow_Is400WithTheReason) {
  FakeSource source;
  for (const char* window : {"ten", "", "-5s", "0s", "10", "inf", "9999999h", "500ms", "1.5s", "6m"}) {
    const Answer answer = Ask(std::string("/api/v1/budget?window=") + window, &source);
    EXPECT_EQ(answer.status, 400) << window;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("5m"), HasSubstr("all"))) << window;
  }
  EXPECT_EQ(source.last_window_ns, -1);
}

TEST(AnswerRequest, UnknownPath_Is404AndOtherMethod405) {
  FakeSource source;
  EXPECT_EQ(Ask("/api/v2/budget", &source).status, 404);
  EXPECT_EQ(Ask("/../etc/passwd", &source).status, 404);
  EXPECT_EQ(AnswerRequest("POST", "/api/v1/budget", "localhost:1", &source).status, 405);
}

TEST(AnswerRequest, ForeignHostName_IsRefused) {
  FakeSource source;
  for (const char* host : {"evil.example:9417", "", "127.0.0.1.evil.example:1", "localhost.evil:1"}) {
    EXPECT_EQ(Ask("/api/v1/budget", &source, host).status, 403) << host;
  }
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1", "10.1.2.3:9417", "[::1]:9417"}) {
    EXPECT_EQ(Ask("/healthz", &source, host).status, 200) << host;
  }
}

TEST(AnswerRequest, Processes_HaveTheirSchema) {
  FakeSource source;
  const auto json = nlohmann::json::parse(Ask("/api/v1/processes", &source).body);
  EXPECT_EQ(json["schema"], "stallscope.processes/1");
  EXPECT_EQ(json["processes"][0]["comm"], "engine");
}

TEST(AnswerRequest, Page_NeedsNothingFromElsewhere) {
  FakeSource source;
  const Answer answer = Ask("/", &source);
  EXPECT_THAT(answer.content_type, StartsWith("text/html"));
  EXPECT_THAT(answer.body, HasSubstr("/api/v1/live"));
  for (const char* foreign : {"http://", "https://", "src=", "@import", "innerHTML"}) {
    EXPECT_THAT(answer.body, Not(HasSubstr(foreign)));
  }
  EXPECT_THAT(answer.body, HasSubstr("No step found yet"));
}

// A server on its own thread, and one request to it.
class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() : server(*HttpServer::Start(&io, "127.0.0.1:0", &source)), thread([this] { io.run(); }) {}
  ~HttpServerTest() override {
    asio::post(io, [this] {
      server->Stop();
      io.stop();
    });
    thread.join();
  }
  asio::ip::tcp::socket Connect() {
    asio::ip::tcp::socket socket(client_io);
    const std::string address = server->address();
    socket.connect({asio::ip::make_address("127.0.0.1"),
                    static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)))});
    return socket;
  }
  std::string Exchange(const std::string& request) {
    asio::ip::tcp::socket socket = Connect();
    asio::write(socket, asio::buffer(request));
    std::string answer;
    boost::system::error_code error;
    asio::read(socket, asio::dynamic_buffer(answer), error);
    return answer;
  }

  FakeSource source;
  asio::io_context io, client_io;
  std::unique_ptr<HttpServer> server;
  std::thread thread;
};

TEST_F(HttpServerTest, Request_IsAnswered) {
  const std::string answer = Exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nok\n"));
}

TEST_F(HttpServerTest, TwoRequestsOnOneConnection_AreBothAnswered) {
  const std::string one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string answer = Exchange(one + "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("404 Not Found"));
}

TEST_F(HttpServerTest, GarbageOrEndlessHeader_ClosesTheConnectionOnly) {
  EXPECT_EQ(Exchange("\x16\x03\x01 this is no HTTP\r\n\r\n"), "");
  Exchange("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(Exchange("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, Live_SendsEventAfterEvent) {
  asio::ip::tcp::socket socket = Connect();
  asio::write(socket, asio::buffer(std::string("GET /api/v1/live?window=1s HTTP/1.1\r\nHost: localhost\r\n\r\n")));
  std::string received;
  char buffer[4096];
  const auto events = [&received] {
    size_t count = 0;
    for (size_t at = 0; (at = received.find("data: {", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  while (events() < 3) received.append(buffer, socket.read_some(asio::buffer(buffer)));
  EXPECT_THAT(received, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_EQ(source.last_window_ns, 1'000'000'000);
}

TEST_F(HttpServerTest, AddressInUse_IsSaid) {
  const absl::Status status = HttpServer::Start(&io, server->address(), &source).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(server->address()));
}

TEST(HttpServer, AddressThatIsNone_IsInvalid) {
  asio::io_context io;
  FakeSource source;
  for (const char* address : {"9417", "127.0.0.1", "127.0.0.1:99999", "host.example:1", ":", "[::1:4"}) {
    EXPECT_EQ(HttpServer::Start(&io, address, &source).status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace stallscope::serve
