// Which interface of CUPTI the modules of this process are linked to.
#pragma once

namespace stallscope::agent {

// True when a mapped module other than the agent and libcupti refers to the process-wide buffer functions, as torch's
// libkineto does. Reads the modules' symbol tables; takes the loader's lock for that long. Once, at set-up.
bool LinksProcessWideCupti() noexcept;

}  // namespace stallscope::agent
