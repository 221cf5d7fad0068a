/* Plugins loaded plainly, with RTLD_DEEPBIND, through the RUNPATH of their loader, into a namespace of their own; dlsym(RTLD_NEXT) from
 * the program and from a plugin; a module unloaded and loaded again while others wait. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>

#include "check.h"

static char folder[PATH_MAX];
static volatile int stop;

static void *open_plugin(int flags) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/libsafety_plugin.so", folder);
  void *plugin = dlopen(path, flags);
  if (plugin == NULL) printf("dlopen: %s\n", dlerror());
  MUST(plugin != NULL);
  return plugin;
}
static int call(void *plugin, const char *name) {
  int (*function)(void) = (int (*)(void))dlsym(plugin, name);
  MUST(function != NULL);
  return function();
}
static void *waits_meanwhile(void *argument) {
  while (!stop) sleep_ms(1);
  return argument;
}

int main(void) {
  ssize_t got = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
  MUST(got > 0);
  dirname(folder);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, waits_meanwhile, NULL) == 0);

  SEE(dlopen("libsafety_neighbour.so", RTLD_NOW) == NULL); /* this program's RUNPATH does not lead there */
  void *plain = open_plugin(RTLD_NOW);
  SEE(call(plain, "plugin_waits"));
  SEE(call(plain, "plugin_finds_next"));
  SEE(call(plain, "plugin_loads_neighbour"));
  SEE(dlclose(plain));
  for (int i = 0; i < 100; ++i) {
    void *again = open_plugin(i % 2 ? RTLD_NOW : RTLD_LAZY);
    MUST(call(again, "plugin_waits") == 10);
    MUST(dlclose(again) == 0);
  }
  void *deep = open_plugin(RTLD_NOW | RTLD_DEEPBIND);
  SEE(call(deep, "plugin_waits"));
  SEE(call(deep, "plugin_finds_next"));
  SEE(dlclose(deep));

  ssize_t (*next_read)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  unsigned (*next_sleep)(unsigned) = (unsigned (*)(unsigned))dlsym(RTLD_NEXT, "sleep");
  SEE(next_read != NULL && next_read(-1, folder, 1) == -1 && errno == EBADF);
  SEE(next_sleep != NULL && next_sleep(0) == 0);
  SEE(dlsym(RTLD_DEFAULT, "stallscope_no_such_function") == NULL);
  SEE(dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2") != NULL);
  SEE(dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.2.5") != NULL);

  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/libsafety_plugin.so", folder);
  void *apart = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
  SEE(apart != NULL);
  if (apart != NULL) {
    SEE(call(apart, "plugin_waits"));
    SEE(call(apart, "plugin_calls"));
    SEE(dlclose(apart));
  }
  stop = 1;
  pthread_join(thread, NULL);
  return 0;
}
