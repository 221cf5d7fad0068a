# Build rules shared by every folder: compiler settings, and one function per kind of target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "" FORCE)
endif()
# Dev: optimised enough to measure, asserts on, line tables only (small objects, fast links).
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG" CACHE STRING "" FORCE)

find_program(CCACHE ccache)
if(CCACHE)
  # sloppiness: precompiled headers need it; base_dir: build folders of one tree share the cache.
  set(_ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
              CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${_ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_ccache})
endif()
find_program(LLD ld.lld)

add_compile_options(-Wall -Wextra -Werror -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()

set(STALLSCOPE_SANITIZE "" CACHE STRING "Sanitizers for collector, tools and tests (never the agent)")
set(STALLSCOPE_SANITIZE_FLAGS "")
if(STALLSCOPE_SANITIZE)
  set(STALLSCOPE_SANITIZE_FLAGS -fsanitize=${STALLSCOPE_SANITIZE} -fno-omit-frame-pointer)
  # GCC says that ThreadSanitizer does not see fences. What relies on them (the rings and the clock's version) is tested by
  # agent_ring_torture_test and may be reported falsely.
  if(STALLSCOPE_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND STALLSCOPE_SANITIZE_FLAGS -Wno-tsan)
  endif()
endif()

# NVIDIA headers: an installed toolkit, else what tools/setup put into the cache folder.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(_cache_home $ENV{XDG_CACHE_HOME})
else()
  set(_cache_home $ENV{HOME}/.cache)
endif()
set(STALLSCOPE_CACHE "${_cache_home}/stallscope" CACHE PATH "Where tools/setup keeps what it downloads")
find_path(CUDA_INCLUDE_DIR cuda_runtime_api.h
          HINTS $ENV{CUDA_HOME}/include ${STALLSCOPE_CACHE}/cuda-13.0/nvidia/cu13/include /usr/local/cuda/include)
find_path(CUPTI_INCLUDE_DIR cupti.h
          HINTS ${CUDA_INCLUDE_DIR} $ENV{CUDA_HOME}/extras/CUPTI/include /usr/local/cuda/extras/CUPTI/include)
# CUDA 12, for the simulated GPU's libraries of that version alone.
find_path(CUDA12_INCLUDE_DIR cuda_runtime_api.h
          HINTS ${STALLSCOPE_CACHE}/cuda-12.9/nvidia/cuda_runtime/include NO_DEFAULT_PATH)
find_path(CUPTI12_INCLUDE_DIR cupti.h HINTS ${STALLSCOPE_CACHE}/cupti/12.9/nvidia/cuda_cupti/include NO_DEFAULT_PATH)
find_program(STALLSCOPE_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin ${STALLSCOPE_CACHE}/cuda-13.0/nvidia/cu13/bin /usr/local/cuda/bin)
if(NOT CUDA_INCLUDE_DIR OR NOT CUPTI_INCLUDE_DIR)
  message(FATAL_ERROR "CUDA and CUPTI headers not found: run tools/setup first")
endif()
add_library(stallscope_cuda_headers INTERFACE)
target_include_directories(stallscope_cuda_headers SYSTEM INTERFACE ${CUDA_INCLUDE_DIR} ${CUPTI_INCLUDE_DIR})

# stallscope_library(NAME SRCS... [LIBS ...]): a static library of the collector or the tools.
# Includes are written from the repository root: #include "collector/steps/step_finder.h".
function(stallscope_library name)
  cmake_parse_arguments(A "" "" "SRCS;LIBS" ${ARGN})
  add_library(${name} STATIC ${A_SRCS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${STALLSCOPE_SANITIZE_FLAGS})
  target_link_libraries(${name} PUBLIC ${A_LIBS})
endfunction()

# stallscope_program(NAME SRCS... [LIBS ...]): an executable of ours in build/<preset>/bin.
function(stallscope_program name)
  cmake_parse_arguments(A "" "" "SRCS;LIBS" ${ARGN})
  add_executable(${name} ${A_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE ${STALLSCOPE_SANITIZE_FLAGS})
  target_link_options(${name} PRIVATE ${STALLSCOPE_SANITIZE_FLAGS})
  target_link_libraries(${name} PRIVATE ${A_LIBS})
  if(LLD)
    target_link_options(${name} PRIVATE -fuse-ld=lld)
  endif()
endfunction()

# stallscope_test(NAME SRCS... [LIBS ...] [LABELS ...]): one GoogleTest binary, one ctest entry.
function(stallscope_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SRCS;LIBS;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  stallscope_program(${name} SRCS ${A_SRCS} LIBS ${A_LIBS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  if(STALLSCOPE_SANITIZE)
    math(EXPR A_TIMEOUT "${A_TIMEOUT} * 10")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT}
    ENVIRONMENT "STALLSCOPE_BUILD=${CMAKE_BINARY_DIR};STALLSCOPE_SOURCE=${PROJECT_SOURCE_DIR}")
endfunction()

# stallscope_bench(NAME SRCS... [LIBS ...]): a Google Benchmark program. Its smoke form runs in ctest so that it cannot
# rot; its numbers go into docs/performance.md by hand, with machine and date.
function(stallscope_bench name)
  cmake_parse_arguments(A "" "" "SRCS;LIBS" ${ARGN})
  find_package(benchmark REQUIRED)
  stallscope_program(${name} SRCS ${A_SRCS} LIBS ${A_LIBS} benchmark::benchmark_main)
  add_test(NAME ${name}_smoke COMMAND ${name} --benchmark_min_time=0.001)
  set_tests_properties(${name}_smoke PROPERTIES LABELS "bench-smoke" TIMEOUT 120)
endfunction()
