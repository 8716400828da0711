# Enables CUDA with C++20 and the shared runtime. Included by the tree and by the installed package.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # torch uses the shared one: two runtimes in a process would not share state
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc takes C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
# CUDA 13 has no nvToolsExt, and FindCUDAToolkit of CMake 3.25.1 (Debian 12) fails when there is no such target
if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit REQUIRED)
