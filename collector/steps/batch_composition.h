// What a step's batch consisted of, as inference servers write it into NVTX ranges and log lines.
//
// vLLM names each execution of the model when a profile was started (torch.cuda.nvtx), TensorRT-LLM each forward step of
// its executor (domain "TensorRT-LLM"); SGLang has no such range, but its log lines say the same. Tokens are those that
// were scheduled: with speculative decoding more than are accepted. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallscope {

struct BatchComposition {
  enum class Source : uint8_t { kVllm, kTensorRtLlm, kSglang };
  Source source = Source::kVllm;
  std::optional<uint64_t> iteration;
  uint64_t context_requests = 0, generation_requests = 0;  // prefilling, decoding
  std::optional<uint64_t> context_tokens, generation_tokens;
};

// nullopt for any other text, also for one that only begins like one of these.
std::optional<BatchComposition> ParseBatchComposition(std::string_view text);

// "vLLM".
const char* NameOf(BatchComposition::Source source);

}  // namespace stallscope
