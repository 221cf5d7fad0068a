#include "tests/simgpu/runtime/symbols.h"

#include <mutex>
#include <unordered_map>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

struct SymbolTable {
  std::mutex mutex;
  std::unordered_map<const void*, Symbol> symbols;
};

SymbolTable& Table() {
  static auto* table = new SymbolTable;
  return *table;
}

}  // namespace

void RegisterSymbol(const void* host_variable, size_t bytes) {
  SymbolTable& table = Table();
  std::lock_guard lock(table.mutex);
  Symbol& symbol = table.symbols[host_variable];
  if (symbol.address == nullptr) symbol = {Simulator::Get().memory().AllocateDevice(bytes), bytes};
}

Symbol FindSymbol(const void* host_variable) {
  SymbolTable& table = Table();
  std::lock_guard lock(table.mutex);
  auto found = table.symbols.find(host_variable);
  return found == table.symbols.end() ? Symbol{} : found->second;
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  const Symbol found = FindSymbol(symbol);
  if (found.address == nullptr) return cudaErrorInvalidSymbol;
  *address = found.address;
  return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  const Symbol found = FindSymbol(symbol);
  if (found.address == nullptr) return cudaErrorInvalidSymbol;
  *bytes = found.bytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  const Symbol found = FindSymbol(symbol);
  if (found.address == nullptr) return cudaErrorInvalidSymbol;
  return runtime::cudaMemcpy(static_cast<char*>(found.address) + offset, source, bytes, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  const Symbol found = FindSymbol(symbol);
  if (found.address == nullptr) return cudaErrorInvalidSymbol;
  return runtime::cudaMemcpyAsync(static_cast<char*>(found.address) + offset, source, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  const Symbol found = FindSymbol(symbol);
  if (found.address == nullptr) return cudaErrorInvalidSymbol;
  return runtime::cudaMemcpy(destination, static_cast<const char*>(found.address) + offset, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  const Symbol found = FindSymbol(symbol);
  if (found.address == nullptr) return cudaErrorInvalidSymbol;
  return runtime::cudaMemcpyAsync(destination, static_cast<const char*>(found.address) + offset, bytes, kind, stream);
}

}  // namespace simgpu::runtime
