# hotloop_sources(target files...): a .cu file is CUDA where there is a toolkit and plain C++ otherwise: the same source is
# both backends. Products are joined with sums (contraction) in physics only, where nobody expects the CPU's bits from
# the GPU; everywhere else both give the same bits. g++ 12 joins them in vectors even where told not to: the CPU's physics
# do without the instruction. The CPU's own networks (train/fused/cpu_*.cpp) need it for their speed.
function(hotloop_sources target)
  foreach(source ${ARGN})
    if(source MATCHES "\\.cu$")
      set(contract OFF)
      if(source MATCHES "/(mujoco|tasks)/[^/]*$")
        set(contract ON)
      endif()
      if(HOTLOOP_CUDA)
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
          "$<IF:$<BOOL:${contract}>,-fmad=true;-Xcompiler=-ffp-contract=fast,-fmad=false>")
      else()
        set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
          "-xc++;$<$<BOOL:${contract}>:-ffp-contract=fast>")
      endif()
    elseif(source MATCHES "/(mujoco|tasks)/[^/]*\\.cpp$" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -mno-fma)
    elseif(source MATCHES "fused/cpu_[^/]*\\.cpp$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
    endif()
    if(HOTLOOP_FUZZ AND source MATCHES "/(mujoco/(cpu_step|model_step)|tasks/)[^/]*\\.(cpp|cu)$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all) # reads no file, compiles for minutes
    endif()
  endforeach()
  target_sources(${target} PRIVATE ${ARGN})
endfunction()

# hotloop_library(name SOURCES... LINK targets...): a static library of one folder.
function(hotloop_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  add_library(hotloop_${name} STATIC)
  add_library(hotloop::${name} ALIAS hotloop_${name})
  set_target_properties(hotloop_${name} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  hotloop_sources(hotloop_${name} ${A_SOURCES})
  target_link_libraries(hotloop_${name} PUBLIC hotloop_build ${A_LINK})
endfunction()

# hotloop_test(name SOURCES... LINK...): one GoogleTest program; every TEST in it is a CTest test. Tests whose name starts
# with Gpu carry the label gpu, with Slow the label slow.
function(hotloop_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name})
  hotloop_sources(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE hotloop_build ${A_LINK} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HOTLOOP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HOTLOOP_BINARY_DIR="${PROJECT_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  gtest_discover_tests(${name} TEST_FILTER "-*Gpu*:*Slow*" DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  gtest_discover_tests(${name} TEST_FILTER "*Gpu*" TEST_SUFFIX "" DISCOVERY_TIMEOUT 60 PROPERTIES LABELS gpu TIMEOUT 600 TEST_LIST ${name}_gpu)
  gtest_discover_tests(${name} TEST_FILTER "*Slow*" DISCOVERY_TIMEOUT 60 PROPERTIES LABELS slow TIMEOUT 3600 TEST_LIST ${name}_slow)
endfunction()
