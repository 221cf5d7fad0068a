// The server's front end: one thread in an epoll loop that takes HTTP requests on loopback and streams tokens back as
// chunks. And the client, which runs as a process of its own: requests are outside input.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_HTTP_FRONT_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_HTTP_FRONT_H_

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace workloads {

struct HttpRequest {
  int connection;
  uint64_t arrived_ns;
};

class HttpFront {
 public:
  // `on_request` is called on the thread of Run.
  explicit HttpFront(std::function<void(const HttpRequest&)> on_request);
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;
  ~HttpFront();

  int port() const { return port_; }
  void Run();  // until Stop
  // Any thread.
  void Deliver(int connection, uint64_t tokens, bool last);
  void Stop();

  // Waits of the loop that blocked, and their time; after Run.
  uint64_t epoll_waits() const { return epoll_waits_; }
  uint64_t epoll_ns() const { return epoll_ns_; }

 private:
  struct Delivery {
    int connection;
    uint64_t tokens;
    bool last;
  };
  int Wait(epoll_event* events, int capacity);
  void Accept();
  void Receive(int connection);
  void SendDeliveries();

  const std::function<void(const HttpRequest&)> on_request_;
  int listener_ = -1, epoll_ = -1, wake_ = -1, port_ = 0;
  uint64_t epoll_waits_ = 0, epoll_ns_ = 0;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards deliveries_
  std::deque<Delivery> deliveries_;
};

// Makes `requests` requests one after the other, the n-th not before n * `period_ns` from the start. Returns the exit
// code of the client process.
int RunHttpClient(int port, uint64_t requests, uint64_t period_ns);

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_HTTP_FRONT_H_
