#include "agent/cupti/received_frames.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "stallscope/v1/frame.pb.h"

namespace stallscope::agent {
namespace {

// A column with one element holds the same value for all events of its group.
template <typename Column>
auto At(const Column& column, int i) -> std::decay_t<decltype(column.Get(0))> {
  if (column.size() == 1) return column.Get(0);
  return i < column.size() ? column.Get(i) : std::decay_t<decltype(column.Get(0))>{};
}

class Reader {
 public:
  explicit Reader(Received* received) : received_(received) {}

  void Take(const char* bytes, size_t count) {
    input_.append(bytes, count);
    uint32_t length = 0;
    size_t at = 0;
    while (input_.size() - at >= sizeof(length)) {
      std::memcpy(&length, input_.data() + at, sizeof(length));
      if (input_.size() - at - sizeof(length) < length) break;
      v1::Frame frame;
      if (frame.ParseFromArray(input_.data() + at + sizeof(length), static_cast<int>(length))) TakeFrame(frame);
      at += sizeof(length) + length;
    }
    input_.erase(0, at);
  }

 private:
  void TakeFrame(const v1::Frame& frame) {
    if (frame.has_state()) {
      received_->states.push_back(frame.state().what());
      received_->state_texts.push_back(frame.state().text());
      received_->state_times_ns.push_back(frame.state().monotonic_ns());
    }
    if (frame.has_goodbye()) received_->goodbye = true;
    if (frame.has_health()) {
      received_->lost = frame.health().ring_lost();
      received_->counters.assign(frame.health().counters().begin(), frame.health().counters().end());
      received_->cost_ppm = frame.health().governor().cost_ppm();
      received_->cost_limit_ppm = frame.health().governor().limit_ppm();
      received_->callback_ns = frame.health().governor().callback_ns();
    }
    for (const auto& text : frame.intern().strings()) strings_[text.id()] = text.text();
    for (const auto& object : frame.intern().objects()) objects_[object.id()] = object.value();
    for (const auto& call : frame.intern().call_names()) names_[{call.domain(), call.call()}] = call.name();
    for (const auto& device : frame.intern().devices()) received_->device_is_simulated = device.simulated();
    const v1::Batch& batch = frame.batch();
    TakeCalls(batch.base_ns(), batch.cuda_calls());
    TakeCalls(batch.base_ns(), batch.launches());
    TakeOps(batch.base_ns(), batch.gpu_ops());
    TakeOps(batch.base_ns(), batch.gpu_copies());
  }

  void TakeCalls(uint64_t base_ns, const v1::CudaCalls& calls) {
    uint64_t begin_ns = base_ns;
    uint32_t correlation_id = 0;
    for (int i = 0; i < calls.begin_delta_ns_size(); ++i) {
      begin_ns += static_cast<uint64_t>(calls.begin_delta_ns(i));
      correlation_id += static_cast<uint32_t>(At(calls.correlation_delta(), i));
      received_->calls.push_back({At(calls.call_class(), i), At(calls.domain(), i), correlation_id,
                                  At(calls.flags(), i), At(calls.result(), i), begin_ns, At(calls.argument(), i),
                                  objects_[At(calls.stream(), i)],
                                  names_[{At(calls.domain(), i), At(calls.call(), i)}]});
    }
  }

  void TakeOps(uint64_t base_ns, const v1::GpuOps& ops) {
    uint64_t begin_ns = base_ns;
    uint32_t correlation_id = 0;
    for (int i = 0; i < ops.begin_delta_ns_size(); ++i) {
      begin_ns += static_cast<uint64_t>(ops.begin_delta_ns(i));
      correlation_id += static_cast<uint32_t>(At(ops.correlation_delta(), i));
      received_->ops.push_back({At(ops.kind(), i), correlation_id, At(ops.graph(), i), begin_ns,
                                At(ops.duration_ns(), i), At(ops.argument(), i), strings_[At(ops.name(), i)]});
    }
  }

  Received* received_;
  std::string input_;
  std::map<uint32_t, std::string> strings_;
  std::map<uint32_t, uint64_t> objects_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> names_;
};

struct Listener {
  std::string path;
  int fd = -1;
};

Listener Listen() {
  char folder[] = "/tmp/stallscope-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) return {};
  Listener listener = {std::string(folder) + "/collector.sock", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, listener.path.c_str(), sizeof(address.sun_path) - 1);
  if (bind(listener.fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(listener.fd, 4) != 0)
    return {};
  return listener;
}

pid_t Start(const std::vector<std::string>& command, const std::vector<std::string>& variables, int output) {
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(output, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  for (const std::string& variable : variables) putenv(const_cast<char*>(variable.c_str()));
  execv(arguments[0], arguments.data());
  _exit(127);
}

void Send(const Order& order, int connection) {
  v1::Frame frame;
  if (order.level >= 0) frame.mutable_control()->set_level(static_cast<uint32_t>(order.level));
  if (order.detach) frame.mutable_control()->set_detach(true);
  std::string bytes = frame.SerializeAsString();
  const auto length = static_cast<uint32_t>(bytes.size());
  bytes.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
  if (write(connection, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
}

}  // namespace

Received RunUnderAgent(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                       std::vector<Order> orders) {
  Received received;
  const char* build = std::getenv("STALLSCOPE_BUILD");
  const Listener listener = Listen();
  int output[2];
  if (build == nullptr || listener.fd < 0 || pipe2(output, O_CLOEXEC) != 0) return received;
  std::vector<std::string> environment = {"STALLSCOPE_SOCKET=" + listener.path,
                                          "LD_PRELOAD=" + std::string(build) + "/lib/libstallscope.so",
                                          "LD_LIBRARY_PATH=" + std::string(build) + "/lib/simgpu"};
  environment.insert(environment.end(), variables.begin(), variables.end());
  std::vector<std::string> absolute = command;
  absolute[0] = std::string(build) + "/bin/" + command[0];
  const pid_t child = Start(absolute, environment, output[1]);
  close(output[1]);
  Reader reader(&received);
  char bytes[1 << 16];
  // Until the program has closed its output and every connection has ended.
  std::vector<pollfd> open = {{listener.fd, POLLIN, 0}, {output[0], POLLIN, 0}};
  bool program_ended = false;
  std::chrono::steady_clock::time_point connected;
  while (!program_ended || open.size() > 2) {
    int timeout_ms = 30'000;
    if (!orders.empty() && open.size() > 2) {
      const auto due = connected + std::chrono::milliseconds(orders.front().after_ms);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
      timeout_ms = static_cast<int>(left.count());
      if (timeout_ms <= 0) {
        Send(orders.front(), open.back().fd);
        orders.erase(orders.begin());
        continue;
      }
    }
    const int ready = poll(open.data(), open.size(), timeout_ms);
    if (ready == 0 && !orders.empty()) continue;
    if (ready <= 0) break;
    if (open.size() == 2) connected = std::chrono::steady_clock::now();
    if ((open[0].revents & POLLIN) != 0)
      open.push_back({accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
    if (open[1].revents != 0) {
      const ssize_t count = read(output[0], bytes, sizeof(bytes));
      if (count > 0) received.output.append(bytes, static_cast<size_t>(count));
      if (count <= 0) {
        program_ended = true;
        open[1].fd = -1;
      }
    }
    for (size_t i = 2; i < open.size(); ++i) {
      if (open[i].revents == 0) continue;
      const ssize_t count = read(open[i].fd, bytes, sizeof(bytes));
      if (count > 0) {
        reader.Take(bytes, static_cast<size_t>(count));
        continue;
      }
      close(open[i].fd);
      open.erase(open.begin() + static_cast<ptrdiff_t>(i--));
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  received.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  close(output[0]);
  close(listener.fd);
  unlink(listener.path.c_str());
  rmdir(listener.path.substr(0, listener.path.rfind('/')).c_str());
  return received;
}

}  // namespace stallscope::agent
