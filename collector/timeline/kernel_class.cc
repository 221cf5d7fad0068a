#include "collector/timeline/kernel_class.h"

#include <cctype>
#include <string>

namespace stallscope {
namespace {

// Rules are tried from the top; the first whose text occurs in the lower-cased name decides. Order matters because the
// names of template kernels hold the names of everything they are built from: a flash-attention kernel names CUTLASS
// types, a fused normalisation names the quantiser that it feeds, a fill is an "elementwise" kernel.
//
// What the lines mean for kernels that are neither:
//   norm_act   normalisation, activation, rotary embedding, and the elementwise arithmetic and reductions between the
//   big kernels kv_cache   writes into (and moves within) the key/value cache sampling   from scores to token ids:
//   top-k, sort, cumulative sums, random draws, softmax over a vocabulary other      copies, gathers and transposes
//   done by kernels, and names that no rule knows
struct Rule {
  std::string_view text;
  Line line;
};

constexpr Rule kRules[] = {
    // NCCL, NVSHMEM, and the all-reduce kernels of vLLM, FlashInfer and TensorRT-LLM.
    {"nccl", Line::kGpuCollective},
    {"nvshmem", Line::kGpuCollective},
    {"rccl", Line::kGpuCollective},
    {"allreduce", Line::kGpuCollective},
    {"all_reduce", Line::kGpuCollective},
    {"allgather", Line::kGpuCollective},
    {"all_gather", Line::kGpuCollective},
    {"reduce_scatter", Line::kGpuCollective},
    {"reducescatter", Line::kGpuCollective},
    {"alltoall", Line::kGpuCollective},
    {"cross_device_reduce", Line::kGpuCollective},
    {"multimem", Line::kGpuCollective},

    // Cache writers name "flash" or "mla" after the layout that they write, so they stand before attention.
    {"reshape_and_cache", Line::kGpuKvCache},
    {"concat_and_cache", Line::kGpuKvCache},
    {"store_kv", Line::kGpuKvCache},
    {"storekvcache", Line::kGpuKvCache},
    {"append_paged_kv", Line::kGpuKvCache},
    {"appendpagedkv", Line::kGpuKvCache},
    {"swap_blocks", Line::kGpuKvCache},
    {"copy_blocks", Line::kGpuKvCache},
    {"set_rows", Line::kGpuKvCache},     // llama.cpp writes K and V rows with it
    {"cpy_f32_f16", Line::kGpuKvCache},  // ... and did so with these before
    {"cpy_f32_q", Line::kGpuKvCache},

    // Experts: routing, permutation and the grouped matrix products. mul_mat_id and mm_ids are llama.cpp's.
    {"mul_mat_id", Line::kGpuMoe},
    {"mm_ids", Line::kGpuMoe},
    {"matmul_ogs", Line::kGpuMoe},
    {"moe", Line::kGpuMoe},
    {"expert", Line::kGpuMoe},
    {"routing", Line::kGpuMoe},
    {"topkgating", Line::kGpuMoe},
    {"topk_softmax", Line::kGpuMoe},
    {"groupproblemshape", Line::kGpuMoe},
    {"grouped_gemm", Line::kGpuMoe},
    {"groupedgemm", Line::kGpuMoe},

    {"fmha", Line::kGpuAttention},
    {"flash_fwd", Line::kGpuAttention},
    {"flash_attn", Line::kGpuAttention},
    {"flash_bwd", Line::kGpuAttention},
    {"flashattn", Line::kGpuAttention},
    {"attention", Line::kGpuAttention},
    {"flash_mla", Line::kGpuAttention},
    {"flashmla", Line::kGpuAttention},
    {"mla_decode", Line::kGpuAttention},
    {"batchprefill", Line::kGpuAttention},
    {"batchdecode", Line::kGpuAttention},
    {"singleprefill", Line::kGpuAttention},
    {"singledecode", Line::kGpuAttention},
    {"mergestates", Line::kGpuAttention},
    {"merge_attn_states", Line::kGpuAttention},
    {"_attn_", Line::kGpuAttention},
    {"soft_max", Line::kGpuAttention},  // llama.cpp without flash attention

    {"kv_cache", Line::kGpuKvCache},
    {"kvcache", Line::kGpuKvCache},

    {"fillfunctor", Line::kGpuFill},
    {"__fill::functor", Line::kGpuFill},
    {"fill_kernel", Line::kGpuFill},
    {"fill_f", Line::kGpuFill},
    {"memset", Line::kGpuFill},
    {"zero_kernel", Line::kGpuFill},
    {"zeros_kernel", Line::kGpuFill},

    {"argmax", Line::kGpuSampling},
    {"argmin", Line::kGpuSampling},
    {"argsort", Line::kGpuSampling},
    {"topk", Line::kGpuSampling},
    {"top_k", Line::kGpuSampling},
    {"topp", Line::kGpuSampling},
    {"top_p", Line::kGpuSampling},
    {"sampl", Line::kGpuSampling},
    {"sort", Line::kGpuSampling},
    {"multinomial", Line::kGpuSampling},
    {"distribution_", Line::kGpuSampling},  // at::native random draws; "normal_distribution" is no normalisation
    {"exponential", Line::kGpuSampling},
    {"penalt", Line::kGpuSampling},
    {"gumbel", Line::kGpuSampling},
    {"rejection", Line::kGpuSampling},
    {"cumsum", Line::kGpuSampling},
    {"devicescan", Line::kGpuSampling},
    {"scan_innermost", Line::kGpuSampling},
    {"radixselect", Line::kGpuSampling},
    {"radixsort", Line::kGpuSampling},
    {"cunn_softmax", Line::kGpuSampling},  // rows above 1024: a vocabulary

    // Quantisers whose names would fall to a matrix product below.
    {"quantize_mmq", Line::kGpuQuant},
    {"quantize_q8", Line::kGpuQuant},
    {"dequantize_block", Line::kGpuQuant},

    {"mul_mat", Line::kGpuGemm},
    {"mmq", Line::kGpuGemm},
    {"mmvq", Line::kGpuGemm},
    {"mmvf", Line::kGpuGemm},
    {"gemm", Line::kGpuGemm},
    {"gemv", Line::kGpuGemm},
    {"gemvn", Line::kGpuGemm},
    {"matmul", Line::kGpuGemm},
    {"cijk_", Line::kGpuGemm},  // hipBLASLt
    {"nvjet", Line::kGpuGemm},  // cuBLAS 12.8 and later
    {"xmma", Line::kGpuGemm},
    {"cublas", Line::kGpuGemm},
    {"cutlass::kernel", Line::kGpuGemm},
    {"cutlass::device_kernel", Line::kGpuGemm},
    {"cutlass_", Line::kGpuGemm},
    {"7cutlass13device_kernel", Line::kGpuGemm},
    {"s16816", Line::kGpuGemm},
    {"s161616", Line::kGpuGemm},
    {"s1688", Line::kGpuGemm},
    {"splitk", Line::kGpuGemm},
    {"bmm_", Line::kGpuGemm},
    {"marlin", Line::kGpuGemm},
    {"machete", Line::kGpuGemm},
    {"triton_mm", Line::kGpuGemm},
    {"triton_tem_", Line::kGpuGemm},
    {"dot_kernel", Line::kGpuGemm},
    {"conv", Line::kGpuGemm},  // convolutions of vision encoders; "convert" is taken out below
    {"dgrad", Line::kGpuGemm},
    {"wgrad", Line::kGpuGemm},
    {"winograd", Line::kGpuGemm},
    {"scudnn", Line::kGpuGemm},

    {"norm", Line::kGpuNormAct},
    {"cudnn::bn_", Line::kGpuNormAct},

    // Inductor's fused kernels list what they fuse ("to_copy", "index"), which says little about what they are.
    {"triton_poi_", Line::kGpuNormAct},
    {"triton_red_", Line::kGpuNormAct},
    {"triton_per_", Line::kGpuNormAct},

    {"get_rows", Line::kGpuOther},  // names its dequantiser
    {"quant", Line::kGpuQuant},
    {"fp4_cvt", Line::kGpuQuant},
    {"cvt_fp16_to_fp4", Line::kGpuQuant},

    {"catarray", Line::kGpuOther},
    {"copy", Line::kGpuOther},
    {"gather", Line::kGpuOther},
    {"scatter", Line::kGpuOther},
    {"index", Line::kGpuOther},
    {"transpose", Line::kGpuOther},
    {"nchw", Line::kGpuOther},
    {"cpy_", Line::kGpuOther},

    {"silu", Line::kGpuNormAct},
    {"gelu", Line::kGpuNormAct},
    {"relu", Line::kGpuNormAct},
    {"swiglu", Line::kGpuNormAct},
    {"glu", Line::kGpuNormAct},
    {"act_and_mul", Line::kGpuNormAct},
    {"activation", Line::kGpuNormAct},
    {"sigmoid", Line::kGpuNormAct},
    {"rope", Line::kGpuNormAct},
    {"rotary", Line::kGpuNormAct},
    {"softmax", Line::kGpuNormAct},
    {"elementwise", Line::kGpuNormAct},
    {"multi_tensor_apply", Line::kGpuNormAct},
    {"reduce", Line::kGpuNormAct},
    {"sum_rows", Line::kGpuNormAct},
    {"k_bin_bcast", Line::kGpuNormAct},
    {"unary_op", Line::kGpuNormAct},
    {"scale_f32", Line::kGpuNormAct},
};

}  // namespace

Line ClassifyKernel(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // "convert" holds "conv" but multiplies nothing.
  for (size_t at = 0; (at = lower.find("convert", at)) != std::string::npos;) lower.erase(at, 7);
  for (const Rule& rule : kRules) {
    if (lower.find(rule.text) != std::string::npos) return rule.line;
  }
  return Line::kGpuOther;
}

}  // namespace stallscope
