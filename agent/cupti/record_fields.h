// Reading the fields of a record that the library may have written shorter than the headers have it. Decoder only.
#pragma once

#include <cstddef>

// The field, or zero where the record ends before it.
#define FIELD_OR_ZERO(record, record_bytes, Type, field) \
  (offsetof(Type, field) + sizeof(record->field) <= record_bytes ? record->field : decltype(record->field){})
