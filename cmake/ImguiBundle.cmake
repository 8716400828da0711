# The viewer's window and widgets, compiled from the sources that the imgui-bundle package carries:
#   hotloop::glfw               windows and input (X11, found at run time; null platform)
#   hotloop::imgui              Dear ImGui (docking) with its GLFW and OpenGL backends, ImPlot; OpenGL through libepoxy
#   hotloop::imgui_test_engine  drives the real widgets in tests
# Widgets are compiled once, with the hooks that the test engine needs; where it is not linked they are empty.
set(HOTLOOP_IMGUI_ROOT "" CACHE PATH "Folder of imgui-bundle's sources (holds external/imgui, external/glfw ...)")
if(NOT EXISTS "${HOTLOOP_IMGUI_ROOT}/external/imgui/imgui/imgui.cpp")
  message(FATAL_ERROR "no external/imgui/imgui/imgui.cpp in HOTLOOP_IMGUI_ROOT='${HOTLOOP_IMGUI_ROOT}'; run ./hotloop, which fetches it")
endif()
find_path(HOTLOOP_EPOXY_INCLUDE epoxy/gl.h REQUIRED)
find_library(HOTLOOP_EPOXY_LIBRARY epoxy REQUIRED)

set(external "${HOTLOOP_IMGUI_ROOT}/external")
foreach(option GLFW_BUILD_DOCS GLFW_BUILD_TESTS GLFW_BUILD_EXAMPLES GLFW_INSTALL GLFW_BUILD_WAYLAND)
  set(${option} OFF CACHE BOOL "" FORCE)
endforeach()
set(BUILD_SHARED_LIBS OFF)
add_subdirectory("${external}/glfw/glfw" "${PROJECT_BINARY_DIR}/glfw" EXCLUDE_FROM_ALL SYSTEM)
add_library(hotloop::glfw ALIAS glfw)

file(GLOB imgui_sources "${external}/imgui/imgui/*.cpp" "${external}/implot/implot/*.cpp")
list(FILTER imgui_sources EXCLUDE REGEX "implot_demo\\.cpp$")
add_library(hotloop_imgui STATIC ${imgui_sources} "${external}/imgui/imgui/misc/cpp/imgui_stdlib.cpp"
  "${external}/imgui/imgui/backends/imgui_impl_glfw.cpp" "${external}/imgui/imgui/backends/imgui_impl_opengl3.cpp")
add_library(hotloop::imgui ALIAS hotloop_imgui)
set_target_properties(hotloop_imgui PROPERTIES EXPORT_NAME imgui)
foreach(folder imgui/imgui imgui/imgui/backends imgui/imgui/misc/cpp implot/implot)
  target_include_directories(hotloop_imgui SYSTEM PUBLIC "$<BUILD_INTERFACE:${external}/${folder}>")
endforeach()
target_compile_definitions(hotloop_imgui PUBLIC IMGUI_ENABLE_TEST_ENGINE IMGUI_DISABLE_OBSOLETE_FUNCTIONS
  IMGUI_IMPL_OPENGL_LOADER_CUSTOM)
target_compile_options(hotloop_imgui PRIVATE -w -include epoxy/gl.h)
target_link_libraries(hotloop_imgui PUBLIC glfw epoxy ${CMAKE_DL_LIBS})

# the hooks of who has no test engine: behind the widgets that call them, and behind the engine where there is one
add_library(hotloop_no_test_engine STATIC viz/no_test_engine.cpp)
set_target_properties(hotloop_no_test_engine PROPERTIES EXPORT_NAME no_test_engine)
target_include_directories(hotloop_no_test_engine SYSTEM PRIVATE "${external}/imgui/imgui")
target_link_libraries(hotloop_no_test_engine PRIVATE hotloop_build)
target_link_libraries(hotloop_imgui PUBLIC hotloop_no_test_engine)

file(GLOB engine_sources "${external}/imgui_test_engine/imgui_test_engine/imgui_test_engine/*.cpp")
list(FILTER engine_sources EXCLUDE REGEX "python_gil\\.cpp$")
add_library(hotloop_imgui_test_engine STATIC EXCLUDE_FROM_ALL ${engine_sources})
add_library(hotloop::imgui_test_engine ALIAS hotloop_imgui_test_engine)
target_include_directories(hotloop_imgui_test_engine SYSTEM PUBLIC
  "${external}/imgui_test_engine/imgui_test_engine" "${external}/imgui_test_engine/imgui_test_engine/imgui_test_engine")
target_compile_definitions(hotloop_imgui_test_engine PUBLIC IMGUI_TEST_ENGINE_ENABLE_COROUTINE_STDTHREAD_IMPL=1)
target_compile_options(hotloop_imgui_test_engine PRIVATE -w)
target_link_libraries(hotloop_imgui_test_engine PUBLIC hotloop_imgui Threads::Threads)
