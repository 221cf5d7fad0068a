// libcupti opened at run time, and the records it gives, whatever its version: structures are those of the 13.0 headers,
// and what an older library does not have reads as zero. One thread asks; buffers are lent on any.
#ifndef STALLSCOPE_TESTS_GPU_CUPTI_ACCESS_H_
#define STALLSCOPE_TESTS_GPU_CUPTI_ACCESS_H_

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu_probe {

#define GPU_PROBE_CUPTI(F)                  \
  F(cuptiActivityDisable)                   \
  F(cuptiActivityEnable)                    \
  F(cuptiActivityFlushAll)                  \
  F(cuptiActivityGetAttribute)              \
  F(cuptiActivityGetNextRecord)             \
  F(cuptiActivityGetNumDroppedRecords)      \
  F(cuptiActivityPopExternalCorrelationId)  \
  F(cuptiActivityPushExternalCorrelationId) \
  F(cuptiActivityRegisterCallbacks)         \
  F(cuptiActivityRegisterTimestampCallback) \
  F(cuptiEnableCallback)                    \
  F(cuptiEnableDomain)                      \
  F(cuptiGetResultString)                   \
  F(cuptiGetTimestamp)                      \
  F(cuptiGetVersion)                        \
  F(cuptiSubscribe)                         \
  F(cuptiUnsubscribe)

struct CuptiFunctions {
#define GPU_PROBE_MEMBER(name) decltype(&::name) name;
  GPU_PROBE_CUPTI(GPU_PROBE_MEMBER)
#undef GPU_PROBE_MEMBER
};

// Why a question has no answer: the message is what the report says.
class NotAnswered : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Opened at the first call; throws NotAnswered when there is none.
const CuptiFunctions& Cupti();
std::string CuptiPath();
void Check(CUptiResult result, const char* what);
void Check(cudaError_t result, const char* what);

// Registers our buffers and enables kinds.
void StartRecording(std::initializer_list<CUpti_ActivityKind> kinds);
void StopRecording(std::initializer_list<CUpti_ActivityKind> kinds);
void Flush(bool forced);

// One record with as many bytes as the library gives it.
struct RecordBytes {
  const uint8_t* bytes;
  size_t size;
};
std::vector<RecordBytes> AllRecords();
void ForgetRecords();

// The records of one kind so far, in the newest structure.
template <typename Record>
std::vector<Record> Records(CUpti_ActivityKind kind) {
  std::vector<Record> found;
  for (const RecordBytes& record : AllRecords()) {
    if (reinterpret_cast<const CUpti_Activity*>(record.bytes)->kind != kind) continue;
    Record copy;
    std::memset(&copy, 0, sizeof copy);
    std::memcpy(&copy, record.bytes, std::min(sizeof copy, record.size));
    found.push_back(copy);
  }
  return found;
}

// CLOCK_MONOTONIC.
uint64_t NowNs();

}  // namespace gpu_probe

#endif  // STALLSCOPE_TESTS_GPU_CUPTI_ACCESS_H_
