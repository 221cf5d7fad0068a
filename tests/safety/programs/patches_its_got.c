/* A program that patches its own GOT, as other tracers do: its function goes in front of what is there, calls on, and is taken out
 * again. Built with lazy binding, so that unbound slots are patched too. */
#include <elf.h>
#include <link.h>
#include <poll.h>
#include <sys/mman.h>

#include "check.h"

static long seen_sleeps, seen_polls;
static int (*next_nanosleep)(const struct timespec *, struct timespec *);
static int (*next_poll)(struct pollfd *, nfds_t, int);

static int own_nanosleep(const struct timespec *time, struct timespec *left) {
  ++seen_sleeps;
  return next_nanosleep(time, left);
}
static int own_poll(struct pollfd *fds, nfds_t count, int timeout) {
  ++seen_polls;
  return next_poll(fds, count, timeout);
}

/* Returns what was in the slot. */
static void *patch(const char *name, void *function) {
  ElfW(Addr) base = 0;
  const ElfW(Rela) *table = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *strings = NULL;
  size_t bytes = 0;
  const struct link_map *map = _r_debug.r_map; /* the program itself */
  base = map->l_addr;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_JMPREL) table = (const void *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols = (const void *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = (const void *)entry->d_un.d_ptr;
  }
  MUST(table != NULL && symbols != NULL);
  for (size_t i = 0; i < bytes / sizeof(*table); ++i) {
    if (strcmp(strings + symbols[ELF64_R_SYM(table[i].r_info)].st_name, name) != 0) continue;
    void **slot = (void **)(base + table[i].r_offset);
    return __atomic_exchange_n(slot, function, __ATOMIC_SEQ_CST);
  }
  return NULL;
}

static void *sleeps(void *argument) {
  for (int i = 0; i < 50; ++i) sleep_ms(0), poll(NULL, 0, 0);
  return argument;
}

int main(void) {
  pthread_t thread;
  for (int round = 0; round < 20; ++round) {
    void *before_sleep = patch("nanosleep", own_nanosleep), *before_poll = patch("poll", own_poll);
    MUST(before_sleep != NULL && before_poll != NULL);
    next_nanosleep = before_sleep, next_poll = before_poll;
    pthread_create(&thread, NULL, sleeps, NULL);
    sleeps(NULL);
    pthread_join(thread, NULL);
    patch("poll", before_poll), patch("nanosleep", before_sleep);
    sleeps(NULL);
  }
  SEE(seen_sleeps > 0);
  SEE(seen_polls > 0);
  return 0;
}
