// A library with libllama's entry points, for the test: they check what reaches them.
#include "agent/engine/llama_stand_in.h"

#include <cstdint>
#include <cstring>

extern "C" float* llama_get_logits_ith(void* context, int32_t index);

static StandInCalls g_calls;
static float g_scores[4] = {1, 2, 3, 4};

extern "C" {

StandInCalls* stand_in_calls() { return &g_calls; }

int32_t stand_in_decode(void* context, LlamaBatch batch) {
  ++g_calls.decodes;
  g_calls.context = context;
  g_calls.batch = batch;
  return 17;
}

float* stand_in_get_logits_ith(void*, int32_t index) { return &g_scores[index]; }
float* stand_in_get_logits(void*) { return g_scores; }

// As libllama does: through the exported name, which leads to the interposer.
int32_t stand_in_sampler_sample(void*, void* context, int32_t index) {
  return static_cast<int32_t>(*llama_get_logits_ith(context, index));
}
}
