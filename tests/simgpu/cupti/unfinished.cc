#include "tests/simgpu/cupti/unfinished.h"

#include <algorithm>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {
namespace {

// Looking at what has ended costs a pass over all that is held: done once for so many new records.
constexpr size_t kBatch = 64;
constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint64_t kAbsurdNs = 100'000'000'000'000;

}  // namespace

bool UnfinishedRecords::AfterAdding(Held* held) {
  if (FaultOn(Fault::kEndlessKernel) && held->completed_offset != 0) {
    // A kernel that spins for ever: one of them, the n-th.
    static uint64_t kernels = 0;
    if (++kernels == ActiveFaults().Parameter(Fault::kEndlessKernel)) held->span.end_ns = kNever;
  }
  if (held_.size() < look_again_at_) return false;
  look_again_at_ = held_.size() + kBatch;
  return true;
}

void UnfinishedRecords::FillTimes(Held* held, bool finished, const StampScale& scale) {
  uint64_t begin = scale.Of(held->span.begin_ns);
  uint64_t end = finished ? scale.Of(held->span.end_ns) : 0;
  if (ActiveFaults().bits != 0) {
    if (FaultStrikes(Fault::kZeroTimes)) begin = end = 0;
    if (FaultStrikes(Fault::kReversedTimes)) std::swap(begin, end);
    if (FaultStrikes(Fault::kAbsurdTimes)) begin += kAbsurdNs, end += kAbsurdNs;
    if (FaultOn(Fault::kEarlyRecords)) {
      begin -= ActiveFaults().Parameter(Fault::kEarlyRecords);
      end -= ActiveFaults().Parameter(Fault::kEarlyRecords);
    }
  }
  std::memcpy(held->bytes + held->start_offset, &begin, sizeof begin);
  std::memcpy(held->bytes + held->end_offset, &end, sizeof end);
  if (held->completed_offset != 0) std::memcpy(held->bytes + held->completed_offset, &end, sizeof end);
}

void UnfinishedRecords::Release(uint64_t until_ns, bool also_unfinished) {
  std::vector<Held> released;
  {
    std::lock_guard lock(mutex_);
    const auto finished = [until_ns](const Held& held) { return held.span.end_ns <= until_ns; };
    const bool all = also_unfinished || std::all_of(held_.begin(), held_.end(), finished);
    if (all) {
      released.swap(held_);
      held_.swap(room_);
    } else if (FaultOn(Fault::kWithheldBuffers)) {
      return;  // one unfinished record withholds all that share its buffer
    } else {
      released.swap(room_);
      size_t kept = 0;
      for (size_t i = 0; i < held_.size(); ++i) {
        if (finished(held_[i])) {
          released.push_back(held_[i]);
        } else {
          if (kept != i) held_[kept] = held_[i];
          ++kept;
        }
      }
      held_.resize(kept);
    }
    look_again_at_ = held_.size() + kBatch;
  }
  // Unlocked: writing may ask the client for a buffer.
  if (released.empty()) return;
  const StampScale scale = CurrentScale();
  for (Held& held : released) FillTimes(&held, held.span.end_ns <= until_ns, scale);
  buffers_->WriteMany(released.size(), [&released](size_t i) { return released[i].bytes; });
  released.clear();
  std::lock_guard lock(mutex_);
  if (room_.capacity() < released.capacity()) room_.swap(released);
}

void UnfinishedRecords::ReleaseFinished() { Release(Simulator::Get().clock().SharedNowNs(), false); }
void UnfinishedRecords::ReleaseAll() { Release(Simulator::Get().clock().SharedNowNs(), true); }

}  // namespace simgpu::cupti
