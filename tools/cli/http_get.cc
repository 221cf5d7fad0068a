#include "tools/cli/http_get.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace stallscope::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

// The timeouts of a tcp_stream act on asynchronous operations only: one chain of them, run to its end.
class Request {
 public:
  Request(const asio::ip::tcp::endpoint& endpoint, const std::string& host, const std::string& target, int timeout_ms)
      : stream_(context_) {
    request_.version(11);
    request_.method(http::verb::get);
    request_.target(target);
    request_.set(http::field::host, host);
    request_.set(http::field::connection, "close");
    parser_.body_limit(64 << 20);
    stream_.expires_after(std::chrono::milliseconds(timeout_ms));
    stream_.async_connect(endpoint, [this](beast::error_code error) { OnConnected(error); });
  }

  beast::error_code Run() {
    context_.run();
    return error_;
  }
  const http::response<http::string_body>& response() const { return parser_.get(); }

 private:
  void OnConnected(beast::error_code error) {
    error_ = error;
    if (error) return;
    http::async_write(stream_, request_, [this](beast::error_code write_error, size_t) { OnWritten(write_error); });
  }
  void OnWritten(beast::error_code error) {
    error_ = error;
    if (error) return;
    http::async_read(stream_, buffer_, parser_, [this](beast::error_code read_error, size_t) { error_ = read_error; });
  }

  asio::io_context context_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
  beast::error_code error_;
};

}  // namespace

absl::StatusOr<std::string> HttpGet(const std::string& address, const std::string& target, int timeout_ms) {
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  beast::error_code error;
  const auto ip = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  unsigned port_number = 0;
  if (error || !absl::SimpleAtoi(port, &port_number) || port_number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the address ", address, ". Give IP:PORT, as in 127.0.0.1:9417."));
  }
  Request request({ip, static_cast<uint16_t>(port_number)}, address, target, timeout_ms);
  if (beast::error_code failed = request.Run()) {
    return absl::UnavailableError(absl::StrCat("no collector answers at ", address, ": ", failed.message(),
                                               ". Is it still running? stallscope collect starts one."));
  }
  if (request.response().result() != http::status::ok) {
    return absl::InvalidArgumentError(absl::StrCat(address, " answered ", request.response().result_int(), " to ",
                                                   target, ". Is this a stallscope collector of this version?"));
  }
  return request.response().body();
}

}  // namespace stallscope::cli
