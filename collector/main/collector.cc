#include <google/protobuf/arena.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/capture/capture.h"
#include "collector/main/address.h"
#include "collector/main/agent_connection.h"
#include "collector/main/collector_impl.h"
#include "collector/main/session_table.h"
#include "collector/serve/http_server.h"

namespace stallscope {
namespace {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;
using std::chrono::milliseconds;

// Of processes without a streaming thread. As the streaming thread's rounds: rarely while rings have room, often at once
// when one fills up (a quarter of the smallest ring; a sixteenth is room).
constexpr milliseconds kShortestDrainPeriod(5), kLongestDrainPeriod(100);
constexpr uint64_t kFillingUpRecords = 1024, kHasRoomRecords = 256;
constexpr milliseconds kSamplePeriod(250);  // also Advance and Reap
constexpr milliseconds kFlushPeriod(500);   // into compressed blocks; a kill loses nothing even so
constexpr milliseconds kHealthPeriod(1000);
constexpr milliseconds kAcceptRetry(100);  // after the process ran out of descriptors
constexpr HostNs kHelloLimitNs = 10'000'000'000;
constexpr size_t kMaxConnections = 1024;
constexpr size_t kArenaBlockBytes = 1024 * 1024;

int64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Does its work again and again until it is destroyed; the work says when next.
class PeriodicTimer {
 public:
  PeriodicTimer(asio::io_context* io, milliseconds first, std::function<milliseconds()> work)
      : timer_(*io), work_(std::move(work)) {
    Arm(first);
  }

 private:
  void Arm(milliseconds after) {
    timer_.expires_after(after);
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error) Arm(work_());
    });
  }

  asio::steady_timer timer_;
  const std::function<milliseconds()> work_;
};

class CollectorImpl final : public Collector, public AgentConnection::Owner, public serve::LiveSource {
 public:
  CollectorImpl(const CollectorOptions& options, AddressClaim claim, std::unique_ptr<CaptureWriter> capture,
                AnalysisFactory factory, const std::string& proc_root)
      : options_(options),
        claim_(std::make_unique<AddressClaim>(std::move(claim))),
        capture_(std::move(capture)),
        proc_(proc_root),
        table_(std::make_unique<SessionTable>(
            ProcessSession::Host{&proc_, ReadClock(CLOCK_BOOTTIME) - ReadClock(CLOCK_MONOTONIC), &unix_sockets_},
            std::move(factory), capture_.get())),
        acceptor_(io_) {}

  ~CollectorImpl() override { Stop(); }

  absl::Status Open() {
    boost::system::error_code error;
    const Unix::endpoint endpoint(options_.socket_path);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.bind(endpoint, error);
    // Before listen, so that nobody connects while others still may.
    if (!error && chmod(options_.socket_path.c_str(), 0600) != 0) error.assign(errno, boost::system::system_category());
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot listen at ", options_.socket_path, ": ", error.message(),
                                                 "; choose another socket: --listen PATH"));
    }
    if (!options_.http_address.empty()) {
      auto http = serve::HttpServer::Start(&io_, options_.http_address, this);
      if (!http.ok()) return http.status();
      http_ = *std::move(http);
    }
    if (absl::Status published = claim_->Publish(http_address(), ReadClock(CLOCK_REALTIME)); !published.ok()) {
      return published;
    }
    Accept();
    timers_.push_back(std::make_unique<PeriodicTimer>(&io_, drain_period_, [this] {
      const uint64_t most = table_->Drain(Now());
      CommitCapture();
      if (most >= kFillingUpRecords) drain_period_ = kShortestDrainPeriod;
      if (most < kHasRoomRecords) drain_period_ = std::min(drain_period_ + kShortestDrainPeriod, kLongestDrainPeriod);
      return drain_period_;
    }));
    Every(kSamplePeriod, [this] { Tick(); });
    Every(kFlushPeriod, [this] {
      if (capture_ != nullptr) capture_->Flush();
    });
    Every(kHealthPeriod, [this] { table_->ReportOwnHealth(Now()); });
    StartThread();
    return absl::OkStatus();
  }

  // --- Collector
  std::string socket_path() const override { return options_.socket_path; }
  std::string http_address() const override { return http_ != nullptr ? http_->address() : std::string(); }
  BudgetReport Report(int64_t window_ns) override {
    return OnThread<BudgetReport>(
        [this, window_ns] { return table_->Report(window_ns, stopped_at_ != 0 ? stopped_at_ : Now()); });
  }
  CollectorTotals Totals() override {
    return OnThread<CollectorTotals>([this] { return MakeTotals(); });
  }
  void Stop() override;

  // --- AgentConnection::Owner
  SessionTable* table() override { return table_.get(); }
  google::protobuf::Arena* frame_arena() override { return &arena_; }
  HostNs Now() const override { return ReadClock(CLOCK_MONOTONIC); }
  void OnTrouble(const std::string& kind) override { ++troubles_[kind]; }
  void OnBytes(uint64_t bytes) override {
    socket_bytes_ += bytes;
    CommitCapture();
  }
  void OnClosed(AgentConnection* connection) override { connections_.erase(connection->shared_from_this()); }
  std::string TellProcess(uint32_t pid, const v1::Control& control) override;

  // --- serve::LiveSource
  BudgetReport LiveReport(int64_t window_ns) override { return table_->Report(window_ns, Now()); }
  std::vector<serve::ProcessStatus> LiveProcesses() override;

 private:
  // Runs on the collector's thread and waits; after Stop, here.
  template <typename Result>
  Result OnThread(std::function<Result()> work) {
    std::unique_lock<std::mutex> lock(stop_mutex_);
    if (stopped_) return work();
    std::packaged_task<Result()> task(std::move(work));
    std::future<Result> result = task.get_future();
    asio::post(io_, [&task] { task(); });
    return result.get();
  }

  void StartThread();
  void Every(milliseconds period, std::function<void()> work);
  // At the end of everything that may append, so that nobody is told of an event that a kill could still take away.
  void CommitCapture() {
    if (capture_ != nullptr) capture_->Commit();
  }
  void Accept();
  void Tick();
  CollectorTotals MakeTotals() const;

  const CollectorOptions options_;
  std::unique_ptr<AddressClaim> claim_;
  std::unique_ptr<CaptureWriter> capture_;
  const ProcFiles proc_;
  UnixSockets unix_sockets_;
  std::unique_ptr<SessionTable> table_;

  asio::io_context io_;
  Unix::acceptor acceptor_;
  milliseconds drain_period_ = kLongestDrainPeriod;
  std::vector<std::unique_ptr<PeriodicTimer>> timers_;
  std::set<std::shared_ptr<AgentConnection>> connections_;
  std::unique_ptr<serve::HttpServer> http_;
  // Frames are parsed here one after the other; most fit into the block that stays.
  std::vector<char> arena_block_ = std::vector<char>(kArenaBlockBytes);
  google::protobuf::Arena arena_{arena_block_.data(), arena_block_.size()};

  std::map<std::string, uint64_t> troubles_;
  uint64_t socket_bytes_ = 0;
  HostNs stopped_at_ = 0;

  std::mutex stop_mutex_;
  bool stopped_ = false;  // guarded by stop_mutex_
  std::thread thread_;
};

// The server that we watch comes first: a batch thread never preempts anybody when it wakes up, with a low weight it takes
// what the others leave, and with a short slice (Linux 6.12 and later honour it) a thread that wakes up waits for it no
// longer than that. Records wait in the agents' rings meanwhile. Failure (a sandbox, an older kernel) changes nothing.
void RunBehindTheServer() {
  struct {  // struct sched_attr of linux/sched/types.h, first version
    uint32_t size = 48, policy = SCHED_BATCH;
    uint64_t flags = 0;
    int32_t nice = 5;
    uint32_t priority = 0;
    uint64_t slice_ns = 100'000, deadline = 0, period = 0;
  } attributes;
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), attributes.nice);
}

void CollectorImpl::StartThread() {
  // Signals belong to the program's own threads; a capture past RLIMIT_FSIZE must fail with EFBIG, not kill.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] {
    RunBehindTheServer();
    io_.run();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void CollectorImpl::Every(milliseconds period, std::function<void()> work) {
  timers_.push_back(std::make_unique<PeriodicTimer>(&io_, period, [this, period, work = std::move(work)] {
    work();
    CommitCapture();
    return period;
  }));
}

void CollectorImpl::Accept() {
  acceptor_.async_accept([this](boost::system::error_code error, Unix::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Out of descriptors, most likely: the peer stays in the backlog until there is one.
      OnTrouble(absl::StrCat("connections could not be accepted: ", error.message()));
      auto timer = std::make_shared<asio::steady_timer>(io_, kAcceptRetry);
      timer->async_wait([this, timer](boost::system::error_code wait_error) {
        if (!wait_error && acceptor_.is_open()) Accept();
      });
      return;
    }
    if (connections_.size() >= kMaxConnections) {
      OnTrouble("connections were refused: too many at once");
    } else {
      auto connection = std::make_shared<AgentConnection>(std::move(socket), this);
      connections_.insert(connection);
      connection->Start();
    }
    Accept();
  });
}

void CollectorImpl::Tick() {
  const HostNs now = Now();
  table_->Sample(now);
  table_->Reap(now);
  table_->Advance(now);
  for (const auto& connection : std::vector(connections_.begin(), connections_.end())) {
    if (connection->said_hello() || now - connection->opened_at() < kHelloLimitNs) continue;
    OnTrouble("connections said nothing for 10 s and were closed");
    connection->Close();
  }
}

void CollectorImpl::Stop() {
  {
    std::unique_lock<std::mutex> lock(stop_mutex_);
    if (stopped_) return;
    std::promise<void> done;
    asio::post(io_, [this, &done] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      for (const auto& connection : std::vector(connections_.begin(), connections_.end())) connection->DrainAndClose();
      stopped_at_ = Now();
      table_->FinishAll(stopped_at_);
      if (capture_ != nullptr) capture_->Close().IgnoreError();  // MakeTotals tells
      if (http_ != nullptr) http_->Stop();
      io_.stop();
      done.set_value();
    });
    if (thread_.joinable()) {
      done.get_future().wait();
      thread_.join();
    }
    stopped_ = true;
  }
  claim_.reset();
}

CollectorTotals CollectorImpl::MakeTotals() const {
  CollectorTotals totals;
  totals.processes_seen = table_->seen();
  totals.processes_live = table_->live();
  totals.events = table_->events();
  totals.socket_bytes = socket_bytes_;
  if (capture_ != nullptr) {
    totals.capture_bytes = capture_->bytes_written();
    totals.capture_status = capture_->status();
  }
  for (const auto& [kind, count] : troubles_) totals.notices.push_back(absl::StrCat(count, " ", kind));
  if (table_->forgotten() > 0) {
    totals.notices.push_back(absl::StrCat(
        table_->forgotten(), " ended processes are not listed any more",
        capture_ != nullptr ? "; the capture holds them all" : "; a capture would hold them all: --capture FILE"));
  }
  return totals;
}

std::string CollectorImpl::TellProcess(uint32_t pid, const v1::Control& control) {
  bool known = false;
  for (const auto& connection : connections_) {
    const ProcessSession* session = connection->session();
    if (session == nullptr || session->pid() != pid) continue;
    known = true;
    // Without a streaming thread nobody reads what we send.
    if (session->streaming() && connection->Tell(control)) return "";
  }
  return known ? absl::StrCat("process ", pid, " has no thread of the agent's that could be told")
               : absl::StrCat("process ", pid, " is not connected to this collector");
}

std::vector<serve::ProcessStatus> CollectorImpl::LiveProcesses() {
  std::vector<serve::ProcessStatus> processes;
  for (const auto& session : table_->sessions()) {
    const ProcessInfo& info = session->info();
    serve::ProcessStatus status;
    status.process = info.process;
    status.pid = session->pid();
    status.parent_pid = info.parent_pid;
    status.comm = info.process_name;
    status.executable = info.executable;
    status.agent_version = info.agent_version;
    status.live = !session->finished();
    status.connected = session->connected();
    status.streaming = session->streaming();
    status.simulated_gpu = info.simulated_gpu;
    status.events = session->counts().events;
    status.lost_records = session->counts().lost_records;
    status.refused_frames = session->refused_frames();
    status.salvaged_records = session->salvaged_records();
    processes.push_back(std::move(status));
  }
  return processes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Collector>> StartCollector(const CollectorOptions& options, AnalysisFactory factory,
                                                          const std::string& proc_root) {
  CollectorOptions complete = options;
  if (complete.socket_path.empty()) complete.socket_path = DefaultSocketPath();
  auto claim = AddressClaim::Take(complete.socket_path);
  if (!claim.ok()) return claim.status();
  std::unique_ptr<CaptureWriter> capture;
  if (!complete.capture_path.empty()) {
    auto created = CaptureWriter::Create(complete.capture_path);
    if (!created.ok()) return created.status();
    capture = *std::move(created);
  }
  auto collector =
      std::make_unique<CollectorImpl>(complete, *std::move(claim), std::move(capture), std::move(factory), proc_root);
  if (absl::Status opened = collector->Open(); !opened.ok()) return opened;
  return collector;
}

}  // namespace stallscope
