#include "agent/cupti/linked_clients.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace stallscope::agent {
namespace {

void ExpectSeen(const char* library) {
  EXPECT_FALSE(LinksProcessWideCupti());
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_TRUE(LinksProcessWideCupti());
  dlclose(handle);
  EXPECT_FALSE(LinksProcessWideCupti());
}

TEST(LinkedClients, ALibraryThatExportsFunctionsOfItsOwn_IsSeen) { ExpectSeen(STALLSCOPE_LINKED_CLIENT); }

// As most programs do, and libraries that keep their symbols to themselves.
TEST(LinkedClients, AModuleThatExportsNothing_IsSeen) { ExpectSeen(STALLSCOPE_SILENT_CLIENT); }

}  // namespace
}  // namespace stallscope::agent
