// Usage: unloads_and_loads MS WAITS TIMES FIRST.so first_function SECOND.so second_function
//
// A thread loads FIRST, waits in it WAITS times, unloads it, loads SECOND, waits in that, unloads it, again and again; the dynamic linker
// puts both at the same address. Prints how often it did.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <thread>

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  const long milliseconds = atol(argv[1]), waits = atol(argv[2]), times = atol(argv[3]);
  int same = 0;
  std::thread worker([&] {
    for (long i = 0; i < times; ++i) {
      void* where[2] = {};
      for (int which = 0; which < 2; ++which) {
        void* plugin = dlopen(argv[4 + 2 * which], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) exit(3);
        where[which] = dlsym(plugin, argv[5 + 2 * which]);
        for (long k = 0; k < waits; ++k) reinterpret_cast<void (*)(long)>(where[which])(milliseconds);
        if (dlclose(plugin) != 0) exit(4);
      }
      same += where[0] == where[1];
    }
  });
  worker.join();
  printf("same address %d of %ld\n", same, times);
  return 0;
}
