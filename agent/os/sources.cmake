stallscope_agent_sources(condition_hooks.cc confinement.cc descriptor_hooks.cc epoll_members.cc fd_kinds.cc fd_table.cc futex_hook.cc lock_hooks.cc poll_hooks.cc
  python_lock.cc
  select_hooks.cc semaphore_hooks.cc sleep_hooks.cc socket_hooks.cc thread_hooks.cc timed_calls.cc wait_frame.cc)
