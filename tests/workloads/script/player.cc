#include "tests/workloads/script/player.h"

#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "agent/marker/stallscope_marker.h"
#include "tests/workloads/script/line_reader.h"
#include "tests/workloads/script/play_device.h"
#include "tests/workloads/script/play_handoffs.h"

namespace workloads::script {
namespace {

constexpr int kStuckAfterSeconds = 5;
constexpr uint64_t kPollNs = 1000;  // on a clock of its own: what a query that is not done yet takes
constexpr size_t kMaxThreadName = 15;

// A function that `call` may name, without arguments that matter. False: not known.
bool CallByName(const std::string& name) {
  int number = 0;
  size_t free_bytes = 0, total_bytes = 0;
  cudaStreamCaptureStatus status{};
  if (name == "cudaGetDevice") return cudaGetDevice(&number), true;
  if (name == "cudaGetDeviceCount") return cudaGetDeviceCount(&number), true;
  if (name == "cudaGetLastError") return static_cast<void>(cudaGetLastError()), true;
  if (name == "cudaPeekAtLastError") return static_cast<void>(cudaPeekAtLastError()), true;
  if (name == "cudaDeviceGetAttribute") return cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, 0), true;
  if (name == "cudaMemGetInfo") return cudaMemGetInfo(&free_bytes, &total_bytes), true;
  if (name == "cudaStreamIsCapturing") return cudaStreamIsCapturing(cudaStreamPerThread, &status), true;
  if (name == "cudaDriverGetVersion") return cudaDriverGetVersion(&number), true;
  if (name == "cudaRuntimeGetVersion") return cudaRuntimeGetVersion(&number), true;
  return false;
}

class Player {
 public:
  Player(const Script& script, const PlayOptions& options)
      : script_(script),
        options_(options),
        clock_(options),
        device_(script, clock_),
        handoffs_(clock_, script.threads.size(), options.own_clock),
        mutexes_(script.mutexes.size()) {
    for (const Queue& queue : script.queues) queues_.emplace_back(queue.capacity);
    sem_init(&ready_, 0, 0);
    sem_init(&go_, 0, 0);
    sem_init(&done_, 0, 0);
  }

  std::optional<PlayCounts> Run(std::string* error) {
    if (!clock_.available()) {
      *error =
          "this is not the simulated GPU, on which alone scripts are played; put its folder (lib/simgpu of the build) "
          "first into LD_LIBRARY_PATH";
      return std::nullopt;
    }
    device_.SetUp();
    for (const Thread& thread : script_.threads) {
      auto playing = std::make_unique<Playing>();
      playing->player = this;
      playing->thread = &thread;
      playing->seat.thread = playing_.size();
      pthread_create(&playing->handle, nullptr, &Player::Main, playing.get());
      pthread_setname_np(playing->handle, thread.name.substr(0, kMaxThreadName).c_str());
      playing_.push_back(std::move(playing));
    }
    for (size_t i = 0; i < playing_.size(); ++i) sem_wait(&ready_);
    clock_.Begin();
    for (size_t i = 0; i < playing_.size(); ++i) sem_post(&go_);
    if (!WaitForAll(error)) return std::nullopt;
    // Records of device work come when the real clock has reached its end.
    if (!options_.fast) device_.WaitForEverything();
    return Total();
  }

 private:
  struct Playing {
    Player* player = nullptr;
    const Thread* thread = nullptr;
    Seat seat;
    pthread_t handle{};
    std::atomic<const Statement*> now{nullptr};
    PlayCounts counts;
    uint64_t end_ns = 0;
  };

  static void* Main(void* argument) {
    auto* playing = static_cast<Playing*>(argument);
    playing->player->PlayThread(playing);
    return nullptr;
  }

  void PlayThread(Playing* playing) {
    Buffers buffers = device_.MakeBuffers(*playing->thread);
    sem_post(&ready_);
    sem_wait(&go_);
    clock_.BeginThread();
    const std::vector<Statement>& statements = playing->thread->statements;
    std::vector<uint64_t> rounds_left;
    for (size_t i = 0; i < statements.size(); ++i) {
      const Statement& s = statements[i];
      if (s.action == Action::kRepeat) {
        rounds_left.push_back(s.count);
      } else if (s.action == Action::kEndRepeat) {
        if (--rounds_left.back() != 0) {
          i = static_cast<size_t>(s.object);
        } else {
          rounds_left.pop_back();
        }
      } else {
        playing->now.store(&s, std::memory_order_relaxed);
        handoffs_.turns().Wait(playing->seat.thread, clock_.NowNs());
        Do(s, &buffers, &playing->seat, &playing->counts);
        clock_.KeepPace();
      }
    }
    playing->end_ns = clock_.NowNs();
    handoffs_.turns().Leave(playing->seat.thread);
    sem_post(&done_);
  }

  void Do(const Statement& s, Buffers* buffers, Seat* seat, PlayCounts* counts) {
    const auto object = static_cast<size_t>(s.object);
    if (s.call_ns != 0) clock_.GiveCallDuration(s.call_ns);
    switch (s.action) {
      case Action::kWork:
        return clock_.Work(s.duration_ns);
      case Action::kSleep:
        return clock_.Sleep(s.duration_ns);
      case Action::kCall:
        if (!CallByName(script_.names[object])) ++counts->calls_as_host_time;
        return clock_.Work(s.duration_ns);
      case Action::kDevice:
        ++(s.work.kind == DeviceWork::Kind::kKernel ? counts->kernels
           : s.work.kind == DeviceWork::Kind::kCopy ? counts->copies
                                                    : counts->fills);
        return device_.Submit(s, buffers);
      case Action::kGraph:
        ++counts->graph_launches;
        for (const GraphNode& node : script_.graphs[object].nodes) {
          counts->kernels += node.work.kind == DeviceWork::Kind::kKernel;
          counts->copies += node.work.kind == DeviceWork::Kind::kCopy;
          counts->fills += node.work.kind == DeviceWork::Kind::kFill;
        }
        return device_.LaunchGraph(s);
      case Action::kPollEvent:
        while (!device_.Synchronize(s)) {
          if (options_.own_clock) clock_.AtLeast(clock_.NowNs() + kPollNs);
        }
        ++counts->waits;
        return;
      case Action::kSyncDevice:
      case Action::kSyncStream:
      case Action::kSyncEvent:
        ++counts->waits;
        device_.Synchronize(s);
        return;
      case Action::kRecord:
      case Action::kAwait:
      case Action::kQueryStream:
      case Action::kQueryEvent:
        device_.Synchronize(s);
        return;
      case Action::kLock:
        return mutexes_[object].Lock(seat, &handoffs_);
      case Action::kUnlock:
        return mutexes_[object].Unlock(&handoffs_);
      case Action::kPut:
        return queues_[object].Put(seat, &handoffs_);
      case Action::kTake:
        ++counts->waits;
        return queues_[object].Take(seat, &handoffs_);
      case Action::kAlloc:
        return device_.Allocate(s, buffers);
      case Action::kFree:
        return device_.Free(s, buffers);
      case Action::kStep:
        ++counts->steps;
        counts->tokens += s.count;
        return stallscope_step(static_cast<unsigned>(s.count));
      case Action::kRepeat:
      case Action::kEndRepeat:
        return;
    }
  }

  // False: all threads that are not done wait for another, and none went on for a while.
  bool WaitForAll(std::string* error) {
    uint64_t seen = ~uint64_t{0};
    int stuck_seconds = 0;
    for (size_t left = playing_.size(); left > 0;) {
      timespec until;
      clock_gettime(CLOCK_REALTIME, &until);
      ++until.tv_sec;
      if (sem_timedwait(&done_, &until) == 0) {
        --left;
        continue;
      }
      const uint64_t went_on = handoffs_.progress().went_on.load();
      const bool stuck = handoffs_.progress().waiting.load() == static_cast<int>(left) && went_on == seen;
      stuck_seconds = stuck ? stuck_seconds + 1 : 0;
      seen = went_on;
      if (stuck_seconds < kStuckAfterSeconds) continue;
      *error = "every thread waits for another:";
      for (const auto& playing : playing_) {
        if (playing->end_ns != 0) continue;
        const Statement* now = playing->now.load();
        *error += " " + playing->thread->name + " in line " + std::to_string(now == nullptr ? 0 : now->place.line);
      }
      return false;
    }
    for (const auto& playing : playing_) pthread_join(playing->handle, nullptr);
    return true;
  }

  PlayCounts Total() const {
    PlayCounts total;
    uint64_t end_ns = clock_.begin_ns();
    for (const auto& playing : playing_) {
      const PlayCounts& counts = playing->counts;
      total.kernels += counts.kernels;
      total.copies += counts.copies;
      total.fills += counts.fills;
      total.graph_launches += counts.graph_launches;
      total.waits += counts.waits;
      total.steps += counts.steps;
      total.tokens += counts.tokens;
      total.calls_as_host_time += counts.calls_as_host_time;
      end_ns = std::max(end_ns, playing->end_ns);
    }
    total.seconds = static_cast<double>(end_ns - clock_.begin_ns()) / 1e9;
    return total;
  }

  const Script& script_;
  const PlayOptions options_;
  PlayClock clock_;
  PlayDevice device_;
  Handoffs handoffs_;
  std::deque<PlayMutex> mutexes_;
  std::deque<PlayQueue> queues_;
  std::vector<std::unique_ptr<Playing>> playing_;
  sem_t ready_, go_, done_;
};

}  // namespace

std::optional<PlayCounts> Play(const Script& script, const PlayOptions& options, std::string* error) {
  // Leaked: when every thread waits for another, they do so until the process is gone.
  auto* player = new Player(script, options);
  return player->Run(error);
}

}  // namespace workloads::script
