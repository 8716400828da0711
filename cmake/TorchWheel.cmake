# Imported targets for LibTorch as the torch wheel lays it out. find_package(Torch) is not used: it rewrites CUDA flags
# and architectures for the whole project and wants nvcc even for a CPU-only build.
#   hotloop::torch   headers, libtorch, libtorch_cpu, libc10 (and the CUDA halves in a CUDA build)
if(NOT HOTLOOP_TORCH_ROOT)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    execute_process(COMMAND ${Python3_EXECUTABLE} -c
      "import importlib.util as u; s = u.find_spec('torch'); print(list(s.submodule_search_locations)[0] if s else '')"
      OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(HOTLOOP_TORCH_ROOT "${root}" CACHE PATH "Folder of the torch package" FORCE)
  endif()
endif()
set(version_file "${HOTLOOP_TORCH_ROOT}/version.py")
if(NOT EXISTS "${version_file}")
  message(FATAL_ERROR "LibTorch not found at HOTLOOP_TORCH_ROOT='${HOTLOOP_TORCH_ROOT}'; run ./hotloop, which fetches it")
endif()
file(STRINGS "${version_file}" version REGEX "^__version__")
if(NOT version MATCHES "'2\\.11\\.")
  message(FATAL_ERROR "LibTorch at ${HOTLOOP_TORCH_ROOT}: ${version}; 2.11 is needed")
endif()

add_library(hotloop_torch INTERFACE)
add_library(hotloop::torch ALIAS hotloop_torch)
target_include_directories(hotloop_torch SYSTEM INTERFACE
  "${HOTLOOP_TORCH_ROOT}/include" "${HOTLOOP_TORCH_ROOT}/include/torch/csrc/api/include")
target_compile_definitions(hotloop_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
set(torch_lib "${HOTLOOP_TORCH_ROOT}/lib")
set(libraries c10 torch_cpu torch)
if(HOTLOOP_CUDA)
  list(APPEND libraries c10_cuda torch_cuda)
  target_link_libraries(hotloop_torch INTERFACE CUDA::cudart CUDA::cublas)
endif()
# --no-as-needed: the CUDA backend registers itself when its library is loaded, no symbol of it need be named
target_link_options(hotloop_torch INTERFACE "LINKER:--no-as-needed")
foreach(library ${libraries})
  target_link_libraries(hotloop_torch INTERFACE "${torch_lib}/lib${library}.so")
endforeach()
target_link_options(hotloop_torch INTERFACE "LINKER:--allow-shlib-undefined")
# The wheel finds its CUDA libraries in sibling wheels; where there are none they are a toolkit's. DT_RPATH (unlike
# DT_RUNPATH) also holds for what LibTorch itself loads, in a CPU-only build too.
set(torch_rpath "${torch_lib}")
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND)
  list(APPEND torch_rpath "${CUDAToolkit_LIBRARY_DIR}")
endif()
foreach(folder ${torch_rpath})
  target_link_options(hotloop_torch INTERFACE "LINKER:-rpath,${folder}")
endforeach()
target_link_options(hotloop_torch INTERFACE "LINKER:--disable-new-dtags")
