// Thousands of damaged inputs, the same ones each time. A crash or a hang fails the test by itself; memory is bounded
// by a limit on the address space.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <string>

#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/seeds.h"

namespace stallscope::fuzz {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr uint64_t kMemoryLimitBytes = uint64_t{2} << 30;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One to eight small damages of the kinds that file systems, bugs and attackers make.
  std::string Damage(std::string bytes) {
    const uint64_t count = 1 + random_() % 8;
    for (uint64_t i = 0; i < count && !bytes.empty(); ++i) DamageOnce(&bytes);
    return bytes;
  }

 private:
  void DamageOnce(std::string* bytes) {
    const size_t at = random_() % bytes->size();
    switch (random_() % 8) {
      case 0:  // a bit
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << (random_() % 8)));
        break;
      case 1:  // a byte
        (*bytes)[at] = static_cast<char>(random_());
        break;
      case 2:  // cut
        bytes->resize(at);
        break;
      case 3:  // a piece missing
        bytes->erase(at, 1 + random_() % 64);
        break;
      case 4:  // a piece twice
        bytes->insert(random_() % bytes->size(), bytes->substr(at, 1 + random_() % 64));
        break;
      case 5: {  // a number that is hard to handle
        static constexpr uint64_t kNumbers[] = {0,
                                                1,
                                                0x7f,
                                                0xff,
                                                0x7fff,
                                                0xffff,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                0x7fffffffffffffff,
                                                0x8000000000000000,
                                                0xffffffffffffffff};
        const uint64_t number = kNumbers[random_() % std::size(kNumbers)];
        const size_t width = size_t{1} << (random_() % 4);
        for (size_t i = 0; i < width && at + i < bytes->size(); ++i)
          (*bytes)[at + i] = static_cast<char>(number >> (8 * i));
        break;
      }
      case 6:  // noise
        for (size_t i = at; i < bytes->size() && i < at + 1 + random_() % 16; ++i)
          (*bytes)[i] = static_cast<char>(random_());
        break;
      default: {  // a varint that never ends
        for (size_t i = at; i < bytes->size() && i < at + 10; ++i) (*bytes)[i] = '\xff';
        break;
      }
    }
  }
  std::mt19937_64 random_;
};

class HostileInput : public ::testing::Test {
 protected:
  void SetUp() override {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limited{kMemoryLimitBytes, before_.rlim_max};
    if (!kSanitized) setrlimit(RLIMIT_AS, &limited);
  }
  void TearDown() override { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST_F(HostileInput, Stream_DamagedTwentyThousandWays) {
  const std::string seed = SeedStream();
  ASSERT_EQ(ReadHostileStream(seed), 22u);
  Mutator mutator(1);
  uint64_t events = 0;
  for (int i = 0; i < 20'000; ++i) events += ReadHostileStream(mutator.Damage(seed));
  EXPECT_GT(events, 0u);  // most of a damaged stream still gets through
}

TEST_F(HostileInput, Capture_DamagedFiveThousandWays) {
  const std::string seed = SeedCapture();
  ASSERT_EQ(ReadHostileCapture(seed), 22u);
  Mutator mutator(2);
  for (int i = 0; i < 5'000; ++i) ReadHostileCapture(mutator.Damage(seed));
}

TEST_F(HostileInput, Memory_DamagedFiveThousandWays) {
  const std::string seed = SeedMemory();
  ASSERT_GT(ReadHostileMemory(seed), 20u);
  Mutator mutator(3);
  for (int i = 0; i < 5'000; ++i) {
    // Most of the image is rings; the head, where every number matters, gets as much attention.
    std::string damaged = seed;
    if (i % 2 == 0) {
      const std::string head = mutator.Damage(seed.substr(0, 4096 + 1024));
      damaged.replace(0, std::min<size_t>(head.size(), 5120), head.substr(0, 5120));
    } else {
      damaged = mutator.Damage(seed);
    }
    ReadHostileMemory(damaged);
  }
}

TEST_F(HostileInput, Noise_IsRefusedByAll) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2'000; ++i) {
    std::string noise(random() % 9000, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    EXPECT_EQ(ReadHostileStream(noise), 0u);
    EXPECT_EQ(ReadHostileCapture(noise), 0u);
    EXPECT_EQ(ReadHostileMemory(noise), 0u);
  }
}

}  // namespace
}  // namespace stallscope::fuzz
