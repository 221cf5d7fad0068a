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

void UnfinishedRecords::Push(const Held& held) {
  bool look = false;
  {
    std::lock_guard lock(mutex_);
    held_.push_back(held);
    if (FaultOn(Fault::kEndlessKernel) && held.completed_offset != 0) {
      // A kernel that spins for ever: one of them, the n-th.
      static uint64_t kernels = 0;
      if (++kernels == ActiveFaults().Parameter(Fault::kEndlessKernel)) held_.back().span.end_ns = kNever;
    }
    look = held_.size() >= look_again_at_;
    if (look) look_again_at_ = held_.size() + kBatch;
  }
  if (look) ReleaseFinished();
}

void UnfinishedRecords::WriteRecord(Held* held, bool finished) {
  uint64_t begin = StampOf(held->span.begin_ns);
  uint64_t end = finished ? StampOf(held->span.end_ns) : 0;
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
  uint32_t kind;
  std::memcpy(&kind, held->bytes, sizeof kind);
  buffers_->Write(kind, held->bytes);
}

void UnfinishedRecords::Release(uint64_t until_ns, bool also_unfinished) {
  std::vector<Held> released;
  {
    std::lock_guard lock(mutex_);
    const auto finished = [until_ns](const Held& held) { return held.span.end_ns <= until_ns; };
    if (also_unfinished) {
      released.swap(held_);
    } else if (FaultOn(Fault::kWithheldBuffers) && !std::all_of(held_.begin(), held_.end(), finished)) {
      return;  // one unfinished record withholds all that share its buffer
    } else {
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
  for (Held& held : released) WriteRecord(&held, held.span.end_ns <= until_ns);
}

void UnfinishedRecords::ReleaseFinished() { Release(Simulator::Get().clock().SharedNowNs(), false); }
void UnfinishedRecords::ReleaseAll() { Release(Simulator::Get().clock().SharedNowNs(), true); }

}  // namespace simgpu::cupti
