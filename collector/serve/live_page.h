// The page at /, embedded at build time from live_page.html.
#pragma once

#include <string_view>

namespace stallscope::serve {

extern const std::string_view kLivePage;

}  // namespace stallscope::serve
