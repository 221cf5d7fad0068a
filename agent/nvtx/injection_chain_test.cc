// NVTX's own header with two tools: one that was configured first, and the agent in front of it.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
//
#include <string>
#include <vector>

#include "agent/cuda/fake_agent.h"
#include "agent/nvtx/previous_tool.h"

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

namespace stallscope::agent {
namespace {

const void* NVTX_API ExportTable(uint32_t id) { return NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)(id); }

// The other tool: hands out handles of its own and writes down what it is called with.
std::vector<std::string> g_calls;
nvtxDomainHandle_t Domain() { return reinterpret_cast<nvtxDomainHandle_t>(0x7000); }
nvtxStringHandle_t Name() { return reinterpret_cast<nvtxStringHandle_t>(0x8000); }
constexpr nvtxRangeId_t kTheirRange = 4711;

int NVTX_API PushA(const char* text) {
  g_calls.push_back(std::string("push ") + text);
  return 40;
}
int NVTX_API Pop() {
  g_calls.push_back("pop");
  return 39;
}
nvtxRangeId_t NVTX_API StartA(const char* text) {
  g_calls.push_back(std::string("start ") + text);
  return kTheirRange;
}
void NVTX_API End(nvtxRangeId_t id) { g_calls.push_back("end " + std::to_string(id)); }
nvtxDomainHandle_t NVTX_API CreateA(const char* name) {
  g_calls.push_back(std::string("create ") + name);
  return Domain();
}
nvtxStringHandle_t NVTX_API RegisterA(nvtxDomainHandle_t domain, const char* text) {
  g_calls.push_back(std::string(domain == Domain() ? "register " : "register with a strange domain ") + text);
  return Name();
}
int NVTX_API DomainPush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const bool known = domain == Domain() && event->message.registered == Name();
  g_calls.push_back(known ? "domain push" : "domain push with a strange handle");
  return 1;
}

int NVTX_API Initialize(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core = nullptr, domains = nullptr;
  unsigned int count = 0;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &count);
  *core[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&PushA);
  *core[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&Pop);
  *core[NVTX_CBID_CORE_RangeStartA] = reinterpret_cast<NvtxFunctionPointer>(&StartA);
  *core[NVTX_CBID_CORE_RangeEnd] = reinterpret_cast<NvtxFunctionPointer>(&End);
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &count);
  *domains[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&CreateA);
  *domains[NVTX_CBID_CORE2_DomainRegisterStringA] = reinterpret_cast<NvtxFunctionPointer>(&RegisterA);
  *domains[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&DomainPush);
  return 1;
}

}  // namespace

NvtxInitializeInjectionNvtxFunc_t FindPreviousTool() noexcept { return Initialize; }

namespace {

class InjectionChain : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    nvtxInitialize(nullptr);
    ASSERT_EQ(InitializeInjectionNvtx2(ExportTable), 1);
  }
  void SetUp() override {
    ResetFake();
    g_calls.clear();
  }
};

TEST_F(InjectionChain, PushPop_ReachBothAndTheOtherToolAnswers) {
  EXPECT_EQ(nvtxRangePushA("decode"), 40);
  EXPECT_EQ(nvtxRangePop(), 39);
  EXPECT_EQ(g_calls, (std::vector<std::string>{"push decode", "pop"}));
  ASSERT_EQ(Fake().records.size(), 1u);
  EXPECT_EQ(Fake().strings[Fake().records[0].object - 1], "decode");
}

TEST_F(InjectionChain, StartEnd_KeepTheOtherToolsId) {
  const nvtxRangeId_t id = nvtxRangeStartA("request");
  EXPECT_EQ(id, kTheirRange);
  nvtxRangeEnd(id);
  EXPECT_EQ(g_calls, (std::vector<std::string>{"start request", "end 4711"}));
  ASSERT_EQ(Fake().records.size(), 1u);
  EXPECT_EQ(Fake().strings[Fake().records[0].object - 1], "request");
  nvtxRangeEnd(id);  // once more, by mistake: nothing of ours ends
  EXPECT_EQ(Fake().records.size(), 1u);
}

TEST_F(InjectionChain, HandlesOfTheOtherTool_AreKnownToUs) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("engine");
  EXPECT_EQ(domain, Domain());
  const nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "step");
  EXPECT_EQ(name, Name());
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = name;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);  // the other tool does not want this one
  EXPECT_EQ(g_calls, (std::vector<std::string>{"create engine", "register step", "domain push"}));
  ASSERT_EQ(Fake().records.size(), 1u);
  EXPECT_EQ(Fake().strings[Fake().records[0].detail - 1], "engine");
  EXPECT_EQ(Fake().strings[Fake().records[0].object - 1], "step");
}

TEST_F(InjectionChain, FunctionThatTheOtherToolLeftOut_ReachesUsAlone) {
  nvtxMarkA("here");
  EXPECT_TRUE(g_calls.empty());
  EXPECT_EQ(Fake().records.size(), 1u);
}

}  // namespace
}  // namespace stallscope::agent
