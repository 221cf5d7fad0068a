// What the engine entry points (llama_entry_points.cc) report: one mark for each decode, one for each token handed out.
//
// llama.cpp's public C functions are the truth about steps and tokens on any backend. Three ways lead to a token:
//   llama_get_logits_ith(ctx, i)             the scores of output i; asked again for the same output, it is the same
//   token llama_sampler_sample(sampler, ctx, i)    samples output i; calls the former inside libllama, which does not
//   count again llama_get_logits(ctx)                    all scores; most programs use it only to see that there are
//   any, so it counts only in a
//                                            process that has never used the other two
// Any thread; no lock. Functions are called by their address from assembly, before the real function runs.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// The rules above over a stream of calls, apart from recording, so that they can be tested. Racing calls of several
// threads may merge or split a token's two sightings; nothing else depends on it.
class TokenRules {
 public:
  void OnDecode() noexcept;
  // True: count a token.
  bool OnOutput(uint64_t context, int32_t index) noexcept;
  bool OnAllLogits(uint64_t context) noexcept;

 private:
  uint64_t last_output_ = 0;      // the output whose token was counted last; 0 after a decode
  bool outputs_used_ = false;     // outputs are asked for one by one
  bool all_logits_used_ = false;  // a whole step passed with nothing but llama_get_logits
  bool all_logits_pending_ = false;
};

}  // namespace stallscope::agent
