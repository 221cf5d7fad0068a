/* Runs a command in a sandbox that refuses some system calls: refuses ERRNO NUMBER... -- COMMAND... */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "check.h"

int main(int argc, char **argv) {
  struct sock_filter code[64];
  int at = 0, next = 2;
  code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (; next < argc && strcmp(argv[next], "--") != 0; ++next) {
    MUST(at < 60);
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(argv[next]), 0, 1);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1]));
  }
  code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  MUST(next + 1 < argc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  struct sock_fprog program = {at, code};
  MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
  execv(argv[next + 1], argv + next + 1);
  return 99;
}
