// Where a process's GPU work runs and what it is called: parts of a GPU (MIG), contexts (green ones with their share of
// the multiprocessors, those under MPS), and names that the program gave.
//
// Written by: ProcessAnalysis. Read by: its Report. Single thread, bounded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/base/event.h"
#include "collector/memory/memory_report.h"

namespace stallscope {

class GpuPlaces {
 public:
  static constexpr size_t kMaxContexts = 1024, kMaxNames = 4096, kMaxNameBytes = 256, kMaxDevices = 64;

  void OnDevice(const DeviceInfo& device);
  void OnContext(const ContextInfo& context);
  void OnNamed(const NamedInfo& named);
  // As State.MPS says it.
  void OnMps(uint64_t value, const std::string& how) { mps_ = value, mps_how_ = how; }

  std::vector<ContextReport> Contexts() const;
  std::vector<NamedReport> Names() const;
  // What a user must know to read the budget: parts of a GPU, green contexts, MPS.
  std::vector<std::string> Notices() const;

 private:
  struct Device {
    uint32_t multiprocessors = 0, gpu_instance = 0, compute_instance = 0;
    bool mig = false;
  };
  std::map<uint32_t, Device> devices_;
  std::map<uint32_t, ContextInfo> contexts_;
  std::map<std::pair<NamedKind, uint64_t>, std::string> names_;
  uint64_t mps_ = 0;
  std::string mps_how_;
};

}  // namespace stallscope
