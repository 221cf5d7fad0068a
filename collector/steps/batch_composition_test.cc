#include "collector/steps/batch_composition.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

using Source = BatchComposition::Source;

TEST(BatchComposition, Vllm_ExecuteRange) {
  const auto batch = ParseBatchComposition("execute_context_1(512)_generation_31(35)");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->source, Source::kVllm);
  EXPECT_EQ(batch->context_requests, 1u);
  EXPECT_EQ(batch->context_tokens, 512u);
  EXPECT_EQ(batch->generation_requests, 31u);
  EXPECT_EQ(batch->generation_tokens, 35u);  // scheduled: with drafts more than one a request
}

TEST(BatchComposition, Vllm_DetailedRange) {
  const auto batch = ParseBatchComposition(
      "execute_543_context_1(sq512sk512sqsq262144sqsk262144)_generation_31(sq31sk4096sqsq31sqsk4096)");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->context_requests, 1u);
  EXPECT_EQ(batch->context_tokens, 512u);
  EXPECT_EQ(batch->generation_requests, 31u);
  EXPECT_EQ(batch->generation_tokens, 31u);
}

TEST(BatchComposition, TensorRtLlm_AllThreeForms) {
  auto batch = ParseBatchComposition("[Executor] _forward_step 128: 2 ctx reqs, 30 gen reqs");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->source, Source::kTensorRtLlm);
  EXPECT_EQ(batch->iteration, 128u);
  EXPECT_EQ(batch->context_requests, 2u);
  EXPECT_EQ(batch->generation_requests, 30u);
  EXPECT_FALSE(batch->context_tokens.has_value());
  batch = ParseBatchComposition("[Executor] _forward_step 129: 2 ctx reqs, 1024 ctx tokens, 30 gen reqs");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->context_tokens, 1024u);
  EXPECT_EQ(batch->generation_requests, 30u);
  batch = ParseBatchComposition("[Executor] _forward_step: 0 ctx reqs, 8 gen reqs");
  ASSERT_TRUE(batch.has_value());
  EXPECT_FALSE(batch->iteration.has_value());
  EXPECT_EQ(batch->generation_requests, 8u);
}

TEST(BatchComposition, Sglang_DecodeAndPrefillLines) {
  auto batch = ParseBatchComposition(
      "Decode batch, #running-req: 31, #token: 4096, token usage: 0.12, accept len: 2.50, cuda graph: True, gen "
      "throughput "
      "(token/s): 1830.5, #queue-req: 0");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->source, Source::kSglang);
  EXPECT_EQ(batch->generation_requests, 31u);
  EXPECT_FALSE(batch->generation_tokens.has_value());
  batch = ParseBatchComposition("Decode batch [40], #running-req: 2, #token: 96, token usage: 0.01");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->iteration, 40u);
  EXPECT_EQ(batch->generation_requests, 2u);
  batch = ParseBatchComposition(
      "Prefill batch, #new-seq: 2, #new-token: 1500, #cached-token: 36, token usage: 0.05, #running-req: 29, "
      "#queue-req: 1");
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->context_requests, 2u);
  EXPECT_EQ(batch->context_tokens, 1500u);
}

TEST(BatchComposition, OtherTexts_AreNotMisread) {
  for (const char* text :
       {"", "execute", "execute_", "execute_context_", "execute_context_1(512)",
        "execute_context_1(512)_generation_x(3)", "execute_context_1(512)_generation_31(35) and more",
        "execute_context_-1(5)_generation_1(1)", "execute_context_99999999999999999999(1)_generation_1(1)",
        "[Executor] _forward_step x: 1 ctx reqs, 2 gen reqs", "[Executor] _fetch_new_requests", "Decode batch",
        "Decode batch, nothing", "Prefill batch, #running-req: 1", "gpu_model_runner: forward", "Prefix"}) {
    EXPECT_FALSE(ParseBatchComposition(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace stallscope
