#include "tests/simgpu/codegen/parse_headers.h"

#include <gtest/gtest.h>

namespace simgpu::codegen {
namespace {

TEST(ParsePrototypes, ParametersKeepTypeAndNameAndLoseDefaults) {
  const auto found = ParsePrototypes(
      "extern cudaError_t cudaA(void **p, const struct S *q, unsigned int flags = 0);\n"
      "extern cudaError_t cudaB(void);\nextern const char *cudaC(int x);",
      "cudaError_t", "cuda");
  ASSERT_EQ(found.size(), 2u);
  ASSERT_EQ(found[0].parameters.size(), 3u);
  EXPECT_EQ(found[0].parameters[1].declaration, "const struct S *q");
  EXPECT_EQ(found[0].parameters[2].declaration, "unsigned int flags");
  EXPECT_EQ(found[0].parameters[2].name, "flags");
  EXPECT_TRUE(found[1].parameters.empty());
}

TEST(ParsePrototypes, DeclaredTwice_CountsOnce) {
  EXPECT_EQ(ParsePrototypes("cudaError_t cudaA(int a); cudaError_t cudaA(int a);", "cudaError_t", "cuda").size(), 1u);
}

TEST(ParseCallbackIds, MarkersAreLeftOut) {
  const auto ids = ParseCallbackIds(" P_INVALID = 0,\n P_cudaA_v3020   = 20,\n P_SIZE = 21,\n", "P_");
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_EQ(ids[0].name, "cudaA_v3020");
  EXPECT_EQ(ids[0].number, 20);
}

TEST(NewestByFunction, LaterVersionWins) {
  const auto newest = NewestByFunction({{"cudaA_v3020", 4}, {"cudaA_v12000", 440}, {"cudaA_v2_v11000", 9}});
  EXPECT_EQ(newest.at("cudaA").number, 440);
  EXPECT_EQ(newest.at("cudaA_v2").number, 9);
}

TEST(FunctionForms, VersionsGoToTheFormsOfTheirAge) {
  const auto versions = ParseFunctionVersions(
      "typedef CUresult (CUDAAPI *PFN_cuMemAdvise_v8000)(int);\ntypedef CUresult (CUDAAPI "
      "*PFN_cuMemAdvise_v12020)(int);"
      "\ntypedef CUresult (CUDAAPI *PFN_cuMemcpy_v7000_ptds)(int);\ntypedef CUresult (CUDAAPI "
      "*PFN_cuMemcpy_v4000)(int);");
  const std::vector<FunctionForm> forms =
      FunctionForms(versions, {{"cuMemAdvise", {}}, {"cuMemAdvise_v2", {}}, {"cuMemcpy", {}}, {"cuMemcpy_ptds", {}}});
  ASSERT_EQ(forms.size(), 3u);
  EXPECT_EQ(forms[0].exported, "cuMemAdvise_v2");
  EXPECT_EQ(forms[0].since_version, 12020);
  EXPECT_EQ(forms[1].exported, "cuMemAdvise");
  EXPECT_EQ(forms[1].since_version, 8000);
  EXPECT_EQ(forms[2].function, "cuMemcpy");
  EXPECT_EQ(forms[2].since_version, 4000);
}

}  // namespace
}  // namespace simgpu::codegen
