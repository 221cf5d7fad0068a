// The unix sockets of collectors, as `stallscope run` deals with them.
#pragma once

#include <string>

namespace stallscope::cli {

// For the collector of this run: run-<pid>.sock beside the default socket, so that `stallscope top` finds it.
std::string OwnSocketPath(const std::string& default_socket_path);

// Removes run-<pid>.sock and its address file where that process is gone (a killed run leaves them). Never fails.
void RemoveLeftSockets(const std::string& default_socket_path);

// Whether somebody accepts connections at this path.
bool SomebodyListens(const std::string& socket_path);

}  // namespace stallscope::cli
