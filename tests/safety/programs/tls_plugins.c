/* Two hundred libraries with initial-exec thread-locals are opened: they come out of the reserve that a process has for them, of which
 * the agent must take nothing. Prints how many fit. */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "check.h"

int main(void) {
  char folder[PATH_MAX] = "", from[PATH_MAX + 64], to[PATH_MAX + 64];
  char temporary[] = "/tmp/stallscope-safety-tls-XXXXXX";
  MUST(readlink("/proc/self/exe", folder, sizeof(folder) - 1) > 0 && mkdtemp(temporary) != NULL);
  snprintf(from, sizeof(from), "%s/libsafety_plugin.so", dirname(folder));
  int opened = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    snprintf(to, sizeof(to), "%s/%d.so", temporary, i);
    struct stat status;
    const int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0700);
    MUST(in >= 0 && out >= 0 && fstat(in, &status) == 0);
    for (ssize_t left = status.st_size; left > 0;) {
      const ssize_t done = sendfile(out, in, NULL, left);
      MUST(done > 0);
      left -= done;
    }
    close(in), close(out);
    void *plugin = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    unlink(to);
    opened += plugin != NULL;
    refused += plugin == NULL;
    if (plugin != NULL && i % 20 == 0) MUST(((int (*)(void))dlsym(plugin, "plugin_waits"))() == 10);
  }
  rmdir(temporary);
  SEE(opened);
  SEE(refused);
  return 0;
}
