#include "collector/ingest/process_stream.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/wire/shm.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

constexpr HostNs kClockMarginNs = 1'000'000'000;  // GPU times may precede the set-up by the error of an early clock fit

HostNs ToHostNs(uint64_t ns) { return static_cast<HostNs>(std::min<uint64_t>(ns, kMaxHostNs)); }

HealthEvent ToHealthEvent(const v1::Health& health) {
  HealthEvent event;
  event.at = ToHostNs(health.monotonic_ns());
  event.events = health.events();
  event.ring_lost = health.ring_lost();
  event.short_waits = health.short_waits();
  const int counters = std::min<int>(health.counters_size(), std::size(event.counters));
  for (int i = 0; i < counters; ++i) event.counters[i] = health.counters(i);
  event.agent_cpu_ns = health.agent_cpu_ns();
  event.process_cpu_ns = health.process_cpu_ns();
  event.socket_bytes = health.socket_bytes();
  event.level = health.level();
  if (health.has_governor()) {
    const v1::Health::Governor& governor = health.governor();
    event.governor = {true,
                      static_cast<uint32_t>(governor.why()),
                      governor.asked_level(),
                      governor.cost_ppm(),
                      governor.limit_ppm(),
                      governor.callback_ns(),
                      governor.node_window()};
  }
  return event;
}

}  // namespace

absl::Status CheckHello(const v1::Hello& hello) {
  if (hello.version_major() != wire::kVersionMajor) {
    return absl::FailedPreconditionError(absl::StrCat("the agent speaks stream version ", hello.version_major(), ".",
                                                      hello.version_minor(), ", this collector speaks ",
                                                      wire::kVersionMajor, ".", wire::kVersionMinor,
                                                      "; use libstallscope.so and stallscoped of one release"));
  }
  for (const std::string* text :
       {&hello.agent_version(), &hello.boot_id(), &hello.executable(), &hello.process_name()}) {
    if (text->size() > kMaxStringBytes) return absl::InvalidArgumentError("a text of the hello is longer than 64 KiB");
  }
  if (hello.monotonic_ns() > static_cast<uint64_t>(kMaxHostNs))
    return absl::InvalidArgumentError("hello from the far future");
  return absl::OkStatus();
}

ProcessInfo ToProcessInfo(uint32_t process, const v1::Hello& hello) {
  ProcessInfo info;
  info.process = process;
  info.identity = {hello.boot_id(), hello.pid(), hello.start_ticks()};
  info.parent_pid = hello.parent_pid();
  info.uid = hello.uid();
  info.executable = hello.executable();
  info.process_name = hello.process_name();
  info.agent_version = hello.agent_version();
  info.agent_start = static_cast<HostNs>(hello.monotonic_ns());
  info.streaming = hello.streaming();
  info.simulated_gpu = hello.simulated_gpu();
  info.level = hello.level();
  return info;
}

bool IsSameProcess(const ProcessInfo& a, const ProcessInfo& b) {
  return a.identity == b.identity && a.agent_start == b.agent_start;
}

ProcessStream::ProcessStream(uint32_t process, const v1::Hello& hello)
    : info_(ToProcessInfo(process, hello)),
      decoder_(&registry_),
      earliest_(std::max<HostNs>(0, info_.agent_start - kClockMarginNs)) {
  decoder_.SetTimeLimits(earliest_, kMaxHostNs);
  decoder_.SetStartsInTheMiddle(hello.reconnects() > 0);
}

void ProcessStream::OnIntern(const v1::Intern& intern) {
  registry_.AddNames(intern);
  for (const v1::Intern::Thread& thread : intern.threads()) {
    if (thread.id() == 0 || thread.id() >= kIdLimit) continue;
    ThreadEntry* entry =
        registry_.AddThread(thread.id(), thread.tid(), thread.name(), ToHostNs(thread.begin_ns()))->thread;
    if (!entry->announced) {
      entry->announced = true;
      sink_->OnThread(entry->info);
    }
  }
  for (const v1::Intern::Identity& identity : intern.identities()) {
    if (identity.reaches().size() > kMaxIdentityBytes || identity.reached_by_size() > kMaxIdentityNames) continue;
    IdentityEvent event{identity.value(), identity.reaches(), {}};
    for (const std::string& name : identity.reached_by()) {
      if (name.size() <= kMaxIdentityBytes) event.reached_by.push_back(name);
    }
    sink_->OnIdentity(event);
  }
  for (const v1::Intern::Device& device : intern.devices()) {
    if (device.name().size() > kMaxStringBytes) continue;
    if (gpu_name_.empty()) gpu_name_ = device.name();
    info_.simulated_gpu |= device.simulated();
    sink_->OnDevice({device.id(), device.name(), device.simulated(), device.multiprocessors(), device.mig(),
                     device.gpu_instance(), device.compute_instance()});
  }
  for (const v1::Intern::Context& context : intern.contexts()) {
    sink_->OnContext(
        {context.id(), context.device(), context.multiprocessors(), context.parent(), context.mps(), context.green()});
  }
  for (const v1::Intern::Name& name : intern.names()) {
    if (name.name().size() > kMaxStringBytes) continue;
    if (name.kind() == v1::Intern::Name::THREAD) {
      registry_.NameThread(static_cast<uint32_t>(name.value()), name.name());
    } else if (name.kind() >= v1::Intern::Name::STREAM && name.kind() <= v1::Intern::Name::DEVICE) {
      sink_->OnNamed({static_cast<NamedKind>(name.kind()), name.value(), name.name()});
    }
  }
}

absl::Status ProcessStream::OnFrame(const v1::Frame& frame) {
  switch (frame.body_case()) {
    case v1::Frame::kBatch:
      return decoder_.Decode(frame.batch(), sink_);
    case v1::Frame::kIntern:
      OnIntern(frame.intern());
      break;
    case v1::Frame::kHealth:
      sink_->OnHealth(ToHealthEvent(frame.health()));
      break;
    case v1::Frame::kClock:
      sink_->OnClock(ToHostNs(frame.clock().monotonic_ns()), static_cast<int64_t>(frame.clock().realtime_ns()),
                     frame.clock().gpu_uncertainty_ns());
      break;
    case v1::Frame::kState: {
      static_assert(kStateDrained == v1::State::DRAINED);
      const v1::State& state = frame.state();
      if (state.text().size() > kMaxStringBytes)
        return absl::InvalidArgumentError("a state's text is longer than 64 KiB");
      sink_->OnState(
          {static_cast<uint32_t>(state.what()), ToHostNs(state.monotonic_ns()), state.value(), state.text()});
      break;
    }
    case v1::Frame::kGoodbye:
      sink_->OnGoodbye(ToHostNs(frame.goodbye().monotonic_ns()), frame.goodbye().exec());
      break;
    case v1::Frame::kHello:  // once more after a reconnect
      info_.streaming = frame.hello().streaming();
      break;
    case v1::Frame::kControl:
    case v1::Frame::BODY_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace stallscope::ingest
