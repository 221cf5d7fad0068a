// The shared string table: names for readers on both sides of the process border.
//
// Written under one spin lock by whoever interns (never on the hot path); read without it, since entries never change
// once strings_used says that they exist. The hash index over it is private memory of this process.
#pragma once

#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

// Bytes of private memory that the index over `capacity` strings needs; a power of two of 4-byte cells.
uint64_t StringIndexBytes(uint32_t capacity) noexcept;

// Installs the index for g_header's table. `index` is zeroed memory of StringIndexBytes(header->string_capacity).
void UseStringIndex(uint32_t* index) noexcept;

// The bytes of a string; length 0 and nullptr when the id is unknown.
const char* StringBytes(const wire::Header* header, uint32_t id, uint32_t* length) noexcept;

}  // namespace stallscope::agent
