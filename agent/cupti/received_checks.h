// What tests of the whole CUDA side expect of what arrived.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "agent/cupti/received_frames.h"
#include "proto/wire/calls.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {

inline bool Enqueues(const ReceivedCall& call) {
  const auto call_class = static_cast<wire::CudaCallClass>(call.call_class);
  return call.result == 0 && (call.flags & wire::kCudaFlagCapturing) == 0 &&
         (call_class == wire::CudaCallClass::kLaunch || call_class == wire::CudaCallClass::kGraphLaunch ||
          call_class == wire::CudaCallClass::kCopyAsync || call_class == wire::CudaCallClass::kCopySync ||
          call_class == wire::CudaCallClass::kMemset);
}

// Every enqueueing call has its GPU work, every piece of GPU work its one call, and none begins before the call did.
inline void ExpectOneCallForEachOperation(const Received& received) {
  std::map<uint32_t, const ReceivedCall*> by_id;
  for (const ReceivedCall& call : received.calls) {
    if (call.correlation_id == 0) continue;
    EXPECT_TRUE(by_id.emplace(call.correlation_id, &call).second) << call.name << " shares id " << call.correlation_id;
  }
  std::set<uint32_t> done;
  for (const ReceivedOp& op : received.ops) {
    const auto call = by_id.find(op.correlation_id);
    ASSERT_NE(call, by_id.end()) << "GPU work of kind " << op.kind << " without a call, id " << op.correlation_id;
    if (op.kind == static_cast<uint32_t>(wire::GpuOpKind::kSync)) continue;
    EXPECT_GE(op.begin_ns, call->second->begin_ns) << call->second->name;
    done.insert(op.correlation_id);
  }
  for (const ReceivedCall& call : received.calls) {
    if (!Enqueues(call)) continue;
    EXPECT_EQ(done.count(call.correlation_id), 1u) << call.name << " has no GPU work, id " << call.correlation_id;
  }
}

inline uint64_t CounterOf(const Received& received, wire::Counter counter) {
  const auto index = static_cast<size_t>(counter);
  return index < received.counters.size() ? received.counters[index] : 0;
}

}  // namespace stallscope::agent
