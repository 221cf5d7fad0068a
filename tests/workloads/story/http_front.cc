#include "tests/workloads/story/http_front.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/workloads/story/os_waits.h"
#include "tests/workloads/truth_note.h"

namespace workloads {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void Fail(const char* what) {
  std::fprintf(stderr, "reference_story: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void SendAll(int socket, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t bytes = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (bytes <= 0) return;  // the client went away
    sent += static_cast<size_t>(bytes);
  }
}

std::string Chunk(const std::string& text) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

}  // namespace

HttpFront::HttpFront(std::function<void(const HttpRequest&)> on_request) : on_request_(std::move(on_request)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0) Fail("bind to loopback");
  if (listen(listener_, 16) != 0) Fail("listen");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {listener_, wake_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
}

HttpFront::~HttpFront() {
  for (const int fd : {listener_, wake_, epoll_}) close(fd);
}

// Counts as a wait only what really waits: what is ready already is fetched by the bare system call.
int HttpFront::Wait(epoll_event* events, int capacity) {
  const auto ready = static_cast<int>(syscall(SYS_epoll_pwait, epoll_, events, capacity, 0, nullptr, 8));
  if (ready > 0) return ready;
  const uint64_t begin_ns = NowNs();
  const int count = epoll_wait(epoll_, events, capacity, -1);
  const uint64_t took_ns = NowNs() - begin_ns;
  if (took_ns >= kSeenNs) {
    ++epoll_waits_;
    epoll_ns_ += took_ns;
  }
  return count;
}

void HttpFront::Accept() {
  const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = connection;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, connection, &event);
}

void HttpFront::Receive(int connection) {
  char text[4096];
  const ssize_t bytes = recv(connection, text, sizeof text, 0);
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection, nullptr);  // one request a connection; the answer needs no look
  if (bytes < 4 || std::memcmp(text, "POST", 4) != 0) {
    SendAll(connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    close(connection);
    return;
  }
  const uint64_t arrived_ns = NowNs();
  SendAll(
      connection,
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  on_request_({connection, arrived_ns});
}

void HttpFront::SendDeliveries() {
  eventfd_t woken;
  eventfd_read(wake_, &woken);
  std::deque<Delivery> deliveries;
  {
    std::lock_guard lock(mutex_);
    deliveries.swap(deliveries_);
  }
  for (const Delivery& delivery : deliveries) {
    SendAll(delivery.connection, Chunk("data: {\"tokens\":" + std::to_string(delivery.tokens) + "}\n\n"));
    if (!delivery.last) continue;
    SendAll(delivery.connection, "0\r\n\r\n");
    close(delivery.connection);
  }
}

void HttpFront::Run() {
  epoll_event events[16];
  while (!stop_) {
    const int count = Wait(events, 16);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener_) {
        Accept();
      } else if (fd == wake_) {
        SendDeliveries();
      } else {
        Receive(fd);
      }
    }
  }
}

void HttpFront::Deliver(int connection, uint64_t tokens, bool last) {
  {
    std::lock_guard lock(mutex_);
    deliveries_.push_back({connection, tokens, last});
  }
  const uint64_t begin_ns = NowNs();
  eventfd_write(wake_, 1);
  const uint64_t end_ns = NowNs();
  NoteBlocked("send", begin_ns, end_ns, end_ns, 0);
}

void HttpFront::Stop() {
  stop_ = true;
  eventfd_write(wake_, 1);
}

int RunHttpClient(int port, uint64_t requests, uint64_t period_ns) {
  const sockaddr_in address = Loopback(port);
  const uint64_t begin_ns = NowNs();
  for (uint64_t i = 0; i < requests; ++i) {
    const uint64_t at_ns = begin_ns + i * period_ns;
    const timespec at{static_cast<time_t>(at_ns / kNsPerSecond), static_cast<long>(at_ns % kNsPerSecond)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
    SendAll(connection, "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}");
    char text[4096];
    while (recv(connection, text, sizeof text, 0) > 0) {
    }
    close(connection);
  }
  return 0;
}

}  // namespace workloads
