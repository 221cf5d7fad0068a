#include "tools/attach/target_memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tools/attach/target_process.h"

namespace stallscope::attach {
namespace {

constexpr size_t kPage = 4096;

// Pages of this process, the last of which is not there.
class Pages {
 public:
  explicit Pages(size_t count) : bytes_((count + 1) * kPage) {
    start_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(start_ + count * kPage, kPage);
  }
  ~Pages() { munmap(start_, bytes_ - kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* start() const { return start_; }
  char* end() const { return start_ + bytes_ - kPage; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(start_); }

 private:
  const size_t bytes_;
  char* start_;
};

uint64_t AddressOf(const void* place) { return reinterpret_cast<uint64_t>(place); }

TEST(ReadMemory, AcrossTheEndOfAMapping_ReadsUpToIt) {
  const Pages pages(1);
  char buffer[64];
  EXPECT_EQ(ReadMemory(getpid(), AddressOf(pages.end() - 10), buffer, sizeof(buffer)), 10u);
  EXPECT_EQ(ReadMemory(getpid(), AddressOf(pages.end()), buffer, sizeof(buffer)), 0u);
  EXPECT_EQ(ReadMemory(getpid(), 0, buffer, sizeof(buffer)), 0u);
}

TEST(WriteMemory, IntoAPageThatIsNotWritable_SaysThatItFailed) {
  const Pages pages(1);
  const uint32_t value = 7;
  EXPECT_TRUE(WriteMemory(getpid(), pages.address(), &value, sizeof(value)));
  EXPECT_EQ(pages.start()[0], 7);
  EXPECT_FALSE(WriteMemory(getpid(), AddressOf(pages.end() - 2), &value, sizeof(value)));  // half of it
  ASSERT_EQ(mprotect(pages.start(), kPage, PROT_READ), 0);
  EXPECT_FALSE(WriteMemory(getpid(), pages.address(), &value, sizeof(value)));
}

TEST(ReadText, EndsAtItsEndMarkItsLimitOrItsPage) {
  const Pages pages(1);
  std::strcpy(pages.start(), "libcuda.so.1");
  EXPECT_EQ(ReadText(getpid(), pages.address(), 400), "libcuda.so.1");
  EXPECT_EQ(ReadText(getpid(), pages.address(), 7), "libcuda");
  std::memcpy(pages.end() - 3, "end", 3);
  EXPECT_EQ(ReadText(getpid(), AddressOf(pages.end() - 3), 400), "end");
  EXPECT_EQ(ReadText(getpid(), AddressOf(pages.end()), 400), "");
}

TEST(ParseMaps, LinesOfEachKind_AreRead) {
  const auto mappings = ParseMaps(
      "55d0-55d1 r--p 00000000 08:01 12   /usr/bin/a program\n"
      "55d1-55d2 r-xp 00001000 08:01 12   /usr/bin/a program\n"
      "7f00-7f01 rw-p 00000000 00:00 0 \n"
      "7f02-7f03 r-xp 00000000 08:01 13   /lib/gone.so (deleted)\n");
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[0].path, "/usr/bin/a program");
  EXPECT_TRUE(mappings[1].executable && !mappings[1].writable);
  EXPECT_EQ(mappings[2].path, "");
  EXPECT_EQ(mappings[3].path, "/lib/gone.so");
  const auto modules = ModulesOf(mappings);
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].base, 0x55d0u);
  EXPECT_EQ(modules[0].end, 0x55d2u);
  EXPECT_TRUE(modules[0].IsCode(0x55d1));
  EXPECT_FALSE(modules[0].IsCode(0x55d0));
}

TEST(ExportedSymbols, OfTheLoadedLibc_AreWhereTheLoaderSaysTheyAre) {
  const auto modules = ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")));
  bool found = false;
  for (const MappedModule& module : modules) {
    if (module.file_name() != "libc.so.6") continue;
    found = true;
    const auto symbols = ExportedSymbols::Read(getpid(), module);
    ASSERT_TRUE(symbols.ok()) << symbols.status();
    const auto address = reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, "munmap"));
    EXPECT_EQ(symbols->Address("munmap"), address);
    ASSERT_NE(symbols->At(address + 1), nullptr);
    EXPECT_EQ(symbols->Address("no_such_function"), 0u);
    EXPECT_TRUE(ReadUnwindTable(getpid(), module).has_value());
  }
  EXPECT_TRUE(found);
}

TEST(ModulesOf, OneFileMappedTwiceAndFilesThatAreOnlyRead_AreToldApart) {
  const auto modules = ModulesOf(
      ParseMaps("1000-2000 r-xp 00000000 08:01 12   /lib/a.so\n"
                "2000-3000 rw-p 00001000 08:01 12   /lib/a.so\n"
                "3000-4000 r-xp 00000000 08:01 12   /lib/a.so\n"  // once more, in another namespace of the loader
                "4000-5000 r-xp 00001000 08:01 99   /lib/a.so\n"  // a part of a file of the same name
                "5000-6000 r--p 00000000 08:01 13   /usr/lib/locale/x\n"
                "6000-7000 r-xp 00000000 00:00 0    [vdso]\n"));
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].base, 0x1000u);
  EXPECT_EQ(modules[0].end, 0x3000u);
  EXPECT_EQ(modules[1].base, 0x3000u);
  EXPECT_EQ(modules[1].end, 0x4000u);
}

TEST(ParseMaps, LinesThatAreNone_AreLeftOut) {
  EXPECT_TRUE(ParseMaps("").empty());
  EXPECT_TRUE(ParseMaps("no line of maps\n12-\n").empty());
}

// The tables of a library as they lie in memory, with what a test puts wrong in them.
struct Image {
  Elf64_Ehdr header;
  Elf64_Phdr segments[2];
  Elf64_Dyn dynamic[5];
  Elf64_Sym symbols[2];
  char strings[16];
  struct {
    uint32_t buckets, first_hashed, bloom_words, bloom_shift;
    uint64_t bloom[1];
    uint32_t bucket[1], chain[1];
  } hash;
};

MappedModule MakeImage(Image* image, uint64_t base) {
  std::memset(static_cast<void*>(image), 0, sizeof(*image));
  std::memcpy(image->header.e_ident, ELFMAG, SELFMAG);
  image->header.e_ident[EI_CLASS] = ELFCLASS64;
  image->header.e_phentsize = sizeof(Elf64_Phdr);
  image->header.e_phnum = 2;
  image->header.e_phoff = offsetof(Image, segments);
  image->segments[0].p_type = PT_LOAD;
  image->segments[1].p_type = PT_DYNAMIC;
  image->segments[1].p_vaddr = offsetof(Image, dynamic);
  image->segments[1].p_memsz = sizeof(image->dynamic);
  const auto entry = [image](int at, int64_t tag, uint64_t value) {
    image->dynamic[at].d_tag = tag, image->dynamic[at].d_un.d_val = value;
  };
  entry(0, DT_SYMTAB, base + offsetof(Image, symbols));
  entry(1, DT_STRTAB, base + offsetof(Image, strings));
  entry(2, DT_STRSZ, sizeof(image->strings));
  entry(3, DT_GNU_HASH, base + offsetof(Image, hash));
  std::strcpy(image->strings + 1, "answer");
  image->symbols[1].st_name = 1, image->symbols[1].st_value = 0x40, image->symbols[1].st_size = 8;
  image->symbols[1].st_shndx = 1, image->symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  image->hash.buckets = 1, image->hash.first_hashed = 1, image->hash.bloom_words = 1;
  image->hash.bucket[0] = 1, image->hash.chain[0] = 1;
  MappedModule module;
  module.path = "/lib/image.so";
  module.base = base, module.end = base + kPage;
  return module;
}

class ImageTest : public testing::Test {
 protected:
  absl::StatusOr<ExportedSymbols> Read() const { return ExportedSymbols::Read(getpid(), module_); }

  Pages pages_{1};
  Image* image_ = reinterpret_cast<Image*>(pages_.start());
  MappedModule module_ = MakeImage(image_, pages_.address());
};

TEST_F(ImageTest, AsALinkerWroteIt_IsRead) {
  const auto symbols = Read();
  ASSERT_TRUE(symbols.ok()) << symbols.status();
  EXPECT_EQ(symbols->Address("answer"), pages_.address() + 0x40);
  ASSERT_NE(symbols->At(pages_.address() + 0x47), nullptr);
  EXPECT_EQ(symbols->At(pages_.address() + 0x48), nullptr);
}

TEST_F(ImageTest, NoHeader_IsRefused) {
  image_->header.e_ident[0] = 0;
  EXPECT_FALSE(Read().ok());
  EXPECT_FALSE(ReadUnwindTable(getpid(), module_).has_value());
  EXPECT_TRUE(ReadCodePadding(getpid(), module_).empty());
}

TEST_F(ImageTest, MoreSegmentsThanThereIsMemory_IsRefused) {
  image_->header.e_phnum = 0xffff;
  EXPECT_FALSE(Read().ok());
}

// Otherwise the injector would ask for 100 GB.
TEST_F(ImageTest, AHashTableThatClaimsBillionsOfSymbols_ExportsNothing) {
  image_->hash.first_hashed = 0xfffffff0;
  const auto unhashed = Read();
  EXPECT_TRUE(!unhashed.ok() || unhashed->sorted().empty());
  image_->hash.bucket[0] = 0xfffffff8;
  const auto hashed = Read();
  EXPECT_TRUE(!hashed.ok() || hashed->sorted().empty());
  image_->hash.buckets = 0xffffffff;
  const auto buckets = Read();
  EXPECT_TRUE(!buckets.ok() || buckets->sorted().empty());
}

TEST_F(ImageTest, AChainWithoutAnEnd_ExportsNothing) {
  image_->hash.chain[0] = 0;
  for (uint32_t* at = &image_->hash.chain[0]; reinterpret_cast<char*>(at) < pages_.end(); ++at) *at = 2;
  const auto symbols = Read();
  EXPECT_TRUE(!symbols.ok() || symbols->sorted().empty());
}

TEST_F(ImageTest, ANameBehindTheStrings_IsLeftOut) {
  image_->symbols[1].st_name = 4000;
  const auto symbols = Read();
  ASSERT_TRUE(symbols.ok());
  EXPECT_TRUE(symbols->sorted().empty());
}

TEST_F(ImageTest, StringsThatReachOutOfMemory_AreRefused) {
  image_->dynamic[2].d_un.d_val = 1 << 20;
  EXPECT_FALSE(Read().ok());
  image_->dynamic[2].d_un.d_val = ~uint64_t{0};
  EXPECT_FALSE(Read().ok());
}

}  // namespace
}  // namespace stallscope::attach
