// Writes the exported functions of one simulated API (runtime or driver) as source.
#ifndef STALLSCOPE_TESTS_SIMGPU_CODEGEN_GENERATOR_H_
#define STALLSCOPE_TESTS_SIMGPU_CODEGEN_GENERATOR_H_

#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/simgpu/codegen/parse_headers.h"

namespace simgpu::codegen {

// What differs between the runtime's and the driver's wrappers.
struct Flavour {
  std::string result_type;      // "cudaError_t"
  std::string prefix;           // of the exported names, as a regular expression
  std::string space;            // namespace of the handwritten bodies: "simgpu::runtime"
  std::string api_header;       // "cuda_runtime_api.h"
  std::string meta_header;      // the toolkit's parameter structs
  std::string entry_header;     // what the bodies share
  std::string domain;           // "kRuntime"
  bool ids_carry_version;       // callback ids are named cudaMalloc_v3020, not cuMemAlloc_v2
  std::string internal_define;  // defined before the toolkit's header, so that it declares old forms too; may be empty
};

Flavour RuntimeFlavour();
Flavour DriverFlavour();

class Generator {
 public:
  Generator(Flavour flavour, std::vector<Prototype> prototypes, const std::vector<CallbackId>& ids,
            std::set<std::string> structs);

  void WriteImplementationHeader(std::ostream& out) const;
  // Weak bodies for what nobody implemented.
  void WriteUnsupported(std::ostream& out) const;
  // The exported wrappers, which report to a tracer.
  void WriteExports(std::ostream& out) const;

 private:
  void WriteExport(std::ostream& out, const Prototype& p, const std::string& suffix) const;
  void WriteTracedCall(std::ostream& out, const Prototype& p, const CallbackId& id, const std::string& call) const;
  void WriteIncludeOfApi(std::ostream& out) const;

  const Flavour flavour_;
  std::vector<Prototype> prototypes_;      // without the per-thread variants
  std::set<std::string> per_thread_;       // names of the variants that the header declares
  std::map<std::string, CallbackId> ids_;  // by exported name
  const std::set<std::string> structs_;
};

}  // namespace simgpu::codegen

#endif  // STALLSCOPE_TESTS_SIMGPU_CODEGEN_GENERATOR_H_
