// The simulated libcupti against the real one of the same CUDA version, whose parser and names need no GPU. One run of
// this program a version: SIMGPU_CUPTI_LAYOUT says which, SIMGPU_REAL_CUPTI where the real library is. Skipped where it is
// not installed (tools/setup fetches it).
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simgpu/cupti/activity_client.h"
#include "tests/simgpu/cupti/layout.h"

namespace simgpu::cupti {
namespace {

using NextRecordFunction = CUptiResult (*)(uint8_t*, size_t, CUpti_Activity**);

std::string Version() {
  const char* version = std::getenv("SIMGPU_CUPTI_LAYOUT");
  return version == nullptr || *version == '\0' ? "13.0" : version;
}
int VersionIndex() {
  for (int i = 0; i < kVersionCount; ++i) {
    if (Version() == kVersions[i]) return i;
  }
  return -1;
}

// Every record with all its bytes, as long as the parser's own steps say.
std::vector<Bytes> Walk(std::vector<Bytes> buffers, NextRecordFunction next) {
  std::vector<Bytes> records;
  for (Bytes& buffer : buffers) {
    CUpti_Activity* record = nullptr;
    uint8_t* begin = nullptr;
    CUptiResult result;
    while ((result = next(buffer.data(), buffer.size(), &record)) == CUPTI_SUCCESS) {
      auto* here = reinterpret_cast<uint8_t*>(record);
      if (begin != nullptr) records.emplace_back(begin, here);
      begin = here;
    }
    if (begin != nullptr) records.emplace_back(begin, buffer.data() + buffer.size());
    EXPECT_EQ(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
  }
  return records;
}

uint32_t KindOf(const Bytes& record) {
  uint32_t kind;
  std::memcpy(&kind, record.data(), sizeof kind);
  return kind;
}

class CuptiOracle : public CuptiActivity {
 protected:
  void SetUp() override {
    const char* path = std::getenv("SIMGPU_REAL_CUPTI");
    if (path == nullptr || *path == '\0') GTEST_SKIP() << "there is no real libcupti to compare with";
    library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      GTEST_SKIP() << "the real libcupti of CUDA " << Version()
                   << " does not load (tools/setup --for test fetches it): " << dlerror();
    }
    real_next_ = reinterpret_cast<NextRecordFunction>(dlsym(library_, "cuptiActivityGetNextRecord"));
    ASSERT_NE(real_next_, nullptr);
    ASSERT_NE(real_next_, &cuptiActivityGetNextRecord);
    CuptiActivity::SetUp();
  }
  void* library_ = nullptr;
  NextRecordFunction real_next_ = nullptr;
};

TEST_F(CuptiOracle, RealParser_WalksTheBuffersToTheSameRecords) {
  for (CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
        CUPTI_ACTIVITY_KIND_MEMORY2}) {
    ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS);
  }
  for (CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM}) {
    ASSERT_EQ(cuptiActivityEnableAndDump(kind), CUPTI_SUCCESS);
  }
  cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 99);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  void* device;
  char host[64] = {};
  cudaMalloc(&device, 64);
  cudaGraphExec_t exec = MakeGraph(stream, 3);
  for (int i = 0; i < 100; ++i) {
    LaunchKernel(stream);
    cudaGraphLaunch(exec, stream);
    cudaMemsetAsync(device, i, 64, stream);
    cudaMemcpyAsync(host, device, 64, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  }
  cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr);
  cuptiActivityFlushAll(0);
  cuptiActivityFlushAll(0);  // the first one's own overhead record

  std::lock_guard lock(Client().mutex);
  ASSERT_GT(Client().buffers.size(), 1u);
  const auto ours = Walk(Client().buffers, cuptiActivityGetNextRecord);
  const auto real = Walk(Client().buffers, real_next_);
  EXPECT_EQ(ours, real);
  std::map<uint32_t, int> kinds;
  for (const Bytes& record : real) ++kinds[KindOf(record)];
  EXPECT_EQ(kinds.size(), 13u) << "a kind that was enabled has no record";
  EXPECT_EQ(kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 100);
  EXPECT_EQ(kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], 100);
  EXPECT_EQ(kinds[CUPTI_ACTIVITY_KIND_MEMORY2], 1);
  cudaGraphExecDestroy(exec);
  cudaFree(device);
  cudaStreamDestroy(stream);
}

// A record whose every field has bytes of its own comes through the version's layout with each field's bytes in place.
TEST_F(CuptiOracle, EachField_IsWhereTheVersionHasIt) {
  const Layout& layout = *FindLayout(Version());
  Bytes buffer;
  std::map<uint32_t, Bytes> newest_by_kind;
  for (uint32_t kind = 1; kind < kKinds; ++kind) {
    bool written_here = false;
    for (size_t i = 0; i < kFieldCount; ++i) {
      for (const uint32_t* of = KindsOf(kFields[i].kind); *of != 0; ++of) written_here |= *of == kind;
    }
    if (!written_here || layout.RecordBytes(kind) == 0) continue;
    Bytes newest(256);
    for (size_t i = 0; i < newest.size(); ++i) newest[i] = static_cast<uint8_t>(i * 7 + kind + 1);
    std::memcpy(newest.data(), &kind, sizeof kind);
    const size_t begin = buffer.size();
    buffer.resize(begin + layout.RecordBytes(kind));
    layout.Convert(kind, newest.data(), buffer.data() + begin);
    newest_by_kind[kind] = newest;
  }
  const auto records = Walk({buffer}, real_next_);
  ASSERT_EQ(records.size(), newest_by_kind.size());
  int fields = 0;
  for (const Bytes& record : records) {
    const Bytes& newest = newest_by_kind.at(KindOf(record));
    for (size_t i = 0; i < kFieldCount; ++i) {
      const Field& field = kFields[i];
      bool of_kind = false;
      for (const uint32_t* of = KindsOf(field.kind); *of != 0; ++of) of_kind |= *of == KindOf(record);
      if (!of_kind) continue;
      if (field.first <= VersionIndex() && VersionIndex() <= field.last) {
        ASSERT_LE(size_t{field.offset} + field.bytes, record.size()) << field.kind << "." << field.name;
        EXPECT_EQ(std::memcmp(record.data() + field.offset, newest.data() + field.offset, field.bytes), 0)
            << field.kind << "." << field.name;
        ++fields;
      } else if (field.offset < record.size()) {
        const Bytes zero(field.bytes);
        EXPECT_EQ(std::memcmp(record.data() + field.offset, zero.data(), field.bytes), 0)
            << field.kind << "." << field.name << " is younger than " << Version();
      }
    }
  }
  EXPECT_GT(fields, 200);
}

TEST_F(CuptiOracle, EdgesOfTheWalk_GiveTheSameAnswers) {
  for (size_t valid_bytes : {0, 1, 4, 16, 24, 32, 39, 40, 41, 64, 80, 88, 96, 176, 184, 200, 208, 216}) {
    for (uint32_t kind = 0; kind < 70; ++kind) {
      uint8_t buffer[256] = {};
      std::memcpy(buffer, &kind, sizeof kind);
      CUpti_Activity *our_record = nullptr, *real_record = nullptr;
      const CUptiResult our_result = cuptiActivityGetNextRecord(buffer, valid_bytes, &our_record);
      EXPECT_EQ(our_result, real_next_(buffer, valid_bytes, &real_record)) << "kind " << kind << " in " << valid_bytes;
      EXPECT_EQ(our_record, real_record);
    }
  }
}

TEST_F(CuptiOracle, Version_IsTheRealOnes) {
  const auto real_version = reinterpret_cast<CUptiResult (*)(uint32_t*)>(dlsym(library_, "cuptiGetVersion"));
  uint32_t ours = 0, real = 1;
  cuptiGetVersion(&ours);
  ASSERT_EQ(real_version(&real), CUPTI_SUCCESS);
  EXPECT_EQ(ours, real);
}

TEST_F(CuptiOracle, RealLibrary_GivesTheSameNames) {
  if (Version() != "13.0") GTEST_SKIP() << "names are those of CUDA 13.0 under every layout";
  using NameFunction = CUptiResult (*)(CUpti_CallbackDomain, uint32_t, const char**);
  const auto real_name = reinterpret_cast<NameFunction>(dlsym(library_, "cuptiGetCallbackName"));
  for (CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    for (uint32_t cbid = 1; cbid < 520; ++cbid) {
      const char *ours = "", *real = "";
      const CUptiResult our_result = cuptiGetCallbackName(domain, cbid, &ours);
      EXPECT_EQ(our_result, real_name(domain, cbid, &real)) << domain << " " << cbid << " " << ours << " " << real;
      EXPECT_STREQ(ours, real) << domain << " " << cbid;
    }
  }
}

}  // namespace
}  // namespace simgpu::cupti
