// Reads what the wrappers need from the CUDA toolkit's own headers: prototypes, callback ids, parameter structs.
#ifndef STALLSCOPE_TESTS_SIMGPU_CODEGEN_PARSE_HEADERS_H_
#define STALLSCOPE_TESTS_SIMGPU_CODEGEN_PARSE_HEADERS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace simgpu::codegen {

struct Parameter {
  std::string declaration;  // "const void *src", without default value
  std::string name;         // "src"
};

struct Prototype {
  std::string name;
  std::vector<Parameter> parameters;
};

struct CallbackId {
  std::string name;  // with version suffix: cudaMemcpyAsync_v3020
  int number = 0;
};

// Every `<result type> <prefix>...(...)` of a preprocessed header, in order, first one of a name only.
std::vector<Prototype> ParsePrototypes(const std::string& text, const std::string& result_type,
                                       const std::string& prefix);
// Entries `<enum_prefix><name> = <number>,`, without _SIZE, _INVALID and _FORCE_INT.
std::vector<CallbackId> ParseCallbackIds(const std::string& text, const std::string& enum_prefix);
// Names of the structs `<name>_params_st`, as <name>.
std::set<std::string> ParseParameterStructs(const std::string& text);
// Functions declared with CUDARTAPI in a header that is not preprocessed.
std::set<std::string> ParseDeclaredNames(const std::string& text);

// The CUDA versions at which each driver function changed its form, by name, from the names of cudaTypedefs.h:
// PFN_cuMemAdvise_v8000, PFN_cuMemAdvise_v12020.
std::map<std::string, std::set<int>> ParseFunctionVersions(const std::string& text);

// One form of a driver function: programs of `since_version` or later that ask for `function` get `exported`.
struct FunctionForm {
  std::string function;  // "cuMemAdvise"
  int since_version = 0;
  std::string exported;  // "cuMemAdvise_v2"
};
// Pairs versions with exported forms, the newest with the newest. A form without a version counts from version 0 on.
std::vector<FunctionForm> FunctionForms(const std::map<std::string, std::set<int>>& versions,
                                        const std::vector<Prototype>& prototypes);

// Name without `_v<digits>`; the whole name when it has none.
std::string WithoutVersion(const std::string& name);
// The newest callback id of each function, by name without version.
std::map<std::string, CallbackId> NewestByFunction(const std::vector<CallbackId>& ids);

}  // namespace simgpu::codegen

#endif  // STALLSCOPE_TESTS_SIMGPU_CODEGEN_PARSE_HEADERS_H_
