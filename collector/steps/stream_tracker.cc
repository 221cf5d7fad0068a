#include "collector/steps/stream_tracker.h"

#include <algorithm>
#include <utility>

namespace stallscope {
namespace {

constexpr size_t kMaxStreams = 256;
constexpr size_t kMaxEvents = 8192;
constexpr size_t kMaxUnread = 256;    // of one stream
constexpr size_t kMaxHistory = 1024;  // launches of one stream
constexpr size_t kMaxReadBacks = 65536;

// The legacy default stream, by either of its names.
constexpr bool IsLegacyStream(uint64_t handle) { return handle <= 1; }
constexpr uint64_t kPerThreadStream = 2;

bool CopiesToHost(const Call& call) {
  return (call.call_class == wire::CudaCallClass::kCopyAsync || call.call_class == wire::CudaCallClass::kCopySync) &&
         call.copy_kind == wire::CopyKind::kDeviceToHost;
}

}  // namespace

void WorkClock::Join(const WorkClock& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[i].kernels = std::max(counts_[i].kernels, other.counts_[i].kernels);
    counts_[i].graphs = std::max(counts_[i].graphs, other.counts_[i].graphs);
  }
}

WorkCount WorkClock::Since(const WorkClock& earlier) const {
  WorkCount sum;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const WorkCount& before = earlier[i];
    sum.kernels += counts_[i].kernels - std::min(counts_[i].kernels, before.kernels);
    sum.graphs += counts_[i].graphs - std::min(counts_[i].graphs, before.graphs);
  }
  return sum;
}

void StreamTracker::Frontier::Set(uint32_t correlation, bool without_records) {
  correlations[0] = correlation;
  count = correlation == 0 ? 0 : 1;
  no_records = without_records;
}

void StreamTracker::Frontier::Join(const Frontier& other) {
  no_records = no_records || other.no_records;
  for (size_t i = 0; i < other.count; ++i) {
    const auto end = correlations.begin() + count;
    if (std::find(correlations.begin(), end, other.correlations[i]) != end) continue;
    if (count == kMaxFrontier) {
      // Later work has larger ids; the earliest is the one that can be missed best.
      *std::min_element(correlations.begin(), end) = other.correlations[i];
    } else {
      correlations[count++] = other.correlations[i];
    }
  }
}

const StreamTracker::Snapshot* StreamTracker::Event::At(HostNs wait_begin) const {
  if (last.recorded <= wait_begin || before.recorded == INT64_MIN) return &last;
  return &before;
}

uint32_t StreamTracker::StreamNumber(uint64_t handle, ThreadIndex thread) {
  uint64_t key = handle;
  if (IsLegacyStream(handle)) key = 0;
  if (handle == kPerThreadStream) key = uint64_t{1} << 63 | thread;
  const auto [found, fresh] = number_of_stream_.try_emplace(key, static_cast<uint32_t>(streams_.size()));
  if (!fresh) return found->second;
  if (streams_.size() == kMaxStreams) {
    // A program that makes streams without end: start over, which costs a few steps.
    ForgetEverything();
    return StreamNumber(handle, thread);
  }
  streams_.emplace_back();
  return found->second;
}

void StreamTracker::ForgetEverything() {
  number_of_stream_.clear();
  streams_.clear();
  events_.clear();
}

bool StreamTracker::Enqueue(const Call& call, uint32_t number) {
  Stream& stream = streams_[number];
  const bool seen_inside = call.correlation != 0 && stream.frontier.count == 1 &&
                           stream.frontier.correlations[0] == call.correlation && call.inner_span > 0;
  if (seen_inside) return false;
  stream.frontier.Set(call.correlation, HasFlag(call, wire::kCudaFlagNoCupti) || call.correlation == 0);
  stream.last_enqueue = call.end;
  if (call.call_class == wire::CudaCallClass::kLaunch || call.call_class == wire::CudaCallClass::kGraphLaunch) {
    WorkCount& own = stream.clock.At(number);
    if (call.call_class == wire::CudaCallClass::kLaunch) {
      ++own.kernels;
    } else {
      ++own.graphs;
    }
    stream.history.emplace_back(call.end, own);
    if (stream.history.size() > kMaxHistory) stream.history.pop_front();
  }
  if (!CopiesToHost(call)) return true;
  auto& unread = stream.unread;
  if (!unread.empty() && (WasRead(unread.front()) || unread.size() >= kMaxUnread)) {
    unread.erase(std::remove_if(unread.begin(), unread.end(), [this](const ReadBack& copy) { return WasRead(copy); }),
                 unread.end());
    if (unread.size() >= kMaxUnread) unread.erase(unread.begin());
  }
  const uint64_t copy_number = first_number_ + read_.size();
  unread.push_back({copy_number, call.argument, call.correlation, number, call.end});
  read_.push_back(false);
  if (read_.size() > kMaxReadBacks) {
    read_.pop_front();
    ++first_number_;
  }
  return true;
}

bool StreamTracker::WasRead(const ReadBack& copy) const {
  return copy.number < first_number_ || read_[copy.number - first_number_];
}

WorkClock StreamTracker::ClockAt(uint32_t number, HostNs at) const {
  const Stream& stream = streams_[number];
  WorkClock clock = stream.clock;
  if (stream.last_enqueue <= at || stream.history.empty()) return clock;
  // Another thread went on launching while this one waited: what it launched is not waited for.
  const auto after = std::upper_bound(stream.history.begin(), stream.history.end(), at,
                                      [](HostNs t, const auto& entry) { return t < entry.first; });
  if (after == stream.history.begin()) return clock;
  clock.At(number) = std::prev(after)->second;
  return clock;
}

void StreamTracker::Collect(const std::vector<ReadBack>& unread, HostNs enqueued_until,
                            std::vector<ReadBack>* copies) const {
  for (const ReadBack& copy : unread) {
    if (copy.enqueued <= enqueued_until && !WasRead(copy)) copies->push_back(copy);
  }
}

bool StreamTracker::Deliver(Delivery* delivery, SyncContext* context) {
  if (delivery->copies.empty()) return false;
  std::sort(delivery->copies.begin(), delivery->copies.end(),
            [](const ReadBack& a, const ReadBack& b) { return a.number < b.number; });
  for (const ReadBack& copy : delivery->copies) read_[copy.number - first_number_] = true;
  if (context != nullptr) context->last_copy = delivery->copies.back().correlation;
  return true;
}

bool StreamTracker::WaitForEvent(const Call& call, SyncContext* context, Delivery* delivery) {
  const auto found = events_.find(call.argument);
  if (found == events_.end()) return false;
  const Snapshot* snapshot = found->second.At(call.begin);
  if (context != nullptr) {
    context->event_known = true;
    context->awaited = snapshot->frontier.correlations;
    context->awaited_count = snapshot->frontier.count;
    context->no_records = snapshot->frontier.no_records;
  }
  delivery->closure = snapshot->clock;
  Collect(snapshot->unread, INT64_MAX, &delivery->copies);
  return true;
}

void StreamTracker::WaitForStream(const Call& call, uint32_t number, SyncContext* context, Delivery* delivery) const {
  const Stream& stream = streams_[number];
  delivery->closure = ClockAt(number, call.begin);
  Collect(stream.unread, call.begin, &delivery->copies);
  if (context != nullptr) context->no_records = stream.frontier.no_records;
  // The legacy stream waits for all streams that do not opt out. Those of PyTorch do, and there the legacy stream
  // computes itself; so it is taken to stand for the others only in programs that never compute on it.
  const WorkCount& own = stream.clock[number];
  if (IsLegacyStream(call.object) && own.kernels + own.graphs == 0) {
    for (uint32_t i = 0; i < streams_.size(); ++i) delivery->closure.Join(ClockAt(i, call.begin));
  }
}

void StreamTracker::WaitForDevice(const Call& call, SyncContext* context, Delivery* delivery) const {
  HostNs last_enqueue = INT64_MIN;
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    delivery->closure.Join(ClockAt(i, call.begin));
    Collect(streams_[i].unread, call.begin, &delivery->copies);
    if (context != nullptr && streams_[i].last_enqueue > last_enqueue) {
      last_enqueue = streams_[i].last_enqueue;
      context->no_records = streams_[i].frontier.no_records;
    }
  }
}

bool StreamTracker::OnCall(ThreadIndex thread, const Call& call, SyncContext* context, Delivery* delivery) {
  using wire::CudaCallClass;
  if (call.result != 0 || HasFlag(call, wire::kCudaFlagCapturing)) return false;
  *delivery = Delivery{};
  delivery->at = call.end;
  delivery->wait_begin = call.begin;
  delivery->thread = thread;
  delivery->call_class = call.call_class;
  delivery->query = IsQuery(call);
  switch (call.call_class) {
    case CudaCallClass::kLaunch:
    case CudaCallClass::kGraphLaunch:
    case CudaCallClass::kCopyAsync:
    case CudaCallClass::kCopySync:
    case CudaCallClass::kMemset: {
      const uint32_t number = StreamNumber(call.object, thread);
      if (IsBlockingCopy(call)) {
        // What was in the stream before the copy has happened too when it returns.
        WaitForStream(call, number, nullptr, delivery);
      }
      if (!Enqueue(call, number) || !IsBlockingCopy(call)) return false;
      if (CopiesToHost(call)) delivery->copies.push_back(streams_[number].unread.back());
      return Deliver(delivery, context);
    }
    case CudaCallClass::kEventRecord: {
      const uint32_t number = StreamNumber(call.object, thread);
      if (events_.size() >= kMaxEvents && !events_.contains(call.argument)) {
        const HostNs old = call.end - 10'000'000'000;
        absl::erase_if(events_, [old](const auto& entry) { return entry.second.last.recorded < old; });
        if (events_.size() >= kMaxEvents) events_.clear();
      }
      Event& event = events_[call.argument];
      event.before = std::move(event.last);
      Stream& stream = streams_[number];
      event.last = {stream.clock, stream.frontier, {}, call.end};
      Collect(stream.unread, INT64_MAX, &event.last.unread);
      return false;
    }
    case CudaCallClass::kStreamWaitEvent: {
      const auto found = events_.find(call.argument);
      if (found == events_.end()) return false;
      const Snapshot& snapshot = found->second.last;
      Stream& stream = streams_[StreamNumber(call.object, thread)];
      stream.clock.Join(snapshot.clock);
      stream.frontier.Join(snapshot.frontier);
      // Read-backs before the event are before everything that this stream does from now on.
      for (const ReadBack& copy : snapshot.unread) {
        if (!WasRead(copy) && stream.unread.size() < kMaxUnread) stream.unread.push_back(copy);
      }
      return false;
    }
    case CudaCallClass::kSyncDevice:
      WaitForDevice(call, context, delivery);
      return Deliver(delivery, context);
    case CudaCallClass::kSyncStream:
    case CudaCallClass::kQueryStream:
      WaitForStream(call, StreamNumber(call.object, thread), context, delivery);
      return Deliver(delivery, context);
    case CudaCallClass::kSyncEvent:
    case CudaCallClass::kQueryEvent:
      return WaitForEvent(call, context, delivery) && Deliver(delivery, context);
    default:
      return false;
  }
}

}  // namespace stallscope
