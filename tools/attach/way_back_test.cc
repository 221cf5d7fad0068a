#include "tools/attach/way_back.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tools/attach/injected_code.h"
#include "tools/attach/target_process.h"

namespace stallscope::attach {
namespace {

TEST(WayBack, EndsWithWhatItPutsIntoPlace) {
  SavedContext saved{};
  saved.signal_mask = 0x1122334455667788, saved.rip = 0x8877665544332211;
  const std::string code = GetWayBack(saved);
  ASSERT_LE(code.size(), kWayBackBytes);
  EXPECT_EQ(code.substr(0, 2), "\x0f\x05");
  EXPECT_EQ(std::memcmp(code.data() + code.size() - sizeof(saved), &saved, sizeof(saved)), 0);
}

TEST(WayBack, ThereIsAPlaceBehindTheCodeOfTheLoadedModules) {
  const std::vector<MappedModule> modules = ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")));
  std::vector<const MappedModule*> all;
  for (const MappedModule& module : modules) all.push_back(&module);
  const WayBackPlace place = FindWayBackPlace(getpid(), all);
  ASSERT_NE(place.address, 0u);
  EXPECT_FALSE(place.used);
  EXPECT_TRUE(std::any_of(modules.begin(), modules.end(), [&place](const MappedModule& module) {
    return module.IsCode(place.address) && module.IsCode(place.address + kWayBackBytes - 1);
  }));
}

}  // namespace
}  // namespace stallscope::attach
