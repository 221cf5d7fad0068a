// What the stand-in for libllama and its test share.
#pragma once

#include <cstdint>

// The shape of llama_batch: by value, larger than two registers, so on the stack.
struct LlamaBatch {
  int32_t n_tokens;
  int32_t* token;
  float* embd;
  int32_t* pos;
  int32_t* n_seq_id;
  int32_t** seq_id;
  int8_t* logits;
};

struct StandInCalls {
  int decodes;
  void* context;
  LlamaBatch batch;
};

extern "C" StandInCalls* stand_in_calls();
