#include "collector/timeline/kernel_class.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace stallscope {
namespace {

TEST(ClassifyKernel, LlamaCppKernels_FallIntoTheirLines) {
  const std::map<std::string, Line> expected = {
      {"void mul_mat_vec_q<(ggml_type)12, 1, false, false>(void const*, void const*, int const*)", Line::kGpuGemm},
      {"void mul_mat_q<(ggml_type)2, 64, false>(char const*, int const*)", Line::kGpuGemm},
      {"void mul_mat_q_stream_k_fixup<(ggml_type)2, 64, false>(int const*)", Line::kGpuGemm},
      {"void mul_mat_vec_f<__half, __half, 1, 256>(__half const*, float const*)", Line::kGpuGemm},
      {"void mul_mat_f<__half2, 32, 1, 4>(__half2 const*)", Line::kGpuGemm},
      {"void rms_norm_f32<1024, true, false>(float const*, float*, int)", Line::kGpuNormAct},
      {"void rope_norm<true, false, float, float>(float const*)", Line::kGpuNormAct},
      {"void rope_neox<true, false, float, float>(float const*)", Line::kGpuNormAct},
      {"void soft_max_f32<true, 32, 32, __half>(float const*, __half const*, float*)", Line::kGpuAttention},
      {"void flash_attn_ext_f16<64, 64, 16, 1, false>(char const*)", Line::kGpuAttention},
      {"void flash_attn_ext_vec<128, 1, (ggml_type)1, (ggml_type)1, false>(char const*)", Line::kGpuAttention},
      {"void flash_attn_combine_results<64>(float const*, float2 const*)", Line::kGpuAttention},
      {"void cpy_f32_f16<&cpy_1_f32_f16>(char const*, char*)", Line::kGpuKvCache},
      {"void k_set_rows<float, long, __half>(float const*)", Line::kGpuKvCache},
      {"void set_rows_cuda_quant<long, block_q8_0, 32>(float const*)", Line::kGpuKvCache},
      {"void k_get_rows_float<__half, float>(__half const*)", Line::kGpuOther},
      {"void k_get_rows<32, 2, &dequantize_q4_0, float>(void const*)", Line::kGpuOther},
      {"quantize_q8_1(float const*, void*, long)", Line::kGpuQuant},
      {"void quantize_mmq_q8_1<(mmq_q8_1_ds_layout)0>(float const*, int const*, void*)", Line::kGpuQuant},
      {"void dequantize_block_q4_K<__half>(void const*, __half*)", Line::kGpuQuant},
      {"void convert_unary<float, __half>(void const*, __half*)", Line::kGpuOther},
      {"void k_bin_bcast<&op_add, float, float, float>(float const*)", Line::kGpuNormAct},
      {"void unary_gated_op_kernel<&op_silu, float>(float const*)", Line::kGpuNormAct},
      {"void k_sum_rows_f32(float const*)", Line::kGpuNormAct},
      {"void argmax_f32(float const*, int*)", Line::kGpuSampling},
      {"void mul_mat_vec_q_moe<(ggml_type)12>(void const*)", Line::kGpuMoe},
      {"void mm_ids_helper<4>(int const*)", Line::kGpuMoe},
      {"void topk_moe_cuda<64, true>(float const*)", Line::kGpuMoe},
  };
  for (const auto& [name, line] : expected) {
    EXPECT_EQ(LineName(ClassifyKernel(name)), LineName(line)) << name;
  }
}

TEST(ClassifyKernel, KernelsOfTheReferenceStory) {
  EXPECT_EQ(ClassifyKernel("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>"),
            Line::kGpuGemm);
  EXPECT_EQ(ClassifyKernel("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>"),
            Line::kGpuFill);
  EXPECT_EQ(ClassifyKernel("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_silu_1"), Line::kGpuNormAct);
  EXPECT_EQ(ClassifyKernel("void cutlass::device_kernel<GemmUniversal<cutlass::gemm::GroupProblemShape<int>>>"),
            Line::kGpuMoe);
}

TEST(ClassifyKernel, MisleadingNames_AreNotMisled) {
  EXPECT_EQ(ClassifyKernel("void at::native::distribution_elementwise_grid_stride_kernel<normal_distribution>"),
            Line::kGpuSampling);
  EXPECT_EQ(ClassifyKernel("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>"), Line::kGpuKvCache);
  EXPECT_EQ(ClassifyKernel("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext"),
            Line::kGpuAttention);
  EXPECT_EQ(ClassifyKernel("anything_else"), Line::kGpuOther);
  EXPECT_EQ(ClassifyKernel(""), Line::kGpuOther);
}

// Labels by hand of real kernel names, from outside the repository. A label may name several classes: any of them is
// right. Classes that are no line of ours are mapped to the lines that kernel_class.cc says they belong to.
TEST(ClassifyKernel, HandLabelledNames_AtLeast95Percent) {
  const char* folder = std::getenv("STALLSCOPE_DATA");
  const char* source = std::getenv("STALLSCOPE_SOURCE");
  const std::string path =
      folder != nullptr ? std::string(folder) : std::string(source == nullptr ? "." : source) + "/../shared/data";
  std::ifstream file(path + "/names/gold.tsv");
  if (!file) GTEST_SKIP() << "no hand-labelled names at " << path << "/names/gold.tsv (set STALLSCOPE_DATA)";
  const std::map<std::string, std::set<Line>> lines_of_label = {
      {"gemm", {Line::kGpuGemm}},
      {"conv", {Line::kGpuGemm}},
      {"attention", {Line::kGpuAttention}},
      {"moe", {Line::kGpuMoe}},
      {"norm", {Line::kGpuNormAct}},
      {"rope", {Line::kGpuNormAct}},
      {"elementwise", {Line::kGpuNormAct}},
      {"reduction", {Line::kGpuNormAct}},
      {"softmax", {Line::kGpuNormAct, Line::kGpuAttention, Line::kGpuSampling}},
      {"optimizer", {Line::kGpuNormAct}},
      {"fill", {Line::kGpuFill}},
      {"quantize", {Line::kGpuQuant}},
      {"kv_cache", {Line::kGpuKvCache}},
      {"sampling", {Line::kGpuSampling}},
      {"sort", {Line::kGpuSampling}},
      {"collective", {Line::kGpuCollective}},
      {"copy", {Line::kGpuOther}},
      {"gather", {Line::kGpuOther}},
  };
  int right = 0, total = 0;
  std::string row;
  std::getline(file, row);  // header
  while (std::getline(file, row)) {
    const size_t tab = row.find('\t');
    if (tab == std::string::npos) continue;
    const std::string labels = row.substr(0, tab), name = row.substr(tab + 1);
    std::set<Line> accepted;
    for (size_t at = 0; at <= labels.size();) {
      const size_t bar = std::min(labels.find('|', at), labels.size());
      const auto found = lines_of_label.find(labels.substr(at, bar - at));
      ASSERT_NE(found, lines_of_label.end()) << labels;
      accepted.insert(found->second.begin(), found->second.end());
      at = bar + 1;
    }
    ++total;
    const Line line = ClassifyKernel(name);
    if (accepted.count(line) > 0) {
      ++right;
    } else {
      std::printf("  %s for %s: %s\n", std::string(LineName(line)).c_str(), labels.c_str(),
                  name.substr(0, 160).c_str());
    }
  }
  ASSERT_GT(total, 200);
  std::printf("  %d of %d hand-labelled names right (%.1f %%)\n", right, total, 100.0 * right / total);
  EXPECT_GE(right * 100, total * 95);
}

}  // namespace
}  // namespace stallscope
