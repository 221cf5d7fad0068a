// Which gpu.* line a kernel is charged to, judged by its name alone.
//
// The rules and their order stand in kernel_class.cc. Names may be mangled, demangled or plain; letter case does not
// matter.
#pragma once

#include <string_view>

#include "collector/base/line.h"

namespace stallscope {

Line ClassifyKernel(std::string_view name);

}  // namespace stallscope
