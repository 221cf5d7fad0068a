// reference_story: the vLLM server of the reference story, without the mathematics. An API thread takes HTTP requests in
// an epoll loop, a scheduler thread plans steps, an executor thread runs them on the GPU; both share a lock. Some forty
// other threads wait, as a server's do. On the simulated GPU every call, operation and wait takes what was published.
//
// Output: one JSON line on stdout with what was done, and how far the plan was kept.
#include <cuda_runtime_api.h>
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/workloads/handoff.h"
#include "tests/workloads/story/http_front.h"
#include "tests/workloads/story/noted_lock.h"
#include "tests/workloads/story/os_waits.h"
#include "tests/workloads/story/plan.h"
#include "tests/workloads/story/story_engine.h"

extern char** environ;

namespace workloads {
namespace {

constexpr uint64_t kPlanningNs = 1'500'000;   // the scheduler's, for each step
constexpr uint64_t kBlockTableNs = 40'000;    // the executor's, under the same lock
constexpr uint64_t kBookkeepingNs = 150'000;  // the scheduler's, with each step's tokens

struct Options {
  double scale = 1;
  std::string fixes;
  bool expect = false, no_os_waits = false;
  std::vector<uint64_t> client;
};

// Host work: the core is busy.
void Work(uint64_t ns) {
  for (const uint64_t end_ns = NowNs() + ns; NowNs() < end_ns;) {
  }
}

void SleepUntil(uint64_t at_ns) {
  const timespec at{static_cast<time_t>(at_ns / 1'000'000'000), static_cast<long>(at_ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

// What this thread waited for a core, of all the time since it began; 0 where the kernel does not say.
double RunDelayShare() {
  double on_cpu_ns = 0, delay_ns = 0;
  std::FILE* file = std::fopen("/proc/thread-self/schedstat", "re");
  if (file == nullptr) return 0;
  const int fields = std::fscanf(file, "%lf %lf", &on_cpu_ns, &delay_ns);
  std::fclose(file);
  return fields == 2 && on_cpu_ns + delay_ns > 0 ? delay_ns / (on_cpu_ns + delay_ns) : 0;
}

class Server {
 public:
  explicit Server(Plan* plan)
      : plan_(plan), engine_(plan), front_([this](const HttpRequest& r) { requests_.Put(r); }) {}

  void Run() {
    std::thread api(&HttpFront::Run, &front_);
    std::thread scheduler(&Server::Schedule, this);
    std::thread executor(&Server::Execute, this);
    pthread_setname_np(api.native_handle(), "APIServer");
    pthread_setname_np(scheduler.native_handle(), "EngineCore");
    pthread_setname_np(executor.native_handle(), "ModelRunner");
    scheduler.join();
    executor.join();
    front_.Stop();
    api.join();
  }

  const HttpFront& front() const { return front_; }
  uint64_t steps() const { return steps_; }
  uint64_t tokens() const { return tokens_; }
  double run_delay_share() const { return run_delay_share_; }

 private:
  void Schedule() {
    uint64_t free_since_ns = NowNs();
    for (uint64_t number = 0; number < plan_->requests; ++number) {
      const std::optional<HttpRequest> request = requests_.Take();
      NoteIdle(free_since_ns, request->arrived_ns);
      const uint64_t steps = Share(plan_->steps, plan_->requests, number);
      for (uint64_t i = 0; i < steps; ++i) front_.Deliver(request->connection, OneStep(), i + 1 == steps);
      free_since_ns = NowNs();
    }
    work_.Close();
  }

  uint64_t OneStep() {
    if (plan_->fixes.handoff) {
      work_.Put(steps_);
      Work(kPlanningNs);
    } else {
      // The executor gets its step before the plan of the next is made, and stands at the lock until it is.
      std::lock_guard lock(block_tables_);
      work_.Put(steps_);
      Work(kPlanningNs);
    }
    if (const std::optional<uint64_t> due_ns = mask_wanted_.Take()) {
      const uint64_t begin_ns = NowNs();
      SleepUntil(*due_ns);
      const uint64_t end_ns = NowNs();
      NoteBlocked("sleep", begin_ns, end_ns, end_ns, 0);
      masks_.Put(1);
    }
    const std::optional<uint64_t> tokens = results_.Take();
    ++steps_;
    tokens_ += *tokens;
    Work(kBookkeepingNs);
    return *tokens;
  }

  void Execute() {
    while (const std::optional<uint64_t> step = work_.Take()) {
      if (!plan_->fixes.handoff) {
        std::lock_guard lock(block_tables_);
        Work(kBlockTableNs);
      } else {
        Work(kBlockTableNs);
      }
      results_.Put(engine_.Step(*step, [this](uint64_t at_ns) {
        mask_wanted_.Put(at_ns);
        masks_.Take();
      }));
    }
    run_delay_share_ = RunDelayShare();
  }

  Plan* const plan_;
  StoryEngine engine_;
  HttpFront front_;
  NotedLock block_tables_;
  Handoff<HttpRequest> requests_;
  Handoff<uint64_t> work_, mask_wanted_, masks_, results_;
  uint64_t steps_ = 0, tokens_ = 0;  // the scheduler's
  double run_delay_share_ = 0;
};

// The client is this program once more, without anything preloaded.
pid_t StartClient(int port, const Plan& plan) {
  const auto wall_ns = static_cast<uint64_t>(static_cast<double>(kWallNs) * plan.scale);
  const std::string numbers[] = {std::to_string(port), std::to_string(plan.requests),
                                 std::to_string(wall_ns / plan.requests)};
  const char* arguments[] = {"reference_story",  "--client",         numbers[0].c_str(),
                             numbers[1].c_str(), numbers[2].c_str(), nullptr};
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool ours = std::strncmp(*variable, "LD_PRELOAD=", 11) == 0 ||
                      std::strncmp(*variable, "STALLSCOPE_", 11) == 0 || std::strncmp(*variable, "SIMGPU_", 7) == 0;
    if (!ours) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  pid_t client = 0;
  const int error =
      posix_spawn(&client, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environment.data());
  if (error != 0) {
    std::fprintf(stderr, "reference_story: the client cannot be started: %s\n", std::strerror(error));
    std::exit(1);
  }
  return client;
}

int Run(const Options& options, const Fixes& fixes) {
  Plan plan(options.scale, fixes);
  Server server(&plan);
  const uint64_t begin_ns = NowNs();
  std::unique_ptr<OsWaits> waits;
  if (!options.no_os_waits) {
    const auto api_ns = static_cast<uint64_t>(static_cast<double>(kWallNs) * options.scale * 0.95);
    waits = std::make_unique<OsWaits>(options.scale, 2 * plan.steps + 6 * plan.requests, api_ns);
  }
  const pid_t client = StartClient(server.front().port(), plan);
  server.Run();
  int status = 0;
  waitpid(client, &status, 0);
  if (waits != nullptr) waits->Finish(server.front().epoll_waits(), server.front().epoll_ns());
  std::printf("{\"workload\":\"reference_story\",\"scale\":%g,\"fixes\":\"%s\",\"steps\":%" PRIu64
              ",\"tokens\":%" PRIu64 ",\"seconds\":%.3f,\"run_delay_share\":%.4f,\"client_status\":%d,\"late_ns\":{",
              options.scale, options.fixes.c_str(), server.steps(), server.tokens(),
              static_cast<double>(NowNs() - begin_ns) / 1e9, server.run_delay_share(), status);
  for (size_t i = 0; i < plan.calls.size(); ++i) {
    std::printf("%s\"%s\":%" PRId64, i == 0 ? "" : ",", kApiRows[i].name, plan.calls[i].debt_ns());
  }
  std::printf("}}\n");
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The reference story: a server whose steps wait for locks, allocations and the whole device");
  app.add_option("--scale", options.scale, "Length: 1 is the published trace, 93 s")->check(CLI::Range(0.005, 10.0));
  app.add_option("--fix", options.fixes, "Any of event-sync,prezero,slice-graph,handoff,pool");
  app.add_flag("--expect", options.expect, "Print what the four tables of such a run must say, and end");
  app.add_flag("--no-os-waits", options.no_os_waits, "Leave the forty waiting threads away");
  app.add_option("--client", options.client)->expected(3)->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.client.size() == 3) {
    return RunHttpClient(static_cast<int>(options.client[0]), options.client[1], options.client[2]);
  }
  if (options.expect) {
    std::fputs(Plan::Expectation(options.scale).c_str(), stdout);
    return 0;
  }
  Fixes fixes;
  std::string unknown;
  if (!ParseFixes(options.fixes, &fixes, &unknown)) {
    std::fprintf(stderr,
                 "reference_story: no fix is named %s; there are event-sync, prezero, slice-graph, handoff and pool\n",
                 unknown.c_str());
    return 2;
  }
  return Run(options, fixes);
}

}  // namespace
}  // namespace workloads

int main(int argc, char** argv) { return workloads::Main(argc, argv); }
