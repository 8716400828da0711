#include "viz/gl/interop.h"

#include <epoxy/gl.h>

#include <cstdlib>

#include "sim/core/cuda_check.h"
#ifdef HOTLOOP_CUDA
#include <cuda_gl_interop.h>
#endif

namespace hotloop {

#ifdef HOTLOOP_CUDA

namespace {

cudaGraphicsResource_t& as_cuda(void*& resource) { return reinterpret_cast<cudaGraphicsResource_t&>(resource); }
cudaStream_t stream_of(const Exec& exec) { return static_cast<cudaStream_t>(exec.stream); }

}  // namespace

std::unique_ptr<InteropBuffer> InteropBuffer::open(unsigned gl_buffer, Device device, std::string& reason) {
  if (const char* off = std::getenv("HOTLOOP_NO_INTEROP"); off != nullptr && *off != '\0') {
    reason = "switched off by HOTLOOP_NO_INTEROP";
    return nullptr;
  }
  int devices[16];
  unsigned count = 0;
  cudaError_t status = cudaGLGetDevices(&count, devices, 16, cudaGLDeviceListAll);
  bool same = false;
  for (unsigned i = 0; status == cudaSuccess && i < count; ++i) same = same || devices[i] == device.index;
  if (!same) {
    cudaGetLastError();  // it is not an error that others should meet
    reason = status == cudaSuccess ? "OpenGL runs on another card" : "OpenGL does not run on a CUDA card";
    return nullptr;
  }
  std::unique_ptr<InteropBuffer> buffer(new InteropBuffer);
  SIM_CHECK_CUDA(cudaSetDevice(device.index));
  status = cudaGraphicsGLRegisterBuffer(&as_cuda(buffer->resource_), gl_buffer, cudaGraphicsRegisterFlagsWriteDiscard);
  if (status == cudaSuccess) return buffer;
  cudaGetLastError();
  reason = cudaGetErrorString(status);
  return nullptr;
}

InteropBuffer::~InteropBuffer() {
  if (resource_ != nullptr) cudaGraphicsUnregisterResource(as_cuda(resource_));
}

void* InteropBuffer::map(const Exec& exec) {
  SIM_CHECK_CUDA(cudaSetDevice(exec.device.index));
  SIM_CHECK_CUDA(cudaGraphicsMapResources(1, &as_cuda(resource_), stream_of(exec)));
  void* pointer = nullptr;
  std::size_t bytes = 0;
  SIM_CHECK_CUDA(cudaGraphicsResourceGetMappedPointer(&pointer, &bytes, as_cuda(resource_)));
  return pointer;
}

void InteropBuffer::unmap(const Exec& exec) {
  SIM_CHECK_CUDA(cudaGraphicsUnmapResources(1, &as_cuda(resource_), stream_of(exec)));
}

#else

std::unique_ptr<InteropBuffer> InteropBuffer::open(unsigned, Device, std::string& reason) {
  reason = "built without CUDA";
  return nullptr;
}
InteropBuffer::~InteropBuffer() = default;
void* InteropBuffer::map(const Exec&) { return nullptr; }
void InteropBuffer::unmap(const Exec&) {}

#endif

}  // namespace hotloop
