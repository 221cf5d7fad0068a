// Calls NVTX's own header, whose tool is this program.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
//
#include "agent/cuda/fake_agent.h"
#include "agent/nvtx/previous_tool.h"

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

namespace stallscope::agent {

NvtxInitializeInjectionNvtxFunc_t FindPreviousTool() noexcept { return nullptr; }

namespace {

const void* NVTX_API ExportTable(uint32_t id) { return NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)(id); }

class Injection : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    nvtxInitialize(nullptr);  // no tool is configured: every function is a no-op until we are injected
    ASSERT_EQ(InitializeInjectionNvtx2(ExportTable), 1);
  }
  void SetUp() override { ResetFake(); }
};

TEST_F(Injection, PushPop_ReachTheAgentWithTheirText) {
  nvtxRangePushA("decode");
  nvtxRangePop();
  ASSERT_EQ(Fake().records.size(), 1u);
  ASSERT_NE(Fake().records[0].object, 0u);
}

TEST_F(Injection, DomainRegisteredStringAndPayload_AreKept) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("engine");
  const nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "step");
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = name;
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = 32;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  ASSERT_EQ(Fake().records.size(), 1u);
  const RecordFields& record = Fake().records[0];
  ASSERT_EQ(Fake().strings.size(), 2u);
  EXPECT_EQ(Fake().strings[record.detail - 1], "engine");
  EXPECT_EQ(Fake().strings[record.object - 1], "step");
  EXPECT_EQ(record.argument, 32u);
}

TEST_F(Injection, ShortEvent_IsNotReadBeyondItsSize) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = 16;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = reinterpret_cast<const char*>(1);
  nvtxMarkEx(&event);
  ASSERT_EQ(Fake().records.size(), 1u);
  EXPECT_EQ(Fake().records[0].object, 0u);
}

}  // namespace
}  // namespace stallscope::agent
