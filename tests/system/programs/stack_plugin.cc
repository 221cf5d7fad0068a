// A library that waits in a function named by STALLSCOPE_PLUGIN_FUNCTION: two of them, of equal layout, take each other's
// addresses.
#include <time.h>

extern "C" __attribute__((noinline)) void STALLSCOPE_PLUGIN_FUNCTION(long milliseconds) {
  const timespec pause = {0, milliseconds * 1'000'000};
  nanosleep(&pause, nullptr);
  __asm__ volatile("");  // no tail call
}
