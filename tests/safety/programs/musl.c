/* Built with musl's compiler wrapper: another C library. */
#include <stdio.h>
int main(void) {
  puts("musl");
  return 5;
}
