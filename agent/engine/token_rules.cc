#include "agent/engine/engine_marks.h"

namespace stallscope::agent {
namespace {

// Never 0: 0 stands for "none".
uint64_t KeyOf(uint64_t context, uint32_t index) { return (context ^ (uint64_t{index} * 0x9e3779b97f4a7c15u)) | 1; }

constexpr uint32_t kAllOutputs = 0x80000000u;

}  // namespace

void TokenRules::OnDecode() noexcept {
  last_output_ = 0;
  if (all_logits_pending_ && !outputs_used_) all_logits_used_ = true;
  all_logits_pending_ = false;
}

bool TokenRules::OnOutput(uint64_t context, int32_t index) noexcept {
  outputs_used_ = true;
  const uint64_t key = KeyOf(context, static_cast<uint32_t>(index));
  if (key == last_output_) return false;
  last_output_ = key;
  return true;
}

bool TokenRules::OnAllLogits(uint64_t context) noexcept {
  if (outputs_used_) return false;
  all_logits_pending_ = true;
  if (!all_logits_used_) return false;
  const uint64_t key = KeyOf(context, kAllOutputs);
  if (key == last_output_) return false;
  last_output_ = key;
  return true;
}

}  // namespace stallscope::agent
