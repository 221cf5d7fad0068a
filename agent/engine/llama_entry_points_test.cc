// The interposed entry points in front of a library that stands in for libllama.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"
#include "agent/engine/llama_stand_in.h"

extern "C" {
int32_t llama_decode(void* context, LlamaBatch batch);
float* llama_get_logits_ith(void* context, int32_t index);
float* llama_get_logits(void* context);
int32_t llama_sampler_sample(void* sampler, void* context, int32_t index);
}

namespace stallscope::agent {
namespace {

using wire::RangeKind;

void* Symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

class LlamaEntryPoints : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    *stand_in_calls() = {};
    Fake().symbols = {{"llama_decode", Symbol("stand_in_decode")},
                      {"llama_get_logits_ith", Symbol("stand_in_get_logits_ith")},
                      {"llama_get_logits", Symbol("stand_in_get_logits")},
                      {"llama_sampler_sample", Symbol("stand_in_sampler_sample")}};
    ASSERT_NE(Fake().symbols["llama_decode"], nullptr);
  }
  int CountOf(RangeKind kind) {
    int count = 0;
    for (const RecordFields& record : Fake().records) count += record.call == static_cast<uint16_t>(kind);
    return count;
  }
};

// First: nothing is resolved yet.
TEST(LlamaEntryPointsWithoutLlama, Calls_FailAsLlamaDoes) {
  ResetFake();
  EXPECT_EQ(llama_decode(nullptr, {}), -1);
  EXPECT_EQ(llama_get_logits_ith(nullptr, 0), nullptr);
  EXPECT_EQ(llama_get_logits(nullptr), nullptr);
  EXPECT_EQ(llama_sampler_sample(nullptr, nullptr, 0), -1);
  EXPECT_TRUE(Fake().records.empty());
}

TEST_F(LlamaEntryPoints, Decode_PassesTheBatchUntouchedAndMarks) {
  int32_t token = 5, position = 6;
  int8_t wanted = 1;
  LlamaBatch batch = {
      3, &token, nullptr, &position, reinterpret_cast<int32_t*>(0x11), reinterpret_cast<int32_t**>(0x22), &wanted};
  int context = 0;
  EXPECT_EQ(llama_decode(&context, batch), 17);
  const StandInCalls& calls = *stand_in_calls();
  EXPECT_EQ(calls.decodes, 1);
  EXPECT_EQ(calls.context, &context);
  EXPECT_EQ(calls.batch.n_tokens, 3);
  EXPECT_EQ(calls.batch.token, &token);
  EXPECT_EQ(calls.batch.seq_id, reinterpret_cast<int32_t**>(0x22));
  EXPECT_EQ(calls.batch.logits, &wanted);
  ASSERT_EQ(Fake().records.size(), 1u);
  EXPECT_EQ(Fake().records[0].call, static_cast<uint16_t>(RangeKind::kEngineDecode));
  EXPECT_EQ(Fake().records[0].argument, 3u);
}

TEST_F(LlamaEntryPoints, LogitsAndSampling_CountEachTokenOnce) {
  int context = 0;
  llama_decode(&context, {});
  EXPECT_EQ(*llama_get_logits_ith(&context, 2), 3.0f);
  EXPECT_EQ(CountOf(RangeKind::kEngineToken), 1);
  EXPECT_EQ(llama_sampler_sample(nullptr, &context, 1), 2);  // reads the scores inside the library: no second token
  EXPECT_EQ(CountOf(RangeKind::kEngineToken), 2);
  EXPECT_NE(llama_get_logits(&context), nullptr);
  EXPECT_EQ(CountOf(RangeKind::kEngineToken), 2);
}

TEST_F(LlamaEntryPoints, RecordingOff_OnlyJumps) {
  Fake().recording = false;
  EXPECT_EQ(llama_decode(nullptr, {}), 17);
  EXPECT_TRUE(Fake().records.empty());
}

}  // namespace
}  // namespace stallscope::agent
