#include "collector/ingest/code_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/record_packer.h"
#include "collector/ingest/shm_builder.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

using ::testing::ElementsAre;

v1::Intern::Module* AddModule(v1::Intern* intern, uint32_t id, uint64_t begin, uint64_t bytes, const char* path,
                              uint32_t first, uint32_t last) {
  v1::Intern::Module* module = intern->add_modules();
  module->set_id(id);
  module->set_begin(begin);
  module->set_bytes(bytes);
  module->set_bias(begin);
  module->set_path(path);
  module->set_first_generation(first);
  module->set_last_generation(last);
  return module;
}

void AddStack(v1::Intern* intern, uint32_t id, int frames) {
  v1::Intern::Stack* stack = intern->add_stacks();
  stack->set_id(id);
  for (int i = 0; i < frames; ++i) stack->add_frames(0x1000 + static_cast<uint64_t>(i));
}

void AddCode(v1::Intern* intern, uint64_t begin, uint64_t bytes, const std::string& name) {
  v1::Intern::Code* code = intern->add_codes();
  code->set_begin(begin);
  code->set_bytes(bytes);
  code->set_name(name);
}

TEST(CodeMap, TwoModulesAtOneAddress_AreToldApartByGeneration) {
  v1::Intern intern;
  AddModule(&intern, 1, 0x10000, 0x1000, "/first.so", 1, 0);
  CodeMap map;
  map.Add(intern);
  EXPECT_EQ(map.Module(0x10010, 1)->path, "/first.so");
  EXPECT_EQ(map.Module(0x10010, 7)->path, "/first.so") << "nothing has been unloaded";
  v1::Intern later;
  AddModule(&later, 1, 0x10000, 0x1000, "/first.so", 1, 1);
  AddModule(&later, 2, 0x10000, 0x1000, "/second.so", 2, 0);
  map.Add(later);
  EXPECT_EQ(map.Module(0x10010, 1)->path, "/first.so");
  EXPECT_EQ(map.Module(0x10010, 2)->path, "/second.so");
  EXPECT_EQ(map.Module(0x11000, 2), nullptr);
  EXPECT_EQ(map.Module(0xffff, 2), nullptr);
}

TEST(CodeMap, UnknownNumbers_MeanNothing) {
  CodeMap map;
  EXPECT_EQ(map.Stack(0), nullptr);
  EXPECT_EQ(map.Stack(5), nullptr);
  EXPECT_EQ(map.Stack(~0u), nullptr);
  EXPECT_EQ(map.Module(~uint64_t{0}, ~0u), nullptr);
  EXPECT_EQ(map.CodeName(~uint64_t{0}), "");
}

TEST(CodeMap, SentAgain_KeepsTheFirst) {
  CodeMap map;
  v1::Intern intern, again;
  AddStack(&intern, 3, 2);
  AddStack(&again, 3, 5);
  map.Add(intern);
  map.Add(again);
  EXPECT_THAT(map.Stack(3)->frames, ElementsAre(0x1000, 0x1001));
}

TEST(CodeMap, NumbersOutOfRange_AreRefusedAndCounted) {
  v1::Intern intern;
  AddStack(&intern, 0, 1);
  AddStack(&intern, kIdLimit, 1);
  AddStack(&intern, 1, 0);
  AddStack(&intern, 2, CodeMap::kMaxFrames + 1);
  AddModule(&intern, 0, 0x1000, 1, "/a", 1, 0);
  AddModule(&intern, kIdLimit, 0x1000, 1, "/a", 1, 0);
  AddModule(&intern, 1, 0x1000, 0, "/a", 1, 0);
  AddModule(&intern, 2, ~uint64_t{0} - 5, 100, "/wraps", 1, 0);
  AddModule(&intern, 3, 0x1000, 1, "/a", 1, 0)->set_build_id(std::string(65, 'x'));
  AddModule(&intern, 4, 0x1000, 1, "/a", 1, 0)->set_path(std::string(kMaxStringBytes + 1, 'x'));
  AddCode(&intern, 0x1000, 0, "nothing");
  AddCode(&intern, ~uint64_t{0}, 2, "wraps");
  CodeMap map;
  map.Add(intern);
  EXPECT_EQ(map.refused(), 12u);
  EXPECT_EQ(map.Stack(2), nullptr);
  EXPECT_EQ(map.Module(0x1000, 1), nullptr);
}

TEST(CodeMap, StacksWithoutEnd_StopAtTheLimitOfMemory) {
  CodeMap map;
  uint32_t id = 1;
  for (; map.refused() == 0 && id < kIdLimit; ++id) {
    v1::Intern intern;
    AddStack(&intern, id, CodeMap::kMaxFrames);
    map.Add(intern);
  }
  EXPECT_GT(map.refused(), 0u);
  EXPECT_LT(uint64_t{id} * CodeMap::kMaxFrames * sizeof(uint64_t), 2 * CodeMap::kMaxBytes);
  EXPECT_NE(map.Stack(1), nullptr);
}

TEST(CodeMap, ModulesThatAllOverlap_DoNotMakeLookupsSlow) {
  CodeMap map;
  v1::Intern intern;
  for (uint32_t id = 1; id <= 50'000; ++id) AddModule(&intern, id, 0x1000 + id, uint64_t{1} << 40, "/x", 2, 2);
  map.Add(intern);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(map.Module(0x4000'0000, 1), nullptr);  // of another generation
}

TEST(CodeMap, CodeThatOverlaps_IsReplacedByTheLaterOne) {
  CodeMap map;
  v1::Intern intern;
  AddCode(&intern, 0x100, 0x40, "py::a");
  AddCode(&intern, 0x140, 0x40, "py::b");
  AddCode(&intern, 0x120, 0x40, "py::c");
  map.Add(intern);
  EXPECT_EQ(map.CodeName(0x121), "py::c");
  EXPECT_EQ(map.CodeName(0x15f), "py::c");
  EXPECT_EQ(map.CodeName(0x160), "");
  EXPECT_EQ(map.CodeName(0x110), "");
}

// --- a process's memory

class StacksInMemory : public ::testing::Test {
 protected:
  static ShmBuilder::Sizes Sizes() {
    ShmBuilder::Sizes sizes;
    sizes.stacks = 4;
    sizes.stack_frames = 16;
    return sizes;
  }
  StacksInMemory() : memory_(Sizes()) {
    auto image = ShmImage::Map(memory_.DuplicateFd());
    EXPECT_TRUE(image.ok()) << image.status();
    if (image.ok()) image_ = *std::move(image);
  }
  ShmBuilder memory_;
  std::unique_ptr<ShmImage> image_;
};

TEST_F(StacksInMemory, WholeStack_IsRead) {
  memory_.AddStack({0x10, 0x20, 0x30}, 7);
  const auto stack = image_->ReadStack(1);
  ASSERT_TRUE(stack.has_value());
  EXPECT_THAT(stack->frames, ElementsAre(0x10, 0x20, 0x30));
  EXPECT_EQ(stack->generation, 7u);
}

TEST_F(StacksInMemory, NumbersAndFramesOutside_AreNoStack) {
  memory_.AddStack({0x10}, 1);
  EXPECT_FALSE(image_->ReadStack(0).has_value());
  EXPECT_FALSE(image_->ReadStack(2).has_value()) << "not written yet";
  EXPECT_FALSE(image_->ReadStack(5).has_value());
  EXPECT_FALSE(image_->ReadStack(wire::kStackPending | 1).has_value());
  memory_.stack(0)->frame_count = 17;
  EXPECT_FALSE(image_->ReadStack(1).has_value());
  memory_.stack(0)->frame_count = 2;
  memory_.stack(0)->first_frame = 15;
  EXPECT_FALSE(image_->ReadStack(1).has_value());
  memory_.stack(0)->first_frame = ~0u;
  EXPECT_FALSE(image_->ReadStack(1).has_value());
}

TEST_F(StacksInMemory, TableOutsideTheMemory_RefusesTheWhole) {
  memory_.header()->stack_capacity = 1u << 30;
  EXPECT_FALSE(ShmImage::Map(memory_.DuplicateFd()).ok());
  memory_.header()->version_minor = 0;  // an agent of before has other things there
  EXPECT_TRUE(ShmImage::Map(memory_.DuplicateFd()).ok());
}

TEST_F(StacksInMemory, CurrentWait_HasTheStackOfItsOwnBegin) {
  memory_.TakeSlot(0, 100, 5, "worker");
  memory_.Block(0, wire::RecordKind::kWait, 3, 0x77, 0x1'0000'1234);
  wire::CurrentWait& current = memory_.slot(0)->current;
  EXPECT_EQ(image_->ReadCurrentWait(0)->stack, 0u);
  current.stack = 9;
  current.stack_begin_low = 0x1233;  // of the wait before
  EXPECT_EQ(image_->ReadCurrentWait(0)->stack, 0u);
  current.stack_begin_low = 0x1234;
  EXPECT_EQ(image_->ReadCurrentWait(0)->stack, 9u);
}

TEST_F(StacksInMemory, PackedRecords_BringTheirStacksOnce) {
  memory_.AddStack({0x10, 0x20}, 1);
  RawRecord wait;
  wait.kind = wire::RecordKind::kWait;
  wait.stack = 1;
  RawRecord provisional = wait;
  provisional.stack = wire::kStackPending | 3;
  ProcessRegistry registry;
  RecordPacker packer(&registry, image_.get());
  v1::Intern names, more;
  v1::Batch batch, another;
  packer.Pack({wait, wait, provisional}, ShmClock(), &names, &batch);
  ASSERT_EQ(names.stacks_size(), 1);
  EXPECT_THAT(names.stacks(0).frames(), ElementsAre(0x10, 0x20));
  EXPECT_THAT(batch.waits().stack(), ElementsAre(1, 1, 0));
  packer.Pack({wait}, ShmClock(), &more, &another);
  EXPECT_EQ(more.stacks_size(), 0);
}

}  // namespace
}  // namespace stallscope::ingest
