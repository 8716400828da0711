# Options, language settings and warnings for our own targets.
include(CheckLanguage)
include(CheckCXXSourceRuns)

option(HOTLOOP_CUDA "Build the CUDA backend (needs nvcc 13)" ON)
option(HOTLOOP_SANITIZE "Address and undefined-behaviour sanitizers" OFF)
option(HOTLOOP_FUZZ "The fuzzers of tests/fuzz (needs clang; set HOTLOOP_SANITIZE too)" OFF)
set(HOTLOOP_TORCH_ROOT "" CACHE PATH "Folder of the torch package (holds include/ and lib/)")
set(HOTLOOP_MARCH "auto" CACHE STRING "-march for the CPU backend: auto (x86-64-v3 where this machine has it), none, or a value")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HOTLOOP_CCACHE ccache)
if(HOTLOOP_CCACHE)
  # paths below the source folder count relative to it: clones in different folders share what they compiled
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${HOTLOOP_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

if(HOTLOOP_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # the local card; without one the two data-centre generations and PTX for what comes after
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE caps ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0 AND caps MATCHES "^([0-9]+)\\.([0-9]+)")
      set(CMAKE_CUDA_ARCHITECTURES "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
    else()
      set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual")
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    include(CudaLanguage)
    if(CUDAToolkit_VERSION VERSION_LESS 13)
      message(WARNING "CUDA ${CUDAToolkit_VERSION} is older than 13: building for the CPU only")
      set(HOTLOOP_CUDA OFF)
    endif()
  else()
    message(STATUS "no nvcc: building for the CPU only")
    set(HOTLOOP_CUDA OFF)
  endif()
endif()

# DT_RPATH rather than DT_RUNPATH: it also serves what our dependencies load. libtorch names CUDA libraries that may be
# in the toolkit only.
add_link_options("LINKER:--disable-new-dtags")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
if(HOTLOOP_CUDA)
  set(CMAKE_BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
  list(APPEND CMAKE_INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
endif()

if(HOTLOOP_MARCH STREQUAL "auto")
  set(HOTLOOP_MARCH "none")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(CMAKE_REQUIRED_FLAGS "-march=x86-64-v3")
    check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") ? 0 : 1; }"
                          HOTLOOP_HAS_X86_64_V3)
    unset(CMAKE_REQUIRED_FLAGS)
    if(HOTLOOP_HAS_X86_64_V3)
      set(HOTLOOP_MARCH "x86-64-v3")
    endif()
  endif()
endif()

# hotloop_build: what every own target is compiled with.
add_library(hotloop_build INTERFACE)
set(host_flags -Wall -Wextra -Werror -Wno-unknown-pragmas)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND host_flags -Wno-restrict) # g++ 12 sees overlaps in string concatenation that are not there (GCC bug 105651)
endif()
# -ffp-contract=off (CUDA: -fmad, in HotloopFunctions.cmake): the same bits on every compiler and on the GPU; the other two change no value, only permit vectors
set(math_flags -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(NOT HOTLOOP_MARCH STREQUAL "none")
  list(APPEND math_flags -march=${HOTLOOP_MARCH})
endif()
# programs outside this tree inherit what decides the bits, not our warnings
string(REPLACE ";" "," host_list "${host_flags}")
string(REPLACE ";" "," math_list "${math_flags}")
target_compile_options(hotloop_build INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${host_flags}>>"
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${host_list};-Werror=all-warnings>>"
  "$<$<COMPILE_LANGUAGE:CXX>:${math_flags}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${math_list};--expt-relaxed-constexpr;--extended-lambda>")
target_compile_features(hotloop_build INTERFACE cxx_std_20)
if(HOTLOOP_CUDA)
  target_compile_definitions(hotloop_build INTERFACE HOTLOOP_CUDA=1)
endif()
if(HOTLOOP_SANITIZE)
  target_compile_options(hotloop_build INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hotloop_build INTERFACE -fsanitize=address,undefined)
  target_sources(hotloop_build INTERFACE "$<BUILD_INTERFACE:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:\
${PROJECT_SOURCE_DIR}/cmake/sanitizer_defaults.cpp>>")
endif()
if(HOTLOOP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HOTLOOP_FUZZ needs clang++, not ${CMAKE_CXX_COMPILER}")
  endif()
  target_compile_options(hotloop_build INTERFACE -fsanitize=fuzzer-no-link,float-cast-overflow)
endif()
target_include_directories(hotloop_build INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:include/hotloop>)
