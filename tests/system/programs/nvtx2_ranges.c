// Ranges through NVTX 2's library (libnvToolsExt.so.1), named by the argument; and, built with NVTX_TOOL, a tool of another
// maker that notes what it is called with on standard output: OLD_TOOL knows the entry point of NVTX 1 alone.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#ifdef NVTX_TOOL
static int PushA(const char* text) {
  printf("tool: push %s\n", text);
  return 40;
}
static int Pop(void) {
  printf("tool: pop\n");
  return 39;
}
#ifdef OLD_TOOL
int InitializeInjectionNvtx(const void* get_table) {
  printf("tool: version 1%s\n", get_table == NULL ? " without a table" : "");
  (void)PushA, (void)Pop;
  return 1;
}
#else
// As NVTX's header lays them out: sizes first, then the function that gives a module's slots.
struct Callbacks {
  size_t bytes;
  int (*get_module)(int module, void**** slots, unsigned* count);
};
int InitializeInjectionNvtx2(const void* (*get_table)(unsigned)) {
  const struct Callbacks* callbacks = get_table(1);
  void*** slots = NULL;
  unsigned count = 0;
  if (callbacks->get_module(1, &slots, &count) == 0 || count < 16) return 0;
  *slots[9] = (void*)PushA;
  *slots[11] = (void*)Pop;
  return 1;
}
#endif
#else
int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library == NULL) return 2;
  int (*push)(const char*) = (int (*)(const char*))dlsym(library, "nvtxRangePushA");
  int (*pop)(void) = (int (*)(void))dlsym(library, "nvtxRangePop");
  for (int i = 0; i < 5; ++i) {
    printf("push %d\n", push("execute_context_1(512)_generation_31(31)"));
    usleep(2000);
    printf("pop %d\n", pop());
  }
  fflush(stdout);
  usleep(200 * 1000);
  return 0;
}
#endif
