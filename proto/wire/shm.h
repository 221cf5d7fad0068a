// The shared memory between a profiled process and its readers.
//
// What it is: one memfd per process, created and sealed (F_SEAL_SHRINK | F_SEAL_GROW) by the agent and passed to the collector with
// the hello message. Everything a reader needs to go on without the process is in it.
//
//   offset 0            Header            one page: identity, sizes, clock, control word, loss counters
//   waiters_offset      uint32_t[4096]    how many threads are about to block on an object with this hash (see Waiters below)
//   slots_offset        ThreadSlot[slot_count]    one per thread that ever recorded, 192 bytes each
//   strings_offset      StringTable: uint32_t offset[string_capacity], then the bytes
//   rings_offset        Record[ring_records] per slot, slot i at rings_offset + i * ring_records * 64
//   big_rings_offset    Record[big_ring_records] for big_ring_count threads that carry GPU records
//   stacks_offset       StackEntry[stack_capacity], then uint64_t[stack_frame_capacity]: the frames of all stacks
//
// Who writes: the thread that owns a slot writes its slot and ring; agent code under agent locks writes strings; the streaming
// thread writes clock and counters; control is written by the streaming thread, or by the collector when there is none.
// Who reads: the agent's streaming thread, and the collector after a death or when there is no streaming thread. A reader
// trusts nothing: sizes and offsets are checked against the size of the memfd, values are copied out once, then checked.
// Units: Record times of host kinds are clock ticks (Header::clock converts), of GPU kinds CLOCK_MONOTONIC nanoseconds.
// Failure: a reader that finds anything out of range stops reading that part and counts it; nothing here can be fatal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/wire/calls.h"

namespace stallscope::wire {

inline constexpr uint64_t kShmMagic = 0x31304d4853535453;  // "STSSHM01" little-endian
inline constexpr uint16_t kVersionMajor = 1;               // another major is refused by both sides
inline constexpr uint16_t kVersionMinor = 1;               // 1: stacks

// What a record tells of; each kind has its group of columns in stallscope.v1.Batch. A reader counts others and skips them.
enum class RecordKind : uint16_t {
  kNone = 0,      // nothing was written here yet
  kWait = 1,      // a call into the OS that waited, when it came back
  kWake = 2,      // what lets a waiter go on
  kCudaCall = 3,  // a call into CUDA, when it came back
  kGpuOp = 4,     // what a device did
  kRange = 5,     // an NVTX range when it closed, or a mark
  kState = 6,     // not written: changes of state go out as frames
  kMemory = 7,    // what happened to memory
  kCodeLoad = 8,  // code that was loaded or compiled
};

// Kinds whose begin and duration are host nanoseconds already: they tell of another clock than the thread's.
constexpr bool HasHostTimes(RecordKind kind) {
  return kind == RecordKind::kGpuOp || kind == RecordKind::kMemory || kind == RecordKind::kCodeLoad;
}

// One event. One cache line, written by the thread that owns the ring.
//
// `sequence` is index + 1 once the record is complete and 0 while it is being written (store 0, release fence, fields, release
// store; a reader loads it with acquire, copies the fields, acquire fence, loads it again: equal and expected, or the record
// is torn or overwritten). Indices are reserved with an unlocked fetch-add, so a signal handler on the same thread may record too.
//
//            kWait                    kWake              kCudaCall                kGpuOp                      kRange
// begin      ticks                    ticks              ticks                    host ns                     ticks
// duration   ticks                    0                  ticks                    ns                          ticks (0: mark)
// object     ObjectKind of the call;  the same object    stream handle            low 32: name string id,     text string id
//            fds as FdObject(fd)                                                  high 32: launch shape id
// argument   timeout asked, ns        woken tid or 0     by CudaCallClass         bytes, or graph node id     number[0]
//            (kNoTimeout: none)                                                   (kernels)
// detail     ready count / count of   written fd + 1     PackCudaDetail()         PackGpuDetail()             domain string id
//            collapsed spins; tid of  or 0
//            a joined thread
// id         0                        0                  correlation id or 0      correlation id              range id
// stack      stack id or 0            stack id or 0      stack id or 0            stream id (CUPTI's)         0
// call       OsCall                   OsCall             callback id              GpuOpKind                   RangeKind
// result     return value or -errno   0                  cudaError / CUresult     context id                  0
//
//            kMemory                                  kCodeLoad
// begin      host ns                                  host ns
// duration   ns; 0: a moment                          ns
// object     address of the memory or pool            0
// argument   bytes or a number, by MemoryOperation    bytes of code, 0: not known
// detail     extra, by MemoryOperation                0
// id         correlation id or 0                      correlation id or 0
// stack      PackMemoryPlace()                        tid of the thread it happened on, 0: not known
// call       MemoryOperation                          CodeLoadKind
// result     0                                        0
struct alignas(64) Record {
  std::atomic<uint64_t> sequence;  // index + 1; 0: empty, or being written
  uint64_t begin;                  // ticks, or host ns where HasHostTimes
  uint64_t duration;               // likewise
  uint64_t object;    // what it was about: address, handle, FdObject or string id; 0: nothing, or not known
  uint64_t argument;  // a number, by kind and call
  uint64_t detail;    // packed small numbers, by kind
  uint32_t id;        // joins records that belong together; 0: none
  uint32_t stack;     // where the call was made; of kinds without a caller something else
  uint16_t kind;      // RecordKind
  uint16_t call;      // which call, operation or kind of range
  int32_t result;     // what the call came back with
};
static_assert(sizeof(Record) == 64 && offsetof(Record, kind) == 56 && offsetof(Record, result) == 60);

inline constexpr uint64_t kNoTimeout = ~uint64_t{0};

// detail of a kCudaCall: class 0-7, domain 8-15, copy kind 16-23, flags 24-31.
inline constexpr uint64_t kCudaFlagPageable = 1;   // an async copy whose host side is pageable (it blocks)
inline constexpr uint64_t kCudaFlagNoCupti = 2;    // seen by interposition only: no correlation id will come
inline constexpr uint64_t kCudaFlagCapturing = 4;  // the stream was being captured: nothing ran
inline constexpr uint64_t kCudaFlagSpin = 8;  // queries in a row that all found the work unfinished: id is their number
constexpr uint64_t PackCudaDetail(CudaCallClass call_class, CudaDomain domain, CopyKind copy, uint64_t flags) {
  return static_cast<uint64_t>(call_class) | static_cast<uint64_t>(domain) << 8 | static_cast<uint64_t>(copy) << 16 |
         flags << 24;
}

// detail of a kGpuOp: device 0-7, copy kind 8-15, source memory kind 16-23, destination memory kind 24-31, graph id 32-63
// (0: not from a graph). Memory kinds are CUPTI's CUpti_ActivityMemoryKind.
constexpr uint64_t PackGpuDetail(uint32_t device, CopyKind copy, uint8_t source_memory, uint8_t destination_memory,
                                 uint32_t graph_id) {
  return (device & 0xff) | static_cast<uint64_t>(copy) << 8 | static_cast<uint64_t>(source_memory) << 16 |
         static_cast<uint64_t>(destination_memory) << 24 | static_cast<uint64_t>(graph_id) << 32;
}

// stack of a kMemory: CUPTI's CUpti_ActivityMemoryKind 0-7, device 8-15, flags 16-23.
inline constexpr uint32_t kMemoryFlagAsync = 1;    // in the order of a stream
inline constexpr uint32_t kMemoryFlagNoCupti = 2;  // told by the call itself
constexpr uint32_t PackMemoryPlace(uint32_t memory_kind, uint32_t device, uint32_t flags) {
  return (memory_kind & 0xff) | (device & 0xff) << 8 | (flags & 0xff) << 16;
}

// What a thread is blocked in now. Odd `version` while it is being changed; call_plus_one 0 when the thread is not blocked.
struct CurrentWait {
  std::atomic<uint32_t> version;  // odd while the thread changes what follows; a reader that sees it move tries again
  uint16_t kind;           // RecordKind::kWait or kCudaCall; the fields behind mean nothing while call_plus_one is 0
  uint16_t call_plus_one;  // OsCall or callback id, plus one; 0: not blocked
  uint64_t object;         // what it waits for, as Record::object; 0: nothing that has a name
  uint64_t begin;          // ticks
  // Written by the streaming thread while the wait lasts, both in one store: a stack holds for the wait that began at that tick.
  uint32_t stack;            // number in the table of stacks; 0: not taken (yet)
  uint32_t stack_begin_low;  // low half of the `begin` it was taken for; another one: it is an earlier wait's
};
static_assert(sizeof(CurrentWait) == 32 && offsetof(CurrentWait, stack) == 24);

// Whose a slot is.
enum class SlotState : uint32_t {
  kFree = 0,    // nobody's: the rest means nothing
  kLive = 1,    // a thread's that runs, or that nobody has found to be gone yet
  kExited = 2,  // its thread is gone, or has moved to another slot; free once its ring is drained
};

// What readers see of one thread. Line 0 is written by the owner when it takes the slot.
struct alignas(64) ThreadSlot {
  std::atomic<uint32_t> state;  // SlotState
  uint32_t tid;                 // the kernel's number of the owner, as the process sees it
  uint64_t start_ticks;         // when the slot was taken; (tid, start_ticks) names the thread
  char name[16];                // pthread name when the slot was taken, NUL-terminated
  uint32_t generation;          // how often the slot was reused; a reader starts over when it changes
  uint32_t big_ring_plus_one;   // 0: ring in rings, else index of the big ring + 1
  uint64_t handle;              // the owner's pthread_t: tells who is being joined
  uint64_t reserved0[2];        // 0
  // --- line 1: written on each record by the owner
  alignas(64) std::atomic<uint64_t> head;  // next index to reserve; records are at index % ring size
  std::atomic<uint64_t> short_waits;       // finished waits under the threshold: counted only
  CurrentWait current;                     // what the owner is blocked in now
  uint64_t reserved1;                      // 0
  // --- line 2: written by whoever drains the ring
  alignas(64) std::atomic<uint64_t> drained;  // indices below were streamed or lost
  std::atomic<uint64_t> lost;                 // overwritten before they were drained (cumulative)
  uint64_t reserved2[6];                      // 0
};
static_assert(sizeof(ThreadSlot) == 192 && offsetof(ThreadSlot, head) == 64 && offsetof(ThreadSlot, drained) == 128);

// What a tick is.
enum class ClockKind : uint32_t {
  kMonotonicNs = 0,  // a nanosecond: the TSC cannot be relied on here
  kTsc = 1,          // a count of the TSC
};

// ns = base_ns + ((ticks - base_ticks) * mult) >> shift, signed difference, 128-bit product.
// Guarded by version (odd while changing); refreshed by the streaming thread.
struct ClockCalibration {
  std::atomic<uint32_t> version;  // odd while the rest is being changed
  uint32_t kind;                  // ClockKind; for good
  uint64_t base_ticks;            // the last reading of both clocks: ticks
  uint64_t base_ns;               // and CLOCK_MONOTONIC
  uint64_t mult;                  // ns a tick, times 2^shift
  uint32_t shift;                 // below 64
  uint32_t uncertainty_ns;        // how far apart the two may have been read
};
static_assert(sizeof(ClockCalibration) == 40);

// Control word: what the hooks read (one relaxed load). Level in bits 0-7 (Level), recording on/off in bit 8, stacks bit 9.
enum class Level : uint8_t {
  kOff = 0,      // nothing is recorded
  kBudget = 1,   // waits, calls, kernels and whole graphs: what a budget needs
  kKernels = 2,  // and sizes of kernels, synchronizations, loads of code, unified memory
  kNodes = 3,    // and each node of a graph
};
inline constexpr uint32_t kControlRecording = 1u << 8;
inline constexpr uint32_t kControlStacks = 1u << 9;

// Loss and trouble, by cause; cumulative.
enum class Counter : uint32_t {
  kSlotsExhausted = 0,    // a thread found no slot: its events were not recorded
  kStringsExhausted,      // a name did not fit into the string table
  kCuptiDropped,          // CUPTI had no buffer (cuptiActivityGetNumDroppedRecords)
  kGpuZeroTime,           // start or end 0: no number made of it
  kGpuReversedTime,       // end before start
  kGpuBeforeLaunch,       // start before its own launch by more than the margin
  kGpuUnfinished,         // end 0 on a forced flush
  kGpuUnknownKind,        // record kinds we do not read
  kCuptiErrors,           // calls into CUPTI that failed
  kSocketRetries,         // the socket was full; frames waited in the rings
  kFramesDropped,         // frames given up because the collector went away; their records are still in the rings
  kInternal,              // a state that should not happen; the event was skipped
  kGpuOtherClock,         // begins or ends after the moment it was read: not our clock's time
  kChildWaits,            // waits of a forked child before it was set up again: it might have gone on to exec at once
  kCuptiSwitchedOff,      // times another client of CUPTI had switched off what the agent needs
  kCuptiBuffersLost,      // buffers that another client of CUPTI got instead of the agent, with what was in them
  kStacksExhausted,       // a new stack did not fit into the table
  kStacksMissed,          // a stack was due and could not be taken
  kGpuLate = 20,          // came more than two seconds after its work had ended (the number counts all the same)
  kCuptiBuffersWithheld,  // CUPTI had not given them back when the agent let go of it, or when the process ended
  kFinalFlushTimeouts,    // times the last flush took longer than a process may be held up for
  kCount,                 // not a counter: how many there are
};

// The first page. What stands before `control` is written at set-up, before the magic, and never again.
struct Header {
  uint64_t magic;                           // kShmMagic, written last (release)
  uint16_t version_major;                   // kVersionMajor of the writer
  uint16_t version_minor;                   // kVersionMinor of the writer: fields of a later one are not there
  uint32_t pid;                             // as the process sees it
  uint64_t process_start_ns;                // CLOCK_MONOTONIC when the agent was set up
  uint64_t total_bytes;                     // size of the memfd
  uint64_t waiters_offset;                  // bytes from the start, as all offsets
  uint64_t slots_offset;                    // a multiple of 64
  uint64_t strings_offset;                  // of their table; the bytes follow it
  uint64_t rings_offset;                    // a multiple of 64
  uint64_t big_rings_offset;                // a multiple of 64
  uint32_t waiter_count;                    // a power of two
  uint32_t slot_count;                      // how many threads can record at once
  uint32_t string_capacity;                 // entries of the table of strings
  uint32_t string_bytes;                    // room for the strings themselves
  uint32_t ring_records;                    // of a ring; a power of two
  uint32_t big_ring_records;                // of a big ring; a power of two
  uint32_t big_ring_count;                  // may be 0
  uint32_t reserved0;                       // 0
  std::atomic<uint32_t> control;            // hooks read, streaming thread or collector writes
  std::atomic<uint32_t> wait_threshold_ns;  // finished waits below are only counted (default 1000)
  std::atomic<uint32_t> slots_used;         // slots [0, slots_used) were ever taken
  std::atomic<uint32_t> strings_used;       // string ids [1, strings_used] are valid (release after the bytes)
  std::atomic<uint32_t> string_bytes_used;  // of string_bytes; for the writer and for people
  std::atomic<uint32_t> big_rings_used;     // the highest number of a big ring that was ever taken; for people
  std::atomic<uint64_t> heartbeat_ns;       // streaming thread's last round, 0: there is none
  std::atomic<uint64_t> agent_cpu_ns;       // CPU time of the streaming thread and of decoding, cumulative
  ClockCalibration clock;                   // ticks to host ns
  std::atomic<uint64_t> counters[32];       // Counter
  // --- minor version 1 and later, zero before
  uint64_t stacks_offset;             // of the entries; the frames follow them
  uint32_t stack_capacity;            // entries; 0: no stacks here
  uint32_t stack_frame_capacity;      // room for the frames of all stacks, in frames
  std::atomic<uint32_t> stacks_used;  // numbers [1, stacks_used] are given away; a stack is there when it has frames
  std::atomic<uint32_t> stack_frames_used;  // of stack_frame_capacity; for the writer and for people
};
static_assert(offsetof(Header, control) == 104 && sizeof(Header) <= 4096);

// Waiters: counters hashed by object. A thread about to block increments, after it has returned decrements; unlock, signal,
// post and write load the counter once and record a wake-up only when it is not zero. A hash collision costs one needless
// wake record, never a lost one.
constexpr uint32_t WaiterIndex(uint64_t object, uint32_t waiter_count) {
  return static_cast<uint32_t>((object * 0x9e3779b97f4a7c15u) >> 40) & (waiter_count - 1);
}
// File descriptors share the table with addresses; low numbers would collide with nothing real.
constexpr uint64_t FdObject(int fd) { return 0x7fff'0000'0000'0000u | static_cast<uint32_t>(fd); }

// Strings: entry i (id = i + 1) starts at the byte offset[i]: uint32_t length, then the bytes, not NUL-terminated.
// Ids are never reused. What a string is follows from where its id stands.

// Stacks: number i is entry i - 1, never reused. `frame_count` is stored last (release), 0 before that. Frames are return
// addresses, innermost first, in the map of modules of that generation (stallscope.v1.Intern.Module).
struct StackEntry {
  std::atomic<uint32_t> frame_count;  // 0: not there (yet)
  uint32_t first_frame;               // index into the frames behind the entries
  uint32_t generation;                // of the map of modules that the addresses are of
  uint32_t flags;                     // kStackCut
};
static_assert(sizeof(StackEntry) == 16);
inline constexpr uint32_t kStackCut = 1;  // there are frames further out
// Record::stack with this bit: not a number yet, the streaming thread finds out. Nothing to a reader of the memory.
inline constexpr uint32_t kStackPending = 1u << 31;

}  // namespace stallscope::wire
