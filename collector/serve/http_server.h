// The collector's local HTTP endpoint, on the collector's own event loop.
//
//   GET /                             a page that shows the live budget; needs nothing from elsewhere
//   GET /api/v1/budget?window=10s     schema stallscope.budget/1 (1s, 10s, 5m; all: since the start)
//   GET /api/v1/live?window=10s       the same as server-sent events, twice a second
//   GET /api/v1/processes             who is watched
//   GET /healthz                      "ok"
//
// Reads only; nothing can be changed through it. Requests whose Host is neither an IP address nor localhost are
// refused: a web page could otherwise reach it under a name of its own (DNS rebinding). Bounded: connections, header
// size, time to send a request.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "collector/serve/live_source.h"

namespace stallscope::serve {

class HttpServer {
 public:
  // `address`: IP:PORT, [IPv6]:PORT or localhost:PORT; port 0: any free one. Everything is borrowed and outlives the
  // server.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(boost::asio::io_context* io, const std::string& address,
                                                           LiveSource* source);
  virtual ~HttpServer() = default;
  virtual std::string address() const = 0;  // with the real port
  // Accepts no more and closes what is open.
  virtual void Stop() = 0;
};

}  // namespace stallscope::serve
