#include "collector/timeline/timeline.h"

#include <algorithm>

#include "collector/timeline/kernel_class.h"

namespace stallscope {
namespace {

// Caps that hold whatever happens. Both are far above what a step needs.
constexpr size_t kMaxCallsOfThread = 1 << 18;
constexpr size_t kMaxOpsOfDevice = 1 << 20;
// Handles 0, 1 and 2 are the default streams (legacy, legacy, per thread).
constexpr bool IsDefaultStream(uint64_t handle) { return handle <= 2; }
constexpr uint64_t PlaceKey(uint64_t handle, ThreadIndex thread) {
  if (!IsDefaultStream(handle)) return handle;
  return (handle == 2 ? uint64_t{1} << 63 : uint64_t{1} << 62) | thread;
}

// Calls of a kind that never made a record (work that this CUPTI does not report) are no longer waited for after so
// many.
constexpr uint64_t kGiveUpsToStopWaiting = 32;

// A launch takes microseconds; one that takes so long, as the first of its kernel, has loaded it.
constexpr int64_t kLongFirstLaunchNs = 500'000;
constexpr size_t kMaxLongFirstLaunches = 4096;

constexpr size_t kMaxDiskFiles = 1 << 14;
// A thread's calls that came before it was known what their descriptors are.
constexpr uint64_t kCallsBeforeKnown = 4096;

// True when the call put work on a device.
bool MakesRecord(const Call& call) {
  using wire::CudaCallClass;
  if (!IsLaunch(call) || call.result != 0 || HasFlag(call, wire::kCudaFlagCapturing)) return false;
  const bool copy = call.call_class == CudaCallClass::kCopyAsync || call.call_class == CudaCallClass::kCopySync;
  if (copy && call.copy_kind == wire::CopyKind::kHostToHost) return false;
  return !((copy || call.call_class == CudaCallClass::kMemset) && call.argument == 0);  // nothing to do
}

Line LineOfCopy(const GpuOpEvent& op) {
  switch (op.copy_kind) {
    case wire::CopyKind::kHostToDevice:
      return Line::kGpuCopyH2d;
    case wire::CopyKind::kDeviceToHost:
      return Line::kGpuCopyD2h;
    case wire::CopyKind::kPeerToPeer:
      return Line::kGpuCopyP2p;
    default:
      return Line::kGpuCopyD2d;
  }
}

}  // namespace

uint64_t Timeline::Store(ThreadIndex thread, const Call& call) {
  ++counts_.events;
  ThreadTimeline& timeline = MutableThread(thread);
  bool clamped = false;
  const uint64_t number = timeline.Add(call, &clamped);
  if (clamped) ++counts_.clamped;
  latest_ = std::max(latest_, call.end);
  if (timeline.calls().size() > kMaxCallsOfThread) {
    timeline.DropAbove(kMaxCallsOfThread / 2, [this](const Call& dropped, uint64_t) {
      if (IsLaunch(dropped)) launches_.Forget(dropped.correlation);
    });
  }
  return number;
}

Timeline::RecordsOfCall& Timeline::RecordsOf(const Call& call) {
  std::vector<RecordsOfCall>& known = records_of_call_[call.domain == wire::CudaDomain::kDriver];
  if (call.call >= known.size()) known.resize(call.call + 1u);
  return known[call.call];
}

bool Timeline::RecordsCome(const Call& call) {
  const RecordsOfCall& records = RecordsOf(call);
  return records.came > 0 || records.given_up < kGiveUpsToStopWaiting;
}

uint64_t Timeline::AddWait(const WaitEvent& wait) {
  Call call;
  call.begin = wait.begin;
  call.end = wait.end;
  call.object = wait.object;
  call.argument = wait.timeout_ns_plus_one;
  call.result = wait.result;
  call.call = static_cast<uint16_t>(wait.call);
  call.source = CallSource::kOs;
  if (WaitKindOf(call) == wire::WaitKind::kJoin) call.correlation = wait.count;
  if (!disk_files_.empty() && disk_files_.contains(call.object)) call.flags |= kCallOnDiskFile;
  return Store(wait.thread, call);
}

uint64_t Timeline::AddCudaCall(const CudaCallEvent& cuda) {
  Call call;
  call.begin = cuda.begin;
  call.end = cuda.end;
  call.object = cuda.stream;
  call.argument = cuda.argument;
  call.correlation = cuda.correlation;
  call.result = cuda.result;
  call.call = cuda.call;
  call.source = CallSource::kCuda;
  call.call_class = cuda.call_class;
  call.copy_kind = cuda.copy_kind;
  call.flags = cuda.flags;
  call.domain = cuda.domain;
  // Only copies carry a copy kind; the zero of other calls reads as host to host.
  const bool may_get_record =
      cuda.correlation != 0 && !HasFlag(call, wire::kCudaFlagNoCupti) && MakesRecord(call) && RecordsCome(call);
  call.expects_record = may_get_record && !gpu_records_off_;
  const uint64_t number = Store(cuda.thread, call);
  if (cuda.call_class == wire::CudaCallClass::kGraphBuild) records_of_graph_.erase(cuda.argument);
  if (!may_get_record) return number;

  Launch& launch = launches_.At(cuda.correlation);
  if (launch.thread != 0) {
    // The driver's call inside the runtime's call, both reported: the outer one, which ends later, is the launch.
    Call* inner = nullptr;
    if (launch.thread == cuda.thread && MutableThread(cuda.thread).calls().Contains(launch.call_number)) {
      inner = &MutableThread(cuda.thread).calls()[launch.call_number];
    }
    if (inner != nullptr) inner->expects_record = false;
  }
  launch.thread = cuda.thread;
  launch.call_number = number;
  launch.stream_handle = cuda.stream;
  launch.begin = call.begin;
  launch.end = call.end;
  if (cuda.call_class == wire::CudaCallClass::kGraphLaunch) {
    launch.graph_exec = cuda.argument;
  }
  if (launch.first_of_kernel) NoteFirstLaunch(launch);
  if (launch.records > 0) Match(cuda.correlation, launch, launch.device);
  return number;
}

void Timeline::Match(uint32_t correlation, Launch& launch, uint32_t device) {
  ThreadTimeline& timeline = MutableThread(launch.thread);
  cursors_[launch.thread].last_device = device;
  last_recorded_launch_ = std::max(last_recorded_launch_, launch.begin);
  const StreamPlace place{device, launch.stream};
  places_[PlaceKey(launch.stream_handle, launch.thread)] = place;
  if (IsDefaultStream(launch.stream_handle)) places_[PlaceKey(launch.stream_handle, 0)] = place;
  if (launch.graph_exec != 0) {
    GraphRecords& graph = records_of_graph_[launch.graph_exec];
    if (graph.last_correlation != correlation) {
      // Records of a later launch come: those of the one before are complete.
      if (const Launch* before = launches_.Find(graph.last_correlation)) graph.complete_count = before->records;
      graph.last_correlation = correlation;
    }
    if (!launch.whole_graph) launch.expected = std::max<uint32_t>(1, graph.complete_count);
  }
  if (launch.records < launch.expected || !timeline.calls().Contains(launch.call_number)) return;
  Call& call = timeline.calls()[launch.call_number];
  if (!call.has_record) ++RecordsOf(call).came;
  call.has_record = true;
  if (MayBeBlockingCopy(call) && launch.last_op_end <= call.end) call.flags |= wire::kCudaFlagPageable;
  if (!call.expects_record) counts_.came_after_all += missing_.erase({launch.begin, correlation});
}

void Timeline::AddGpuOp(const GpuOpEvent& event) {
  ++counts_.events;
  if (event.kind == wire::GpuOpKind::kSync) return;  // the calls say more
  GpuOp op;
  op.begin = event.begin;
  op.end = event.end;
  if (op.end < op.begin) {
    op.end = op.begin;
    ++counts_.clamped;
  }
  op.argument = event.argument;
  op.correlation = event.correlation;
  op.stream = event.stream;
  op.graph = event.graph;
  op.name = event.name;
  op.kind = event.kind;
  op.copy_kind = event.copy_kind;
  switch (event.kind) {
    case wire::GpuOpKind::kKernel:
      op.line = KernelLine(event.name);
      break;
    case wire::GpuOpKind::kCopy:
      op.line = LineOfCopy(event);
      break;
    case wire::GpuOpKind::kMemset:
      op.line = Line::kGpuMemset;
      break;
    case wire::GpuOpKind::kGraph:
      op.line = Line::kGpuGraph;
      break;
    default:
      return;  // a kind of a newer agent
  }
  if (event.correlation != 0) {
    Launch& launch = launches_.At(event.correlation);
    if (launch.records == 0) {
      launch.device = event.device;
      launch.stream = event.stream;
      launch.copy_kind = event.copy_kind;
    }
    ++launch.records;
    if (event.kind == wire::GpuOpKind::kKernel && event.graph == 0 && FirstOf(event.name)) {
      launch.first_of_kernel = true;
      if (launch.thread != 0) NoteFirstLaunch(launch);
    }
    if (event.kind == wire::GpuOpKind::kGraph) {
      launch.whole_graph = true;
      launch.expected = launch.records;
    }
    launch.first_op_begin = std::min(launch.first_op_begin, op.begin);
    launch.last_op_end = std::max(launch.last_op_end, op.end);
    if (launch.thread != 0) {
      op.launch_begin = launch.begin;
      op.launch_end = launch.end;
      op.launch_thread = launch.thread;
      // Clocks of host and GPU disagree by microseconds: the work is kept where it was measured and the launch is cut
      // (Attribution).
      if (op.begin < launch.begin) ++counts_.clamped;
      Match(event.correlation, launch, event.device);
    }
  }
  DeviceTimeline* device = Device(event.device);
  if (device == nullptr) {
    device_ids_.push_back(event.device);
    devices_.push_back(std::make_unique<DeviceTimeline>());
    device = devices_.back().get();
  }
  device->Add(op);
}

bool Timeline::FirstOf(StringId kernel) {
  constexpr StringId kMaxKernels = 1 << 20;
  if (kernel == 0 || kernel >= kMaxKernels) return false;
  if (kernel >= kernels_seen_.size()) kernels_seen_.resize(kernel + 1);
  if (kernels_seen_[kernel]) return false;
  kernels_seen_[kernel] = true;
  return true;
}

// CUPTI tells of a function's loading at its first use only where its records of overhead are on.
void Timeline::NoteFirstLaunch(const Launch& launch) {
  if (launch.end - launch.begin < kLongFirstLaunchNs) return;
  for (const CodeSpan& span : code_spans_.Of(launch.thread)) {
    if (span.begin < launch.end && span.end > launch.begin) return;  // told
  }
  code_spans_.Add(launch.thread, {launch.begin, launch.end, kFirstLaunch});
  if (long_first_launches_.size() < kMaxLongFirstLaunches) long_first_launches_.push_back({launch.begin, launch.end});
}

ThreadIndex Timeline::ThreadOf(const CodeLoadEvent& load) const {
  if (load.tid != 0) {
    if (const ThreadIndex thread = ThreadOfTid(load.tid)) return thread;
  }
  const Launch* launch = launches_.Find(load.correlation);
  return launch == nullptr ? 0 : launch->thread;
}

void Timeline::AddCodeLoad(const CodeLoadEvent& load) {
  ++counts_.events;
  if (const ThreadIndex thread = ThreadOf(load)) {
    code_spans_.Add(thread, {load.begin, load.end, load.kind});
  } else {
    code_spans_.Wait(load);
  }
}

void Timeline::SettleCodeLoads() {
  std::deque<CodeLoadEvent>& waiting = code_spans_.waiting();
  for (size_t i = waiting.size(); i-- > 0;) {
    const CodeLoadEvent load = waiting.front();
    waiting.pop_front();
    if (const ThreadIndex thread = ThreadOf(load)) {
      code_spans_.Add(thread, {load.begin, load.end, load.kind});
    } else {
      waiting.push_back(load);
    }
  }
}

void Timeline::AddWake(const WakeEvent& wake) {
  ++counts_.events;
  MutableThread(wake.thread);  // known from now on, even when it never waits itself
  wakes_.Add(wake);
}

void Timeline::AddInferredWake(uint64_t object, HostNs at, ThreadIndex waker) {
  WakeEvent wake{};
  wake.thread = waker;
  wake.call = wire::OsCall::kEventfdWrite;
  wake.at = at;
  wake.object = object;
  wakes_.Add(wake);
}

void Timeline::AddForeignWake(uint64_t object, HostNs at, ThreadIndex waker, uint32_t member, ThreadIndex there) {
  WakeEvent wake{};
  wake.thread = waker;
  wake.call = wire::OsCall::kWrite;
  wake.at = at;
  wake.object = object;
  wakes_.AddForeign(wake, member, there);
}

void Timeline::SetDiskFile(uint64_t object, bool is_file) {
  if (!is_file) {
    disk_files_.erase(object);
    return;
  }
  if (disk_files_.size() >= kMaxDiskFiles || !disk_files_.insert(object).second) return;
  for (const auto& thread : threads_) {
    if (thread == nullptr) continue;
    SequenceDeque<Call>& calls = thread->calls();
    const uint64_t first = calls.end() - std::min<uint64_t>(calls.size(), kCallsBeforeKnown);
    for (uint64_t i = first; i < calls.end(); ++i) {
      if (calls[i].source == CallSource::kOs && calls[i].object == object) calls[i].flags |= kCallOnDiskFile;
    }
  }
}

void Timeline::AddSample(const ThreadSampleEvent& sample) {
  ++counts_.events;
  MutableThread(sample.thread).AddSample(sample);
}

void Timeline::AddLoss(const LossEvent& loss) {
  counts_.lost_records += loss.records;
  MutableThread(loss.thread).AddLoss(loss.from, loss.to);
}

const ThreadTimeline* Timeline::Thread(ThreadIndex thread) const {
  return thread < threads_.size() ? threads_[thread].get() : nullptr;
}

ThreadTimeline& Timeline::MutableThread(ThreadIndex thread) {
  if (thread >= threads_.size()) {
    threads_.resize(thread + 1);
    cursors_.resize(thread + 1);
  }
  if (threads_[thread] == nullptr) threads_[thread] = std::make_unique<ThreadTimeline>();
  return *threads_[thread];
}

ThreadIndex Timeline::ThreadOfTid(uint32_t tid) const {
  for (ThreadIndex thread = thread_end(); thread-- > 1;) {
    if (Thread(thread) != nullptr && TidOf(thread) == tid) return thread;
  }
  return 0;
}

uint32_t Timeline::TidOf(ThreadIndex thread) const {
  const ThreadInfo* thread_info = names_ == nullptr ? nullptr : names_->Thread(thread);
  return thread_info == nullptr ? 0 : thread_info->tid;
}

DeviceTimeline* Timeline::Device(uint32_t device) {
  for (size_t i = 0; i < device_ids_.size(); ++i) {
    if (device_ids_[i] == device) return devices_[i].get();
  }
  return nullptr;
}

void Timeline::SettleDevices() {
  for (const auto& device : devices_) device->Settle();
}

const Timeline::StreamPlace* Timeline::PlaceOfStream(uint64_t handle, ThreadIndex thread) const {
  auto found = places_.find(PlaceKey(handle, thread));
  if (found == places_.end() && IsDefaultStream(handle)) found = places_.find(PlaceKey(handle, 0));
  return found == places_.end() ? nullptr : &found->second;
}

bool Timeline::DeviceOfThread(ThreadIndex thread, uint32_t* device) const {
  if (device_ids_.empty()) return false;
  *device = device_ids_.front();
  if (thread < cursors_.size() && cursors_[thread].last_device != UINT64_MAX) {
    *device = static_cast<uint32_t>(cursors_[thread].last_device);
  }
  return true;
}

HostNs Timeline::OldestPendingLaunch() {
  HostNs oldest = INT64_MAX;
  for (ThreadIndex thread = 0; thread < threads_.size(); ++thread) {
    if (threads_[thread] == nullptr) continue;
    const SequenceDeque<Call>& calls = threads_[thread]->calls();
    uint64_t& next = cursors_[thread].next;
    next = std::max(next, calls.first());
    while (next < calls.end() && (!calls[next].expects_record || calls[next].has_record)) ++next;
    if (next < calls.end()) oldest = std::min(oldest, calls[next].begin);
  }
  return oldest;
}

void Timeline::SetGpuRecordsOff(bool off) {
  if (off && !gpu_records_off_) {
    for (ThreadIndex thread = 0; thread < threads_.size(); ++thread) {
      if (threads_[thread] == nullptr) continue;
      SequenceDeque<Call>& calls = threads_[thread]->calls();
      for (uint64_t i = std::max(cursors_[thread].next, calls.first()); i < calls.end(); ++i) {
        if (!calls[i].has_record && calls[i].begin > last_recorded_launch_) calls[i].expects_record = false;
      }
    }
  }
  gpu_records_off_ = off;
}

uint64_t Timeline::GiveUpLaunchesBefore(HostNs at) {
  uint64_t count = 0;
  for (ThreadIndex thread = 0; thread < threads_.size(); ++thread) {
    if (threads_[thread] == nullptr) continue;
    SequenceDeque<Call>& calls = threads_[thread]->calls();
    for (uint64_t i = std::max(cursors_[thread].next, calls.first()); i < calls.end() && calls[i].begin < at; ++i) {
      Call& call = calls[i];
      if (!call.expects_record || call.has_record) continue;
      call.expects_record = false;
      // A graph of which some records came is as complete as it will get.
      const Launch* launch = launches_.Find(call.correlation);
      if (launch != nullptr && launch->records > 0) continue;
      ++RecordsOf(call).given_up;
      missing_[{call.begin, call.correlation}] = {thread,           call.begin,           call.end, call.object,
                                                  call.correlation, IsBlockingCopy(call), 0};
      ++count;
      ++counts_.given_up;
    }
  }
  return count;
}

Line Timeline::KernelLine(StringId name) {
  if (names_ == nullptr || name == 0) return Line::kGpuOther;
  constexpr StringId kMaxCached = 1 << 24;
  if (name >= kMaxCached) return ClassifyKernel(names_->String(name));
  if (name >= line_of_name_.size()) line_of_name_.resize(name + 1, Line::kCount);
  Line& line = line_of_name_[name];
  if (line == Line::kCount) {
    const std::string_view text = names_->String(name);
    if (text.empty()) return Line::kGpuOther;  // may still be introduced
    line = ClassifyKernel(text);
  }
  return line;
}

void Timeline::DropBefore(HostNs at) {
  const auto forget = [this](const Call& call, uint64_t number) {
    if (!IsLaunch(call) || call.correlation == 0 || call.has_record) return;
    const Launch* launch = launches_.Find(call.correlation);
    // Its operations may still be to come or to be looked at (a deep queue): then they forget it.
    if (launch != nullptr && launch->call_number == number && launch->records == 0) launches_.Forget(call.correlation);
  };
  for (const auto& thread : threads_) {
    if (thread == nullptr) continue;
    thread->DropBefore(at, forget);
    thread->calls().ReleaseMemoryIfEmpty();  // threads come and go
  }
  for (const auto& device : devices_) {
    device->DropBefore(at, kMaxOpsOfDevice, [this](const GpuOp& op) {
      if (op.launch_begin == INT64_MIN) {
        const Launch* launch = launches_.Find(op.correlation);
        if (launch != nullptr && launch->thread == 0) ++counts_.orphans;
      }
      launches_.Forget(op.correlation);
    });
  }
  wakes_.DropBefore(at);
  code_spans_.DropBefore(at);
  // By begin: a launch call in work at that moment keeps its entry, and those behind it.
  while (!missing_.empty() && missing_.begin()->second.end < at) missing_.erase(missing_.begin());
}

}  // namespace stallscope
