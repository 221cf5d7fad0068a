#include "tools/attach/injected_code.h"

#include <cstddef>
#include <cstring>

namespace stallscope::attach {

// Offsets into InjectedData, for the assembler.
#define AT_DLOPEN 0
#define AT_DLSYM 8
#define AT_DLERROR 16
#define AT_PTHREAD_CREATE 24
#define AT_PTHREAD_SELF 32
#define AT_PTHREAD_DETACH 40
#define AT_MUNMAP 48
#define AT_ERRNO_LOCATION 56
#define AT_REGION 64
#define AT_REGION_BYTES 72
#define AT_HELPER 80
#define AT_ENTRY 88
#define AT_OPEN_FLAGS 96
#define AT_PAUSE 104
#define AT_PARKED 120
#define AT_FINISHED 124
#define AT_FAILED 128
#define AT_ACKNOWLEDGED 132
#define AT_CANCELLED 136
#define AT_CREATE_RESULT 140
#define AT_DUMPABLE 144
#define AT_LEFT 148
#define AT_ERROR_TEXT 152
#define AT_THREAD 160
#define AT_EXTENDED 168
#define AT_SPINS 176
#define AT_REQUEST 184
#define AT_ENTRY_NAME 500
#define AT_PATH 564

#define CHECK_OFFSET(name, field) static_assert(name == offsetof(InjectedData, field))
CHECK_OFFSET(AT_DLOPEN, dlopen);
CHECK_OFFSET(AT_DLSYM, dlsym);
CHECK_OFFSET(AT_DLERROR, dlerror);
CHECK_OFFSET(AT_PTHREAD_CREATE, pthread_create);
CHECK_OFFSET(AT_PTHREAD_SELF, pthread_self);
CHECK_OFFSET(AT_PTHREAD_DETACH, pthread_detach);
CHECK_OFFSET(AT_MUNMAP, munmap);
CHECK_OFFSET(AT_ERRNO_LOCATION, errno_location);
CHECK_OFFSET(AT_REGION, region);
CHECK_OFFSET(AT_REGION_BYTES, region_bytes);
CHECK_OFFSET(AT_HELPER, helper);
CHECK_OFFSET(AT_ENTRY, entry);
CHECK_OFFSET(AT_OPEN_FLAGS, open_flags);
CHECK_OFFSET(AT_PAUSE, pause_seconds);
CHECK_OFFSET(AT_PARKED, parked);
CHECK_OFFSET(AT_FINISHED, finished);
CHECK_OFFSET(AT_FAILED, failed);
CHECK_OFFSET(AT_ACKNOWLEDGED, acknowledged);
CHECK_OFFSET(AT_CANCELLED, cancelled);
CHECK_OFFSET(AT_CREATE_RESULT, create_result);
CHECK_OFFSET(AT_DUMPABLE, dumpable);
CHECK_OFFSET(AT_ERROR_TEXT, error_text);
CHECK_OFFSET(AT_THREAD, thread);
CHECK_OFFSET(AT_LEFT, left);
CHECK_OFFSET(AT_EXTENDED, extended);
CHECK_OFFSET(AT_SPINS, spins);
CHECK_OFFSET(AT_REQUEST, request);
CHECK_OFFSET(AT_ENTRY_NAME, entry_name);
CHECK_OFFSET(AT_PATH, path);

#define TEXT_OF(number) #number
#define T(number) TEXT_OF(number)
#define AT(offset) T(offset) "(%rbx)"

// rbx holds the address of the data in all of it. Stack: 16-byte aligned at each call, as the ABI wants.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "stallscope_injected_begin:\n"

    "stallscope_injected_call:\n"
    "  call 9f\n"
    "  jne 0f\n"
    "  call *" AT(AT_ERRNO_LOCATION) "\n"
    "  movl (%rax), %r12d\n"
    "  call 5f\n"
    "  call *" AT(AT_ERRNO_LOCATION) "\n"
    "  movl %r12d, (%rax)\n"
    "0: jmp 1f\n"

    "stallscope_injected_create:\n"
    "  call 9f\n"
    "  jne 0f\n"
    "  call *" AT(AT_ERRNO_LOCATION) "\n"
    "  movl (%rax), %r12d\n"
    "  leaq " AT(AT_THREAD) ", %rdi\n"
    "  xorl %esi, %esi\n"
    "  movq " AT(AT_HELPER) ", %rdx\n"
    "  movq %rbx, %rcx\n"
    "  call *" AT(AT_PTHREAD_CREATE) "\n"
    "  movl %eax, " AT(AT_CREATE_RESULT) "\n"
    "  call *" AT(AT_ERRNO_LOCATION) "\n"
    "  movl %r12d, (%rax)\n"
    "0:\n"
    // Until it is put back. If that does not happen, whoever was to do it is gone.
    "1: movl $1, " AT(AT_PARKED) "\n"
    "  movl " AT(AT_SPINS) ", %ecx\n"
    "2: pause\n"
    "  decl %ecx\n"
    "  jnz 2b\n"
    "  movl $1, " AT(AT_LEFT) "\n"
    "  movq " AT(AT_EXTENDED) ", %rcx\n"
    "  movl $0xe7, %eax\n"  // x87, SSE, AVX, AVX-512: what code that was called may have used
    "  xorl %edx, %edx\n"
    "  xrstor64 (%rcx)\n"
    "  jmp stallscope_injected_restore\n"

    "stallscope_injected_helper:\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  movq %rdi, %rbx\n"
    "  call *" AT(AT_PTHREAD_SELF) "\n"
    "  movq %rax, %rdi\n"
    "  call *" AT(AT_PTHREAD_DETACH) "\n"
    "  call 5f\n"
    "  movl $1, " AT(AT_FINISHED) "\n"
    "  movl $20000, %r12d\n"  // pauses of 1 ms
    "3: cmpl $0, " AT(AT_ACKNOWLEDGED) "\n"
    "  jne 4f\n"
    "  movl $35, %eax\n"  // nanosleep
    "  leaq " AT(AT_PAUSE) ", %rdi\n"
    "  xorl %esi, %esi\n"
    "  syscall\n"
    "  decl %r12d\n"
    "  jnz 3b\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  xorl %eax, %eax\n"
    "  ret\n"
    // munmap returns to where the helper was called from: this code is gone by then.
    "4: movq " AT(AT_REGION) ", %rdi\n"
    "  movq " AT(AT_REGION_BYTES) ", %rsi\n"
    "  movq " AT(AT_MUNMAP) ", %rax\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  jmp *%rax\n"

    // The work. Called with the stack off by 8.
    "5: subq $8, %rsp\n"
    "  movq " AT(AT_ENTRY) ", %rax\n"
    "  testq %rax, %rax\n"
    "  jnz 6f\n"
    "  leaq " AT(AT_PATH) ", %rdi\n"
    "  movl " AT(AT_OPEN_FLAGS) ", %esi\n"
    "  call *" AT(AT_DLOPEN) "\n"
    "  testq %rax, %rax\n"
    "  jz 7f\n"
    "  movq %rax, %rdi\n"
    "  leaq " AT(AT_ENTRY_NAME) ", %rsi\n"
    "  call *" AT(AT_DLSYM) "\n"
    "  testq %rax, %rax\n"
    "  jz 7f\n"
    "6: cmpl $0, " AT(AT_CANCELLED) "\n"
    "  jne 8f\n"
    "  leaq " AT(AT_REQUEST) ", %rdi\n"
    "  call *%rax\n"
    "  jmp 8f\n"
    "7: call *" AT(AT_DLERROR) "\n"
    "  movq %rax, " AT(AT_ERROR_TEXT) "\n"
    "  movl $1, " AT(AT_FAILED) "\n"
    "8: addq $8, %rsp\n"
    "  ret\n"

    // Is the process dumpable? Equal: it is.
    "9: movl $157, %eax\n"  // prctl
    "  movl $3, %edi\n"     // PR_GET_DUMPABLE
    "  syscall\n"
    "  movl %eax, " AT(AT_DUMPABLE) "\n"
    "  cmpl $1, %eax\n"
    "  ret\n"

    ".balign 8\n"
    "stallscope_injected_way_back:\n"
    "  syscall\n"
    "stallscope_injected_restore:\n"
    "  movl $14, %eax\n"  // rt_sigprocmask
    "  movl $2, %edi\n"   // SIG_SETMASK
    "  leaq stallscope_injected_saved(%rip), %rsi\n"
    "  xorl %edx, %edx\n"
    "  movl $8, %r10d\n"
    "  syscall\n"
    "  movq stallscope_injected_saved+8(%rip), %r15\n"
    "  movq stallscope_injected_saved+16(%rip), %r14\n"
    "  movq stallscope_injected_saved+24(%rip), %r13\n"
    "  movq stallscope_injected_saved+32(%rip), %r12\n"
    "  movq stallscope_injected_saved+40(%rip), %rbp\n"
    "  movq stallscope_injected_saved+48(%rip), %rbx\n"
    "  movq stallscope_injected_saved+56(%rip), %r11\n"
    "  movq stallscope_injected_saved+64(%rip), %r10\n"
    "  movq stallscope_injected_saved+72(%rip), %r9\n"
    "  movq stallscope_injected_saved+80(%rip), %r8\n"
    "  movq stallscope_injected_saved+88(%rip), %rax\n"
    "  movq stallscope_injected_saved+96(%rip), %rcx\n"
    "  movq stallscope_injected_saved+104(%rip), %rdx\n"
    "  movq stallscope_injected_saved+112(%rip), %rsi\n"
    "  movq stallscope_injected_saved+120(%rip), %rdi\n"
    "  movq stallscope_injected_saved+128(%rip), %rsp\n"
    "  jmp *stallscope_injected_saved+136(%rip)\n"
    ".balign 8\n"
    "stallscope_injected_saved:\n"
    "  .fill 18, 8, 0\n"
    "stallscope_injected_end:\n"
    ".popsection\n");

static_assert(sizeof(SavedContext) == 18 * 8 && offsetof(SavedContext, r15) == 8 && offsetof(SavedContext, rip) == 136);

extern "C" {
extern const char stallscope_injected_begin[], stallscope_injected_call[], stallscope_injected_create[],
    stallscope_injected_helper[], stallscope_injected_way_back[], stallscope_injected_saved[],
    stallscope_injected_end[];
}

InjectedCode GetInjectedCode(const SavedContext& saved) {
  const char* begin = stallscope_injected_begin;
  InjectedCode code{std::string(begin, stallscope_injected_end),
                    static_cast<uint64_t>(stallscope_injected_call - begin),
                    static_cast<uint64_t>(stallscope_injected_create - begin),
                    static_cast<uint64_t>(stallscope_injected_helper - begin),
                    static_cast<uint64_t>(stallscope_injected_way_back - begin)};
  std::memcpy(code.bytes.data() + (stallscope_injected_saved - begin), &saved, sizeof(saved));
  return code;
}

std::string GetWayBack(const SavedContext& saved) {
  const InjectedCode code = GetInjectedCode(saved);
  return code.bytes.substr(code.way_back);
}

}  // namespace stallscope::attach
