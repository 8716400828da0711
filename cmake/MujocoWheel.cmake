# MuJoCo's C library as the mujoco-core wheel lays it out. It loads models; stepping is ours.
#   hotloop::mujoco   headers and libmujoco
set(HOTLOOP_MUJOCO_ROOT "" CACHE PATH "Folder of the mujoco package (holds include/ and libmujoco.so.*)")
if(NOT HOTLOOP_MUJOCO_ROOT)
  message(FATAL_ERROR "HOTLOOP_MUJOCO_ROOT is not set: the folder of the mujoco package; run ./hotloop, which fetches it")
endif()
file(GLOB HOTLOOP_MUJOCO_LIBRARY "${HOTLOOP_MUJOCO_ROOT}/libmujoco.so.*")
if(NOT HOTLOOP_MUJOCO_LIBRARY)
  message(FATAL_ERROR "no libmujoco.so.* in HOTLOOP_MUJOCO_ROOT='${HOTLOOP_MUJOCO_ROOT}'; run ./hotloop, which fetches it")
endif()
add_library(hotloop::mujoco SHARED IMPORTED)
set_target_properties(hotloop::mujoco PROPERTIES IMPORTED_LOCATION "${HOTLOOP_MUJOCO_LIBRARY}")
target_include_directories(hotloop::mujoco SYSTEM INTERFACE "${HOTLOOP_MUJOCO_ROOT}/include")
