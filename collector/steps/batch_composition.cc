#include "collector/steps/batch_composition.h"

#include <charconv>

namespace stallscope {
namespace {

// Reads a text from left to right; the first mismatch makes every later read fail.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool Take(std::string_view expected) {
    ok_ = ok_ && text_.substr(0, expected.size()) == expected;
    if (ok_) text_.remove_prefix(expected.size());
    return ok_;
  }
  bool TakeIf(std::string_view expected) {
    return ok_ && text_.substr(0, expected.size()) == expected && Take(expected);
  }
  uint64_t Number() {
    uint64_t number = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    ok_ = ok_ && code == std::errc();
    if (ok_) text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return number;
  }
  // Everything up to `mark` and the mark itself.
  void SkipPast(std::string_view mark) {
    const size_t at = text_.find(mark);
    ok_ = ok_ && at != std::string_view::npos;
    if (ok_) text_.remove_prefix(at + mark.size());
  }
  // A number that stands behind `label` somewhere in the rest; the place does not move.
  std::optional<uint64_t> NumberBehind(std::string_view label) const {
    const size_t at = text_.find(label);
    if (!ok_ || at == std::string_view::npos) return std::nullopt;
    Reader rest(text_.substr(at + label.size()));
    const uint64_t number = rest.Number();
    return rest.ok_ ? std::optional(number) : std::nullopt;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

using Source = BatchComposition::Source;

// "execute_context_2(512)_generation_30(30)", and with --profiler-config's detailed annotation
// "execute_542_context_2(sq512sk512sqsq131072sqsk131072)_generation_30(sq30sk3000sqsq30sqsk3000)": sq is the sum of the
// requests' new tokens.
std::optional<BatchComposition> ParseVllm(std::string_view text) {
  BatchComposition batch;
  Reader reader(text);
  if (!reader.Take("execute_")) return std::nullopt;
  const bool detailed = !reader.TakeIf("context_");
  if (detailed) {
    reader.Number();
    reader.Take("_context_");
  }
  const auto tokens = [&reader, detailed] {
    reader.Take("(");
    if (detailed) reader.Take("sq");
    const uint64_t number = reader.Number();
    if (detailed) {
      reader.SkipPast(")");
    } else {
      reader.Take(")");
    }
    return number;
  };
  batch.context_requests = reader.Number();
  batch.context_tokens = tokens();
  reader.Take("_generation_");
  batch.generation_requests = reader.Number();
  batch.generation_tokens = tokens();
  return reader.AtEnd() ? std::optional(batch) : std::nullopt;
}

// "[Executor] _forward_step 17: 2 ctx reqs, 30 gen reqs"; newer "..., 512 ctx tokens, 30 gen reqs"; older without the
// step's number.
std::optional<BatchComposition> ParseTensorRtLlm(std::string_view text) {
  BatchComposition batch;
  batch.source = Source::kTensorRtLlm;
  Reader reader(text);
  if (!reader.Take("[Executor] _forward_step")) return std::nullopt;
  if (!reader.TakeIf(":")) {
    reader.Take(" ");
    batch.iteration = reader.Number();
    reader.Take(":");
  }
  reader.Take(" ");
  batch.context_requests = reader.Number();
  reader.Take(" ctx reqs, ");
  const uint64_t number = reader.Number();
  if (reader.TakeIf(" ctx tokens, ")) {
    batch.context_tokens = number;
    batch.generation_requests = reader.Number();
  } else {
    batch.generation_requests = number;
  }
  reader.Take(" gen reqs");
  return reader.AtEnd() ? std::optional(batch) : std::nullopt;
}

// "Decode batch, #running-req: 31, #token: 4096, token usage: 0.12, ..." (newer ones number the batch: "Decode batch [7],")
// and "Prefill batch, #new-seq: 2, #new-token: 512, #cached-token: 0, token usage: 0.05, #running-req: 29, ...".
std::optional<BatchComposition> ParseSglang(std::string_view text) {
  BatchComposition batch;
  batch.source = Source::kSglang;
  Reader reader(text);
  const bool decode = reader.TakeIf("Decode batch");
  if (!decode && !reader.Take("Prefill batch")) return std::nullopt;
  if (reader.TakeIf(" [")) {
    batch.iteration = reader.Number();
    reader.Take("]");
  }
  if (!reader.Take(",")) return std::nullopt;
  const std::optional<uint64_t> running = reader.NumberBehind("#running-req: ");
  if (decode) {
    if (!running.has_value()) return std::nullopt;
    batch.generation_requests = *running;
    return batch;
  }
  const std::optional<uint64_t> sequences = reader.NumberBehind("#new-seq: ");
  if (!sequences.has_value()) return std::nullopt;
  batch.context_requests = *sequences;
  batch.context_tokens = reader.NumberBehind("#new-token: ");
  return batch;
}

}  // namespace

std::optional<BatchComposition> ParseBatchComposition(std::string_view text) {
  if (text.empty()) return std::nullopt;
  switch (text.front()) {
    case 'e':
      return ParseVllm(text);
    case '[':
      return ParseTensorRtLlm(text);
    case 'D':
    case 'P':
      return ParseSglang(text);
    default:
      return std::nullopt;
  }
}

const char* NameOf(BatchComposition::Source source) {
  constexpr const char* kNames[] = {"vLLM", "TensorRT-LLM", "SGLang"};
  return kNames[static_cast<size_t>(source)];
}

}  // namespace stallscope
