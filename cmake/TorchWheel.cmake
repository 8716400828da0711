# LibTorch as the torch wheel lays it out. find_package(Torch) is not used: it rewrites CUDA flags and architectures for
# the whole project and wants nvcc even for a CPU-only build. Included by the tree and by the installed package.
#   hotloop::torch   headers, libtorch_cpu, libc10 (and the CUDA halves in a CUDA build)
if(NOT HOTLOOP_TORCH_ROOT AND DEFINED ENV{HOTLOOP_TORCH_ROOT})
  set(HOTLOOP_TORCH_ROOT "$ENV{HOTLOOP_TORCH_ROOT}" CACHE PATH "Folder of the torch package" FORCE)
endif()
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

# imported, so that an installed package names it and the machine it is used on says where it is
add_library(hotloop::torch INTERFACE IMPORTED)
target_include_directories(hotloop::torch SYSTEM INTERFACE
  "${HOTLOOP_TORCH_ROOT}/include" "${HOTLOOP_TORCH_ROOT}/include/torch/csrc/api/include")
target_compile_definitions(hotloop::torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
# --no-as-needed: the CUDA backend registers itself when its library is loaded, no symbol of it need be named.
# --allow-shlib-undefined: what libtorch's own libraries need is found at run time, through their search paths.
target_link_options(hotloop::torch INTERFACE "LINKER:--no-as-needed" "LINKER:--allow-shlib-undefined")
set(libraries c10 torch_cpu) # not the stub libtorch: it pulls libtorch_cuda and all CUDA libraries into CPU-only programs
if(HOTLOOP_CUDA)
  list(APPEND libraries c10_cuda torch_cuda)
  target_link_libraries(hotloop::torch INTERFACE CUDA::cudart CUDA::cublas)
endif()
foreach(library ${libraries})
  target_link_libraries(hotloop::torch INTERFACE "${HOTLOOP_TORCH_ROOT}/lib/lib${library}.so")
endforeach()
