# MuJoCo's C library as the mujoco-core wheel lays it out.
#   hotloop::mujoco   headers and libmujoco; absent when HOTLOOP_MUJOCO_ROOT is not set
set(HOTLOOP_MUJOCO_ROOT "" CACHE PATH "Folder of the mujoco package (holds include/ and libmujoco.so.*)")
if(HOTLOOP_MUJOCO_ROOT)
  file(GLOB library "${HOTLOOP_MUJOCO_ROOT}/libmujoco.so.*")
  if(NOT library)
    message(FATAL_ERROR "no libmujoco.so.* in HOTLOOP_MUJOCO_ROOT='${HOTLOOP_MUJOCO_ROOT}'; run ./hotloop, which fetches it")
  endif()
  add_library(hotloop::mujoco SHARED IMPORTED)
  set_target_properties(hotloop::mujoco PROPERTIES IMPORTED_LOCATION "${library}")
  target_include_directories(hotloop::mujoco SYSTEM INTERFACE "${HOTLOOP_MUJOCO_ROOT}/include")
endif()
