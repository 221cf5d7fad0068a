#include "collector/main/process_session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr HostNs kGoodbyeGraceNs = 1'000'000'000;
constexpr HostNs kIdleMarkNs = 1'000'000'000;  // how often a process that records nothing is said to be drained
constexpr HostNs kShortLifeNs = 1'000'000'000;
constexpr HostNs kFutureMarginNs = 10'000'000'000;
constexpr HostNs kBlockedWorthSayingNs = 1'000'000;
constexpr size_t kMaxBlocked = 32;
constexpr size_t kMostFramesShown = 8;

const char* LevelName(uint32_t level) {
  switch (static_cast<wire::Level>(level)) {
    case wire::Level::kOff:
      return "off";
    case wire::Level::kBudget:
      return "budget";
    case wire::Level::kKernels:
      return "kernels";
    case wire::Level::kNodes:
      return "nodes";
  }
  return "unknown";
}

uint64_t TimeOf(const v1::Frame& frame) { return frame.has_batch() ? frame.batch().base_ns() : 0; }

std::string OsCallName(uint16_t call) {
  return call < static_cast<uint16_t>(wire::OsCall::kCount) ? wire::kOsCalls[call].name
                                                            : absl::StrCat("os_call_", call);
}

}  // namespace

ProcessSession::ProcessSession(uint32_t process, const v1::Hello& hello, uint32_t host_pid, const Host& host,
                               const AnalysisFactory& factory, CaptureWriter* capture)
    : process_(process),
      host_pid_(host_pid),
      host_(host),
      capture_(capture),
      stream_(process, hello),
      analysis_(factory(stream_.info(), &stream_.registry())),
      sampler_(host.proc, host_pid, host.boot_offset_ns),
      identities_(host.proc, host_pid, host.unix_sockets),
      cpu_limits_(host.proc, host_pid),
      jit_names_(host_pid == 0 ? "" : absl::StrCat("/proc/", host_pid, "/root"), hello.pid(), hello.uid()),
      waits_in_flight_(host.proc, host_pid),
      level_(hello.level()) {
  stream_.SetSink(analysis_.get());
  if (const auto stat = host.proc->Process(host_pid); stat.has_value()) host_start_ticks_ = stat->start_ticks;
}

ProcessSession::~ProcessSession() = default;

bool ProcessSession::streaming() const {
  // The memory knows best: a process ends its streaming thread for a moment to fork, and says hello as one without.
  return image_ != nullptr ? image_->has_streaming_thread() : stream_.info().streaming;
}

absl::Status ProcessSession::OnFrame(const v1::Frame& frame, std::string_view bytes, HostNs now) {
  if (finished_) return absl::OkStatus();
  last_frame_at_ = latest_now_ = now;
  if (frame.intern().identities_size() > 0 || frame.intern().codes_size() > 0) {
    // Ours to say: a process could pass itself off as the waker of another one's waits.
    ++refused_frames_;
    return absl::InvalidArgumentError("a process says what the collector finds out");
  }
  if (capture_ != nullptr) capture_->AppendSerialized(process_, bytes, TimeOf(frame));
  switch (frame.body_case()) {
    case v1::Frame::kState:
      notices_.OnState(frame.state(), stream_.info().process_name);
      if (frame.state().what() == v1::State::LEVEL) level_ = static_cast<uint32_t>(frame.state().value());
      break;
    case v1::Frame::kHealth:
      notices_.OnHealth(frame.health());
      level_ = frame.health().level();
      said_events_ = frame.health().events();
      said_lost_ = frame.health().ring_lost();
      said_short_waits_ = frame.health().short_waits();
      agent_cpu_ns_ = frame.health().agent_cpu_ns();
      process_cpu_ns_ = frame.health().process_cpu_ns();
      break;
    case v1::Frame::kGoodbye:
      said_goodbye_ = true;
      break;
    case v1::Frame::kHello:
      if (frame.hello().attached() && (said_goodbye_ || !looked_for_waits_)) {
        waits_in_flight_.Begin(now);
        looked_for_waits_ = true;
      }
      said_goodbye_ = false;  // an exec that failed: it goes on
      break;
    default:
      break;
  }
  // Before the events that use them.
  const bool new_objects = frame.has_intern() && identities_.OnObjects(frame.intern());
  if (new_objects || identities_.wants_look(now)) FeedIdentities(now);
  stream_.SetLatest(now + kFutureMarginNs);
  const absl::Status status = stream_.OnFrame(frame);
  if (!status.ok()) {
    ++refused_frames_;
    notices_.Set("refused",
                 absl::StrCat(refused_frames_, " frames broke the contract and were left out, the last one: ",
                              std::string(status.message())));
  }
  if (frame.intern().stacks_size() > 0) FeedCodes(frame.intern());
  return status;
}

void ProcessSession::FeedIdentities(HostNs now) {
  if (host_pid_ == 0) return;
  v1::Frame frame;
  frame.set_process(process_);
  identities_.LookUp(now, frame.mutable_intern());
  if (frame.intern().identities_size() > 0) Feed(frame);
}

void ProcessSession::Feed(const v1::Frame& frame) {
  if (capture_ != nullptr) capture_->Append(frame);
  if (!stream_.OnFrame(frame).ok()) ++refused_frames_;
  if (frame.intern().stacks_size() > 0) FeedCodes(frame.intern());
}

// Before the events that stand on these stacks.
void ProcessSession::FeedCodes(const v1::Intern& intern) {
  if (host_pid_ == 0 || !jit_names_.OnStacks(intern, stream_.registry())) return;
  v1::Frame frame;
  frame.set_process(process_);
  jit_names_.LookUp(frame.mutable_intern());
  if (frame.intern().codes_size() > 0) Feed(frame);
}

void ProcessSession::OnMemory(int fd) {
  auto image = ingest::ShmImage::Map(fd);
  if (!image.ok()) {
    notices_.Set("memory", absl::StrCat(std::string(image.status().message()),
                                        "; what is in it when the process is killed will be lost"));
    return;
  }
  if (image_ != nullptr) return;  // a reconnect brings the same memory again; the drain knows how far it was read
  image_ = *std::move(image);
  drain_ =
      std::make_unique<ingest::RingDrain>(process_, &stream_.registry(), image_.get(), [this](const v1::Frame& frame) {
        const bool new_objects = frame.has_intern() && identities_.OnObjects(frame.intern());
        if (new_objects || identities_.wants_look(latest_now_)) FeedIdentities(latest_now_);
        Feed(frame);
      });
}

void ProcessSession::OnDisconnected(HostNs now) {
  --connections_;
  disconnected_at_ = now;
}

uint64_t ProcessSession::DrainIfNotStreaming(HostNs now) {
  if (finished_ || drain_ == nullptr || streaming()) return 0;
  latest_now_ = now;
  const uint64_t records = drain_->DrainLive();
  if (!drain_->complete() || (records == 0 && now - marked_at_ < kIdleMarkNs)) return records;
  v1::Frame frame;
  frame.set_process(process_);
  frame.mutable_state()->set_what(v1::State::DRAINED);
  frame.mutable_state()->set_monotonic_ns(static_cast<uint64_t>(now));
  Feed(frame);
  marked_at_ = now;
  return records;
}

void ProcessSession::SampleThreads(HostNs now) {
  if (finished_ || host_pid_ == 0 || !host_.proc->IsAlive(host_pid_, host_start_ticks_)) return;
  latest_now_ = now;
  waits_in_flight_.LookAgain(now);
  v1::Frame names, samples;
  names.set_process(process_);
  samples.set_process(process_);
  sampler_.Sample(now, &names, &samples);
  if (names.has_intern()) Feed(names);
  FeedIdentities(now);
  for (v1::State& state : cpu_limits_.Changes(now)) {
    v1::Frame frame;
    frame.set_process(process_);
    frame.mutable_state()->Swap(&state);
    Feed(frame);
  }
  if (samples.has_batch()) Feed(samples);
}

void ProcessSession::ReportOwnHealth(HostNs now) {
  if (finished_ || drain_ == nullptr || streaming()) return;
  const ingest::RingDrain::Totals totals = drain_->ReadTotals();
  if (const auto stat = host_.proc->Process(host_pid_); stat.has_value()) process_cpu_ns_ = stat->cpu_ns;
  agent_cpu_ns_ = image_->agent_cpu_ns();
  v1::Frame frame;
  frame.set_process(process_);
  v1::Health* health = frame.mutable_health();
  health->set_monotonic_ns(static_cast<uint64_t>(now));
  // Rings of threads that have ended are gone with their counts; what the agent said before stands.
  health->set_events(std::max(totals.records, said_events_));
  health->set_ring_lost(std::max(totals.lost, said_lost_));
  health->set_short_waits(std::max(totals.short_waits, said_short_waits_));
  for (uint32_t i = 0; i < static_cast<uint32_t>(wire::Counter::kCount); ++i) {
    health->add_counters(image_->counter(static_cast<wire::Counter>(i)));
  }
  health->set_agent_cpu_ns(agent_cpu_ns_);
  health->set_process_cpu_ns(process_cpu_ns_);
  health->set_level(level_);
  notices_.OnHealth(*health);
  Feed(frame);
}

bool ProcessSession::IsOver(HostNs now) const {
  if (finished_) return true;
  if (said_goodbye_ && !connected() && now - disconnected_at_ > kGoodbyeGraceNs) return true;
  // A forked child may hold a dead process's connection open; what was still in the socket has come in by then.
  const bool silent = !connected() || now - last_frame_at_ > kGoodbyeGraceNs;
  if (host_pid_ != 0) return silent && !host_.proc->IsAlive(host_pid_, host_start_ticks_);
  return !connected();  // a process that cannot be seen from here: its connection is all we have
}

void ProcessSession::Finish(HostNs now, bool became_another_program) {
  if (finished_) return;
  if (drain_ != nullptr) {
    ReportOwnHealth(now);
    salvaged_records_ = drain_->DrainFinal();
    if (drain_->torn() > 0) {
      notices_.Set("torn", absl::StrCat(drain_->torn(), " records were half-written when the process died"));
    }
  }
  // Who was stuck in what when it was killed: often the very question.
  if (image_ != nullptr && !said_goodbye_) ReadBlocked(now, &blocked_at_death_);
  drain_.reset();
  image_.reset();
  analysis_->Finish();
  finished_ = true;
  finished_at_ = now;
  const bool short_lived = now - stream_.info().agent_start < kShortLifeNs + kGoodbyeGraceNs;
  by_the_way_ = (short_lived || became_another_program) && analysis_->Report(0, now).steps == 0;
}

void ProcessSession::ReadBlocked(HostNs now, std::vector<BlockedThread>* list) const {
  const std::optional<ingest::ShmClock> clock = image_->ReadClock();
  if (!clock.has_value()) return;
  ingest::ShmSlot slot;
  for (uint32_t index = 0; index < image_->slots_used(); ++index) {
    const std::optional<ingest::ShmCurrentWait> wait = image_->ReadCurrentWait(index);
    if (!wait.has_value() || !image_->ReadSlot(index, &slot)) continue;
    BlockedThread blocked;
    blocked.for_ns = now - clock->ToHostNs(wait->begin_ticks);
    if (blocked.for_ns < kBlockedWorthSayingNs) continue;
    blocked.tid = slot.tid;
    blocked.thread_name = slot.name;
    blocked.object = wait->object;
    if (const std::optional<StackInfo> stack = image_->ReadStack(wait->stack); stack.has_value()) {
      const std::string root = host_pid_ == 0 ? "" : absl::StrCat("/proc/", host_pid_, "/root");
      blocked.where = StackText(stack_names_.Of(stream_.registry(), *stack, root), stack->cut, kMostFramesShown);
    }
    blocked.call = wait->kind == wire::RecordKind::kCudaCall
                       ? std::string(stream_.registry().CallName(wire::CudaDomain::kRuntime, wait->call))
                       : OsCallName(wait->call);
    list->push_back(std::move(blocked));
  }
  std::stable_sort(list->begin(), list->end(),
                   [](const BlockedThread& a, const BlockedThread& b) { return a.for_ns > b.for_ns; });
  if (list->size() > kMaxBlocked) list->resize(kMaxBlocked);
}

ProcessReport ProcessSession::Report(int64_t window_ns, HostNs now) const {
  ProcessReport report = analysis_->Report(window_ns, now);
  const ProcessInfo& info = stream_.info();
  report.pid = pid();
  if (report.process_name.empty()) report.process_name = info.process_name;
  report.simulated_gpu |= info.simulated_gpu;
  if (report.gpu.empty()) report.gpu = stream_.gpu_name();
  report.agent_level = LevelName(level_);
  if (image_ != nullptr && image_->takes_stacks()) {
    report.agent_level =
        level_ == static_cast<uint32_t>(wire::Level::kBudget) ? "stacks" : absl::StrCat(report.agent_level, ", stacks");
  }
  if (process_cpu_ns_ > 0) {
    report.agent_cost_share = static_cast<double>(agent_cpu_ns_) / static_cast<double>(process_cpu_ns_);
  }
  report.health.dropped += stream_.counts().bad_time + stream_.counts().unknown_kind;
  report.blocked = blocked_at_death_;
  if (image_ != nullptr) ReadBlocked(now, &report.blocked);
  if (!finished_ && looked_for_waits_) waits_in_flight_.AppendTo(&report.blocked, now);
  for (std::string& line : notices_.Lines()) report.notices.push_back(std::move(line));
  return report;
}

}  // namespace stallscope
