# cmake --install: a tree that runs from anywhere, and a package that find_package(hotloop) finds.
include(CMakePackageConfigHelpers)
set(libraries hotloop_sim hotloop_data hotloop_train hotloop_generic hotloop_viz hotloop_imgui glfw hotloop_no_test_engine
    hotloop_bench hotloop_app)
set(package_dir lib/cmake/hotloop)

install(TARGETS hotloop RUNTIME DESTINATION bin)
install(TARGETS hotloop_build ${libraries} EXPORT hotloopTargets ARCHIVE DESTINATION lib LIBRARY DESTINATION lib)
install(EXPORT hotloopTargets NAMESPACE hotloop:: DESTINATION ${package_dir})
install(DIRECTORY sim data train viz app DESTINATION include/hotloop FILES_MATCHING PATTERN "*.h")
install(FILES "${HOTLOOP_MUJOCO_LIBRARY}" DESTINATION lib)
install(DIRECTORY assets DESTINATION share/hotloop)

# what our libraries link to, as far as this build uses it
get_property(found GLOBAL PROPERTY PACKAGES_FOUND)
foreach(package fmt nlohmann_json CLI11 spdlog tomlplusplus Protobuf ZLIB PNG HDF5)
  if(package STREQUAL "HDF5" AND package IN_LIST found)
    string(APPEND HOTLOOP_FIND_DEPENDENCIES "enable_language(C)\n") # find_package(HDF5) tries the C compiler
  endif()
  if(package IN_LIST found)
    string(APPEND HOTLOOP_FIND_DEPENDENCIES "find_dependency(${package})\n")
  endif()
endforeach()
cmake_path(GET HOTLOOP_MUJOCO_LIBRARY FILENAME HOTLOOP_MUJOCO_FILE)
configure_package_config_file(cmake/hotloopConfig.cmake.in "${PROJECT_BINARY_DIR}/hotloopConfig.cmake"
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hotloopConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hotloopConfig.cmake" "${PROJECT_BINARY_DIR}/hotloopConfigVersion.cmake"
  cmake/TorchWheel.cmake cmake/CudaLanguage.cmake cmake/HotloopFunctions.cmake DESTINATION ${package_dir})
