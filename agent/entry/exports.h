// How a hook is exported: under the C library's name, through an assembler label, so that neither libc's own
// declaration (with its exception specification and nonnull attributes) nor C++ mangling gets in the way.
//
// A hook is an ordinary function with unwind tables and nothing to destroy across the real call: a cancelled thread
// unwinds through it. exports.map gives versions to those names whose versions differ; all others stay in the base
// version, which the dynamic linker accepts for a reference of any version.
#pragma once

#define STALLSCOPE_EXPORT(type, name, parameters)                                                          \
  extern "C" __attribute__((visibility("default"))) type stallscope_hook_##name parameters __asm__(#name); \
  extern "C" type stallscope_hook_##name parameters
