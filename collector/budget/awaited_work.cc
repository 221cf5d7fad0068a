#include "collector/budget/awaited_work.h"

#include <algorithm>

namespace stallscope {
namespace {

// Adds operations (by begin) to the account of what ran inside a call.
class Account {
 public:
  Account(const Call& call, AwaitedWork* work) : call_(call), work_(*work), covered_until_(call.begin) {
    work_.begin = call.end;
    work_.end = call.begin;
  }
  void Add(HostNs begin, HostNs end, Line line) {
    if (end <= call_.begin || begin >= call_.end) return;
    if (end > call_.end) work_.running = true;
    begin = std::max(begin, call_.begin);
    end = std::min(end, call_.end);
    work_.begin = std::min(work_.begin, begin);
    if (end > work_.end) {
      work_.end = end;
      work_.last_line = line;
    }
    work_.busy_inside_ns += std::max<int64_t>(0, end - std::max(begin, covered_until_));
    covered_until_ = std::max(covered_until_, end);
  }

 private:
  const Call& call_;
  AwaitedWork& work_;
  HostNs covered_until_;
};

}  // namespace

const SyncContext* AwaitedWorkFinder::ContextOf(const Call& call) const {
  if (call.sync_plus_one == 0 || contexts_.empty()) return nullptr;
  // The call keeps the low bits of the number; contexts live in one window of numbers.
  const uint32_t low = call.sync_plus_one - 1;
  const uint64_t number = contexts_.first() + static_cast<uint32_t>(low - static_cast<uint32_t>(contexts_.first()));
  return contexts_.Contains(number) ? &contexts_[number] : nullptr;
}

AwaitedWork AwaitedWorkFinder::Find(ThreadIndex thread, const Call& call) const {
  AwaitedWork work;
  Account account(call, &work);
  const SyncContext* context = ContextOf(call);
  if (HasFlag(call, wire::kCudaFlagNoCupti) && IsBlockingCopy(call)) return work;
  if (context != nullptr && context->no_records) return work;

  uint32_t device_id = 0;
  bool one_stream = false;
  uint32_t stream = 0;
  HostNs launched_before = call.begin;
  if (IsBlockingCopy(call)) {
    // It waits for what its stream did before it, then for itself.
    const Launch* launch = timeline_.launches().Find(call.correlation);
    if (launch == nullptr || launch->records == 0) return work;
    device_id = launch->device;
    stream = launch->stream;
    one_stream = true;
    launched_before = call.begin + 1;
  } else if (!timeline_.DeviceOfThread(thread, &device_id)) {
    return work;
  }
  if (call.call_class == wire::CudaCallClass::kSyncStream) {
    const Timeline::StreamPlace* place = timeline_.PlaceOfStream(call.object, thread);
    if (place == nullptr) {
      work.known = true;  // nothing was ever launched there
      return work;
    }
    device_id = place->device;
    stream = place->stream;
    one_stream = true;
  } else if (call.call_class == wire::CudaCallClass::kSyncEvent && context != nullptr && context->event_known) {
    // Streams work in order: what leads to the event has ended when the last launches before its record have.
    HostNs last_end = INT64_MIN;
    for (int i = 0; i < context->awaited_count; ++i) {
      const Launch* launch = timeline_.launches().Find(context->awaited[static_cast<size_t>(i)]);
      if (launch == nullptr || launch->records == 0) continue;  // long done, or late
      if (launch->last_op_end > last_end) {
        last_end = launch->last_op_end;
        device_id = launch->device;
        stream = launch->stream;
        one_stream = true;
        launched_before = launch->begin + 1;
      }
    }
    work.known = true;
    if (last_end <= call.begin) return work;
  }
  DeviceTimeline* device = timeline_.Device(device_id);
  if (device == nullptr) return work;
  work.known = true;
  HostNs last_copy_end = INT64_MIN;
  if (context != nullptr && context->last_copy != 0) {
    if (const Launch* copy = timeline_.launches().Find(context->last_copy)) last_copy_end = copy->last_op_end;
  }
  for (size_t i = device->FirstThatMayOverlap(call.begin); i < device->size(); ++i) {
    const GpuOp& op = (*device)[i];
    if (op.begin >= call.end) break;
    if (op.end <= call.begin || (one_stream && op.stream != stream)) continue;
    HostNs launch_begin = op.launch_begin;
    if (launch_begin == INT64_MIN) {
      const Launch* launch = timeline_.launches().Find(op.correlation);
      if (launch != nullptr && launch->thread != 0) launch_begin = launch->begin;
    }
    // What another thread put there after the call had begun is not waited for.
    if (launch_begin != INT64_MIN && launch_begin >= launched_before) continue;
    account.Add(op.begin, op.end, op.line);
  }
  // Only calls that wait for a whole stream or device can wait for more than the event after the copy would have.
  const bool waits_for_all =
      call.call_class == wire::CudaCallClass::kSyncDevice || call.call_class == wire::CudaCallClass::kSyncStream;
  if (waits_for_all && last_copy_end != INT64_MIN) {
    work.unneeded_ns = std::max<int64_t>(0, work.end - std::max(last_copy_end, call.begin));
  }
  return work;
}

int64_t OverWait(const Call& call, const AwaitedWork& work, int64_t skew_margin_ns) {
  if (!work.known || work.running) return 0;
  const int64_t over = call.end - std::max(call.begin, work.end);
  return over <= skew_margin_ns ? 0 : over;
}

}  // namespace stallscope
