#include "tests/simgpu/codegen/parse_headers.h"

#include <cctype>
#include <regex>

namespace simgpu::codegen {
namespace {

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> SplitAtTopLevelCommas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Parameter ParseParameter(const std::string& text, size_t position) {
  Parameter parameter;
  parameter.declaration = Trim(text.substr(0, text.find('=')));
  size_t begin = parameter.declaration.size();
  while (begin > 0 && IsWordCharacter(parameter.declaration[begin - 1])) --begin;
  parameter.name = parameter.declaration.substr(begin);
  // A prototype may leave its parameter unnamed: then the last word is part of the type, or missing behind a star.
  const std::string before = Trim(parameter.declaration.substr(0, begin));
  if (parameter.name.empty() || before.empty()) {
    parameter.name = "p" + std::to_string(position);
    parameter.declaration += " " + parameter.name;
  }
  return parameter;
}

}  // namespace

std::vector<Prototype> ParsePrototypes(const std::string& text, const std::string& result_type,
                                       const std::string& prefix) {
  std::vector<Prototype> prototypes;
  std::set<std::string> seen;
  const std::regex start(result_type + "\\s+(" + prefix + "\\w+)\\s*\\(");
  for (std::sregex_iterator match(text.begin(), text.end(), start), end; match != end; ++match) {
    const size_t open = static_cast<size_t>(match->position() + match->length());
    size_t close = open;
    for (int depth = 1; close < text.size(); ++close) {
      depth += (text[close] == '(') - (text[close] == ')');
      if (depth == 0) break;
    }
    Prototype prototype;
    prototype.name = (*match)[1];
    if (!seen.insert(prototype.name).second) continue;
    const std::string inside = Trim(text.substr(open, close - open));
    if (!inside.empty() && inside != "void") {
      for (const std::string& part : SplitAtTopLevelCommas(inside)) {
        prototype.parameters.push_back(ParseParameter(part, prototype.parameters.size()));
      }
    }
    prototypes.push_back(prototype);
  }
  return prototypes;
}

std::vector<CallbackId> ParseCallbackIds(const std::string& text, const std::string& enum_prefix) {
  std::vector<CallbackId> ids;
  const std::regex entry(enum_prefix + "(\\w+)\\s*=\\s*(\\d+),");
  for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
    const std::string name = (*match)[1];
    if (name == "SIZE" || name == "INVALID" || name == "FORCE_INT") continue;
    ids.push_back({name, std::stoi((*match)[2])});
  }
  return ids;
}

std::set<std::string> ParseParameterStructs(const std::string& text) {
  std::set<std::string> names;
  const std::regex entry("typedef struct (\\w+)_params_st");
  for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

std::set<std::string> ParseDeclaredNames(const std::string& text) {
  std::set<std::string> names;
  const std::regex entry("CUDARTAPI\\s+(cuda\\w+)\\s*\\(");
  for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

std::map<std::string, std::set<int>> ParseFunctionVersions(const std::string& text) {
  std::map<std::string, std::set<int>> versions;
  const std::regex entry("\\*PFN_(cu\\w+)_v(\\d+)\\)");  // those of the per-thread variants end in _ptsz
  for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match) {
    versions[(*match)[1]].insert(std::stoi((*match)[2]));
  }
  return versions;
}

std::vector<FunctionForm> FunctionForms(const std::map<std::string, std::set<int>>& versions,
                                        const std::vector<Prototype>& prototypes) {
  std::map<std::string, std::set<std::string>> exported;  // in order of age: cuX, cuX_v2, cuX_v3
  for (const Prototype& p : prototypes) {
    if (p.name.size() > 5 && p.name.compare(p.name.size() - 5, 3, "_pt") == 0) continue;
    exported[WithoutVersion(p.name)].insert(p.name);
  }
  std::vector<FunctionForm> forms;
  for (const auto& [function, names] : exported) {
    const auto known = versions.find(function);
    std::vector<int> since(known == versions.end() ? std::vector<int>{}
                                                   : std::vector<int>(known->second.begin(), known->second.end()));
    auto version = since.rbegin();
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      forms.push_back({function, version == since.rend() ? 0 : *version, *name});
      if (version != since.rend()) ++version;
    }
  }
  return forms;
}

std::string WithoutVersion(const std::string& name) {
  const size_t suffix = name.rfind("_v");
  if (suffix == std::string::npos || suffix + 2 == name.size()) return name;
  for (size_t i = suffix + 2; i < name.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(name[i]))) return name;
  }
  return name.substr(0, suffix);
}

std::map<std::string, CallbackId> NewestByFunction(const std::vector<CallbackId>& ids) {
  std::map<std::string, CallbackId> newest;
  // Numbers grow with time, so the largest is the function's present form.
  for (const CallbackId& id : ids) {
    CallbackId& slot = newest[WithoutVersion(id.name)];
    if (id.number > slot.number) slot = id;
  }
  return newest;
}

}  // namespace simgpu::codegen
