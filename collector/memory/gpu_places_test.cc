#include "collector/memory/gpu_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeviceInfo Device(uint32_t number, uint32_t multiprocessors, bool mig = false) {
  DeviceInfo device{};
  device.device = number, device.multiprocessors = multiprocessors, device.mig = mig;
  device.gpu_instance = 3, device.compute_instance = 1;
  return device;
}
ContextInfo Context(uint32_t id, uint32_t multiprocessors, bool green) {
  return {id, 0, multiprocessors, 0, false, green};
}

TEST(GpuPlaces, AWholeGpuWithoutMps_NeedsNoNotice) {
  GpuPlaces places;
  places.OnDevice(Device(0, 132));
  places.OnContext(Context(1, 132, false));
  places.OnMps(0, "");
  EXPECT_THAT(places.Notices(), IsEmpty());
  ASSERT_EQ(places.Contexts().size(), 1u);
}

TEST(GpuPlaces, APartOfAGpu_IsNamed) {
  GpuPlaces places;
  places.OnDevice(Device(0, 16, /*mig=*/true));
  EXPECT_THAT(
      places.Notices(),
      ElementsAre("GPU 0 is a part of a GPU (MIG, GPU instance 3, compute instance 1) with 16 multiprocessors"));
}

TEST(GpuPlaces, GreenContexts_AreListedUpToFour) {
  GpuPlaces places;
  places.OnDevice(Device(0, 132));
  places.OnContext(Context(1, 32, true));
  EXPECT_THAT(places.Notices(), ElementsAre("green contexts share the multiprocessors: context 1: 32 of 132"));
  for (uint32_t id = 2; id <= 6; ++id) places.OnContext(Context(id, 16, true));
  EXPECT_THAT(places.Notices(), ElementsAre(testing::AllOf(HasSubstr("context 4: 16 of 132, and 2 more"),
                                                           testing::Not(HasSubstr("context 5")))));
}

TEST(GpuPlaces, Mps_SaysWhetherKernelsAreTraced) {
  GpuPlaces places;
  places.OnMps(1, "its context says so");
  EXPECT_THAT(places.Notices(), ElementsAre(testing::AllOf(HasSubstr("(its context says so): kernels are not traced"),
                                                           HasSubstr("STALLSCOPE_MPS_KERNELS=1"))));
  places.OnMps(2, "its context says so");
  EXPECT_THAT(places.Notices(), ElementsAre(HasSubstr("kernels are traced as asked for")));
}

TEST(GpuPlaces, WhatIsTooMuch_IsForgottenButWhatIsKnownIsRenewed) {
  GpuPlaces places;
  for (uint32_t id = 1; id <= GpuPlaces::kMaxContexts + 10; ++id) places.OnContext(Context(id, 1, false));
  EXPECT_EQ(places.Contexts().size(), GpuPlaces::kMaxContexts);
  places.OnContext(Context(1, 99, true));
  EXPECT_EQ(places.Contexts().front().multiprocessors, 99u);
}

}  // namespace
}  // namespace stallscope
