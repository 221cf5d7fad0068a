#include "collector/memory/gpu_places.h"

#include "absl/strings/str_cat.h"

namespace stallscope {

void GpuPlaces::OnDevice(const DeviceInfo& device) {
  if (devices_.size() >= kMaxDevices && devices_.count(device.device) == 0) return;
  devices_[device.device] = {device.multiprocessors, device.gpu_instance, device.compute_instance, device.mig};
}

void GpuPlaces::OnContext(const ContextInfo& context) {
  if (contexts_.size() >= kMaxContexts && contexts_.count(context.id) == 0) return;
  contexts_[context.id] = context;
}

void GpuPlaces::OnNamed(const NamedInfo& named) {
  const std::pair<NamedKind, uint64_t> key{named.kind, named.value};
  if (names_.size() >= kMaxNames && names_.count(key) == 0) return;
  names_[key] = std::string(named.name.substr(0, kMaxNameBytes));
}

std::vector<ContextReport> GpuPlaces::Contexts() const {
  std::vector<ContextReport> report;
  for (const auto& [id, context] : contexts_) {
    report.push_back({id, context.device, context.multiprocessors, context.green, context.mps});
  }
  return report;
}

std::vector<NamedReport> GpuPlaces::Names() const {
  std::vector<NamedReport> report;
  for (const auto& [key, name] : names_) {
    const char* kind = key.first == NamedKind::kStream    ? "stream"
                       : key.first == NamedKind::kContext ? "context"
                                                          : "device";
    report.push_back({kind, key.second, name});
  }
  return report;
}

std::vector<std::string> GpuPlaces::Notices() const {
  std::vector<std::string> notices;
  for (const auto& [number, device] : devices_) {
    if (!device.mig) continue;
    notices.push_back(absl::StrCat("GPU ", number, " is a part of a GPU (MIG, GPU instance ", device.gpu_instance,
                                   ", compute instance ", device.compute_instance, ") with ", device.multiprocessors,
                                   " multiprocessors"));
  }
  uint64_t green = 0;
  std::string shares;
  for (const auto& [id, context] : contexts_) {
    if (!context.green || ++green > 4) continue;
    const auto device = devices_.find(context.device);
    absl::StrAppend(&shares, shares.empty() ? "" : ", ", "context ", id, ": ", context.multiprocessors);
    if (device != devices_.end()) absl::StrAppend(&shares, " of ", device->second.multiprocessors);
  }
  if (green > 4) absl::StrAppend(&shares, ", and ", green - 4, " more");
  if (green > 0) notices.push_back(absl::StrCat("green contexts share the multiprocessors: ", shares));
  if (mps_ == 2) notices.push_back(absl::StrCat("runs under MPS (", mps_how_, "); kernels are traced as asked for"));
  if (mps_ == 1) {
    notices.push_back(absl::StrCat(
        "runs under MPS (", mps_how_,
        "): kernels are not traced, because a cooperative launch could hang; their time is in unknown.* lines. "
        "STALLSCOPE_MPS_KERNELS=1 traces them"));
  }
  return notices;
}

}  // namespace stallscope
