// Names given through NVTX's own headers, whose tool is this program (injection_test.cc injects it).
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
//
#include "agent/cuda/fake_agent.h"
#include "agent/nvtx/previous_tool.h"

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

namespace stallscope::agent {
namespace {

const void* NVTX_API ExportTable(uint32_t id) { return NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)(id); }

class Names : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    nvtxInitialize(nullptr);
    ASSERT_EQ(InitializeInjectionNvtx2(ExportTable), 1);
  }
  void SetUp() override { ResetFake(); }
  static std::string Of(uint32_t kind, uint64_t value) { return Fake().names[{kind, value}]; }
};

TEST_F(Names, ThreadsStreamsContextsAndDevices_AreTold) {
  nvtxNameOsThreadA(4711, "engine loop");
  nvtxNameCudaStreamA(reinterpret_cast<cudaStream_t>(0x50), "decode");
  nvtxNameCuStreamA(reinterpret_cast<CUstream>(0x60), "copies");
  nvtxNameCuContextA(reinterpret_cast<CUcontext>(0x70), "rank 0");
  nvtxNameCudaDeviceA(1, "the big one");
  EXPECT_EQ(Of(kNamedThread, 4711), "engine loop");
  EXPECT_EQ(Of(kNamedStream, 0x50), "decode");
  EXPECT_EQ(Of(kNamedStream, 0x60), "copies");
  EXPECT_EQ(Of(kNamedContext, 0x70), "rank 0");
  EXPECT_EQ(Of(kNamedDevice, 1), "the big one");
  EXPECT_TRUE(Fake().records.empty());
}

TEST_F(Names, WideNames_AreUtf8) {
  nvtxNameCudaStreamW(reinterpret_cast<cudaStream_t>(0x50), L"d\u00e9code");
  EXPECT_EQ(Of(kNamedStream, 0x50),
            "d\xc3\xa9"
            "code");
  nvtxNameOsThreadW(1, std::wstring(5000, L'\u00e9').c_str());
  EXPECT_LT(Of(kNamedThread, 1).size(), 100u);
}

TEST_F(Names, NoName_IsNotFollowed) {
  nvtxNameOsThreadA(4711, nullptr);
  nvtxNameCudaStreamW(nullptr, nullptr);
  EXPECT_TRUE(Fake().names.empty());
}

TEST_F(Names, NotRecording_NothingIsKept) {
  Fake().recording = false;
  nvtxNameOsThreadA(4711, "engine loop");
  EXPECT_TRUE(Fake().names.empty());
}

}  // namespace
}  // namespace stallscope::agent
