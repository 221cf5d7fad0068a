// Hooks that are called before the loader has relocated the agent.
//
// The loader relocates what the program needs first and the preloaded agent after it, just before the program. An IFUNC
// resolver of a library runs while that library is relocated, and what it calls is bound to our hooks already, in which
// no pointer is right yet: the tables that process_state.h promises are null, and so is every call into the C library.
// (Only code and data found relative to the code are there.)
//
// So the agent then relocates itself, with the values that the loader is going to write over them, and passes everything
// through to the real functions. Two things stay as they are until the loader comes: thread-local variables, whose place
// only it knows, and functions of the C library that are indirect themselves (memcpy, strlen and their like), because the
// C library may come later too. Nothing is set up or recorded.
//
// A hook can live with that if it asks for its real function (STALLSCOPE_REAL) before it does anything else: that is what
// leads here, and costs nothing, since it is asked anyway. tests/safety/programs/resolves_early.c makes each hook the
// first.
#pragma once

namespace stallscope::agent {

struct ElfModule;

// The loader has been here: everything works. Any time, any thread.
bool IsRelocated() noexcept;

// Only while IsRelocated() is false, in the one thread there is. False: the loader's list was not found, and nothing of
// the agent can be used.
bool RelocateEarly() noexcept;

// The same modules in the same order as dl_iterate_phdr's, without the ends of their segments, until `visit` says other
// than 0. Indirect functions are no symbols of theirs.
void VisitModulesEarly(int (*visit)(const ElfModule& module, void* argument) noexcept, void* argument) noexcept;

}  // namespace stallscope::agent
