#include "collector/serve/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/serve/budget_json.h"
#include "collector/serve/http_api.h"

namespace stallscope::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr size_t kMaxConnections = 64;
constexpr uint32_t kMaxHeaderBytes = 8192;
constexpr std::chrono::seconds kRequestLimit(10);
constexpr std::chrono::milliseconds kLivePeriod(500);

std::string_view ToView(beast::string_view text) { return {text.data(), text.size()}; }

class HttpConnection;

class HttpServerImpl final : public HttpServer {
 public:
  HttpServerImpl(asio::io_context* io, LiveSource* source) : io_(io), source_(source), acceptor_(*io) {}
  ~HttpServerImpl() override { Stop(); }

  absl::Status Listen(const tcp::endpoint& endpoint, const std::string& text) {
    beast::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot serve HTTP at ", text, ": ", error.message(),
                       "; choose another address, port 0 takes any free one: --http 127.0.0.1:0"));
    }
    Accept();
    return absl::OkStatus();
  }

  std::string address() const override { return address_; }
  void RememberAddress() {
    beast::error_code ignored;
    const tcp::endpoint endpoint = acceptor_.local_endpoint(ignored);
    const std::string ip = endpoint.address().to_string();
    address_ = absl::StrCat(endpoint.address().is_v6() ? absl::StrCat("[", ip, "]") : ip, ":", endpoint.port());
  }
  void Stop() override;

  LiveSource* source() { return source_; }
  asio::io_context* io() { return io_; }
  void Forget(const std::shared_ptr<HttpConnection>& connection) { connections_.erase(connection); }

 private:
  void Accept();

  asio::io_context* const io_;
  LiveSource* const source_;
  tcp::acceptor acceptor_;
  std::string address_;
  std::set<std::shared_ptr<HttpConnection>> connections_;
};

// One connection: requests one after the other, or one stream of events until the reader goes away.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, HttpServerImpl* server)
      : stream_(std::move(socket)), server_(server), timer_(*server->io()) {}

  void ReadRequest() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(0);
    stream_.expires_after(kRequestLimit);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (error) return self->Close();
      self->AnswerIt();
    });
  }

  void Close() {
    timer_.cancel();
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    if (server_ != nullptr) std::exchange(server_, nullptr)->Forget(shared_from_this());
  }

 private:
  void AnswerIt() {
    const auto& request = parser_->get();
    Answer answer = AnswerRequest(ToView(request.method_string()), ToView(request.target()),
                                  ToView(request[http::field::host]), server_->source());
    if (answer.live) return BeginLive(answer.window_ns);
    response_ = http::response<http::string_body>(static_cast<http::status>(answer.status), request.version());
    response_.set(http::field::content_type, answer.content_type);
    SetCommonFields(&response_);
    response_.keep_alive(request.keep_alive());
    if (request.method() == http::verb::head) {
      response_.content_length(answer.body.size());
    } else {
      response_.body() = std::move(answer.body);
      response_.prepare_payload();
    }
    const bool close = response_.need_eof();
    stream_.expires_after(kRequestLimit);
    http::async_write(stream_, response_, [self = shared_from_this(), close](beast::error_code error, size_t) {
      if (error || close) return self->Close();
      self->ReadRequest();
    });
  }

  template <typename Message>
  static void SetCommonFields(Message* message) {
    message->set(http::field::cache_control, "no-store");
    message->set("X-Content-Type-Options", "nosniff");
    message->set("Content-Security-Policy",
                 "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'");
  }

  void BeginLive(int64_t window_ns) {
    window_ns_ = window_ns;
    event_ =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
    SendEvent();
  }

  // Appends one event and sends; the next one is made only after this one went out, so a slow reader gets fewer, not
  // later, ones.
  void SendEvent() {
    absl::StrAppend(&event_, "data: ", BudgetReportToJson(server_->source()->LiveReport(window_ns_)), "\n\n");
    stream_.expires_after(kRequestLimit);
    asio::async_write(stream_, asio::buffer(event_), [self = shared_from_this()](beast::error_code error, size_t) {
      if (error || self->server_ == nullptr) return self->Close();
      self->event_.clear();
      self->stream_.expires_never();
      self->timer_.expires_after(kLivePeriod);
      self->timer_.async_wait([self](beast::error_code wait_error) {
        if (!wait_error && self->server_ != nullptr) self->SendEvent();
      });
    });
  }

  beast::tcp_stream stream_;
  HttpServerImpl* server_;  // nullptr once closed
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  int64_t window_ns_ = 0;
  std::string event_;
};

void HttpServerImpl::Accept() {
  acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      auto timer = std::make_shared<asio::steady_timer>(*io_, std::chrono::milliseconds(100));
      timer->async_wait([this, timer](beast::error_code wait_error) {
        if (!wait_error && acceptor_.is_open()) Accept();
      });
      return;
    }
    if (connections_.size() < kMaxConnections) {
      auto connection = std::make_shared<HttpConnection>(std::move(socket), this);
      connections_.insert(connection);
      connection->ReadRequest();
    }
    Accept();
  });
}

void HttpServerImpl::Stop() {
  beast::error_code ignored;
  acceptor_.close(ignored);
  for (const auto& connection : std::vector(connections_.begin(), connections_.end())) connection->Close();
}

absl::StatusOr<tcp::endpoint> ParseAddress(const std::string& text) {
  const auto bad = [&text] {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the HTTP address \"", text, "\"; give IP:PORT, as in 127.0.0.1:9417"));
  };
  const size_t colon = text.rfind(':');
  unsigned port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) return bad();
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  beast::error_code error;
  const auto ip = asio::ip::make_address(host, error);
  if (error) return bad();
  return tcp::endpoint(ip, static_cast<uint16_t>(port));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(asio::io_context* io, const std::string& address,
                                                              LiveSource* source) {
  const absl::StatusOr<tcp::endpoint> endpoint = ParseAddress(address);
  if (!endpoint.ok()) return endpoint.status();
  auto server = std::make_unique<HttpServerImpl>(io, source);
  if (absl::Status listening = server->Listen(*endpoint, address); !listening.ok()) return listening;
  server->RememberAddress();
  return server;
}

}  // namespace stallscope::serve
