#include "sim/core/device.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "sim/core/cuda_check.h"
#include "sim/core/error.h"
#include "sim/core/host_memory.h"
#include "sim/core/memory_slots.h"
#include "sim/core/shell.h"

namespace hotloop {
namespace {

constexpr std::size_t kAlignment = 256;
// Linux promises more memory than there is and ends the process that touches it: a block from this size on is asked
// for only where it is there.
constexpr std::size_t kLargeBlock = std::size_t{1} << 24;

std::string megabytes(std::size_t bytes) { return std::to_string(bytes / 1000000) + " MB"; }

#ifdef HOTLOOP_CUDA
cudaStream_t cuda_stream(const Exec& exec) { return static_cast<cudaStream_t>(exec.stream); }

void select(Device device) { SIM_CHECK_CUDA(cudaSetDevice(device.index)); }

void* allocate_cuda(Device device, std::size_t bytes, Memory::Kind kind) {
  select(device);
  void* p = nullptr;
  const cudaError_t status =
      kind == Memory::Kind::pinned ? cudaHostAlloc(&p, bytes, cudaHostAllocMapped) : cudaMalloc(&p, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    throw OutOfMemory(device.str() + ": out of memory: " + megabytes(bytes) + " asked for, " + megabytes(free_bytes) +
                      " of " + megabytes(total_bytes) + " free");
  }
  SIM_CHECK_CUDA(status);
  if (kind == Memory::Kind::pinned) {
    std::memset(p, 0, bytes);
  } else {
    SIM_CHECK_CUDA(cudaMemset(p, 0, bytes));
    SIM_CHECK_CUDA(cudaDeviceSynchronize());  // the fill runs on the default stream, users on others
  }
  return p;
}
#endif

}  // namespace

bool built_with_cuda() {
#ifdef HOTLOOP_CUDA
  return true;
#else
  return false;
#endif
}

int cuda_device_count() {
#ifdef HOTLOOP_CUDA
  int count = 0;
  // without a driver the call fails and leaves count untouched: any error means no device
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
#else
  return 0;
#endif
}

Device parse_device(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "auto") return cuda_device_count() > 0 ? Device{Device::Kind::cuda, 0} : Device{};
  int index = 0;
  if (text != "cuda") {
    const std::string digits = text.rfind("cuda:", 0) == 0 ? text.substr(5) : "";
    if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
      throw Error("device '" + text + "' is not one of auto, cpu, cuda, cuda:N");
    index = std::stoi(digits);
  }
  if (!built_with_cuda()) throw Error("device '" + text + "': this build has no CUDA backend; use --device cpu");
  const int count = cuda_device_count();
  if (count == 0)
    throw Error("device '" + text + "': no CUDA device answers here; use --device cpu (see " + program_name() +
                " doctor)");
  if (index >= count)
    throw Error("device '" + text + "': only " + std::to_string(count) +
                " CUDA device(s), the highest is cuda:" + std::to_string(count - 1));
  return {Device::Kind::cuda, index};
}

CudaDeviceInfo cuda_device_info(int index) {
  CudaDeviceInfo info;
#ifdef HOTLOOP_CUDA
  cudaDeviceProp prop;
  SIM_CHECK_CUDA(cudaGetDeviceProperties(&prop, index));
  select({Device::Kind::cuda, index});
  SIM_CHECK_CUDA(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
  SIM_CHECK_CUDA(cudaDriverGetVersion(&info.driver_version));
  SIM_CHECK_CUDA(cudaRuntimeGetVersion(&info.runtime_version));
  info.name = prop.name;
  char bus_id[32];
  SIM_CHECK_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, index));
  info.pci_bus_id = bus_id;
  info.major = prop.major;
  info.minor = prop.minor;
  info.sm_count = prop.multiProcessorCount;
  int clock_khz = 0, memory_khz = 0;
  SIM_CHECK_CUDA(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, index));
  SIM_CHECK_CUDA(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, index));
  info.clock_hz = 1e3 * clock_khz;
  info.memory_bytes_per_second = 2e3 * memory_khz * prop.memoryBusWidth / 8;  // both edges of the clock
  info.shared_per_sm = prop.sharedMemPerMultiprocessor;
  info.shared_per_block = prop.sharedMemPerBlockOptin;
  info.shared_reserved = prop.reservedSharedMemPerBlock;
#else
  throw Error("cuda:" + std::to_string(index) + ": this build has no CUDA backend");
#endif
  return info;
}

void synchronize(const Exec& exec) {
#ifdef HOTLOOP_CUDA
  if (exec.device.is_cuda()) SIM_CHECK_CUDA(cudaStreamSynchronize(cuda_stream(exec)));
#else
  (void)exec;
#endif
}

StreamHandle::StreamHandle(Device device) {
#ifdef HOTLOOP_CUDA
  if (!device.is_cuda()) return;
  select(device);
  cudaStream_t stream = nullptr;
  SIM_CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_ = stream;
#else
  (void)device;
#endif
}

StreamHandle::~StreamHandle() {
#ifdef HOTLOOP_CUDA
  if (stream_ != nullptr) cudaStreamDestroy(static_cast<cudaStream_t>(stream_));
#endif
}

StreamHandle::StreamHandle(StreamHandle&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}

EventHandle::EventHandle(Device device) : device_(device) {
#ifdef HOTLOOP_CUDA
  if (!device.is_cuda()) return;
  select(device);
  cudaEvent_t event = nullptr;
  SIM_CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
  event_ = event;
#endif
}

EventHandle::~EventHandle() {
#ifdef HOTLOOP_CUDA
  if (event_ != nullptr) cudaEventDestroy(static_cast<cudaEvent_t>(event_));
#endif
}

EventHandle::EventHandle(EventHandle&& other) noexcept
    : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}

void EventHandle::record(const Exec& exec) {
#ifdef HOTLOOP_CUDA
  if (event_ != nullptr) SIM_CHECK_CUDA(cudaEventRecord(static_cast<cudaEvent_t>(event_), cuda_stream(exec)));
#else
  (void)exec;
#endif
}

void EventHandle::wait(const Exec& exec) const {
#ifdef HOTLOOP_CUDA
  if (event_ != nullptr) SIM_CHECK_CUDA(cudaStreamWaitEvent(cuda_stream(exec), static_cast<cudaEvent_t>(event_), 0));
#else
  (void)exec;
#endif
}

bool EventHandle::reached() const {
#ifdef HOTLOOP_CUDA
  if (event_ != nullptr) {
    const cudaError_t status = cudaEventQuery(static_cast<cudaEvent_t>(event_));
    if (status == cudaErrorNotReady) return false;
    SIM_CHECK_CUDA(status);
  }
#endif
  return true;
}

void EventHandle::synchronize() const {
#ifdef HOTLOOP_CUDA
  if (event_ == nullptr) return;
  select(device_);  // another thread than the one that made it
  SIM_CHECK_CUDA(cudaEventSynchronize(static_cast<cudaEvent_t>(event_)));
#endif
}

// Not Memory's own: a part of MemorySlots.
constexpr auto kBorrowed = static_cast<Memory::Kind>(2);

Memory::Memory(Device device, std::size_t bytes, Kind kind) : device_(device), kind_(kind), bytes_(bytes) {
  if (bytes == 0) return;
  if (kind == Kind::plain && (data_ = MemorySlots::take(device, bytes)) != nullptr) {
    kind_ = kBorrowed;
    return;
  }
#ifdef HOTLOOP_CUDA
  if (device.is_cuda()) {
    data_ = static_cast<std::byte*>(allocate_cuda(device, bytes, kind));
    return;
  }
#endif
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes >= kLargeBlock) {
    const std::uint64_t available = available_memory();
    if (available < bytes)
      throw OutOfMemory("cpu: out of memory: " + megabytes(bytes) + " asked for, " + megabytes(available) + " free");
  }
  void* p = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (p == nullptr) throw OutOfMemory("cpu: out of memory: " + megabytes(bytes) + " asked for");
  std::memset(p, 0, rounded);
  data_ = static_cast<std::byte*>(p);
}

Memory::~Memory() {
  if (data_ == nullptr || kind_ == kBorrowed) return;
#ifdef HOTLOOP_CUDA
  if (device_.is_cuda()) {
    if (kind_ == Kind::pinned)
      cudaFreeHost(data_);
    else
      cudaFree(data_);
    return;
  }
#endif
  std::free(data_);
}

Memory::Memory(Memory&& other) noexcept
    : device_(other.device_),
      kind_(other.kind_),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this != &other) {
    this->~Memory();
    new (this) Memory(std::move(other));
  }
  return *this;
}

namespace {

thread_local MemorySlots* filled_slots = nullptr;

}  // namespace

MemorySlots::Open::Open(MemorySlots* slots) { filled_slots = slots; }
MemorySlots::Open::~Open() { filled_slots = nullptr; }

MemorySlots::MemorySlots(Device device, std::int64_t count, std::size_t stride)
    : device_(device), memory_(device, static_cast<std::size_t>(count) * stride), stride_(stride) {}

std::byte* MemorySlots::take(Device device, std::size_t bytes) {
  MemorySlots* slots = filled_slots;
  if (slots == nullptr || slots->device_ != device) return nullptr;
  const std::size_t at = slots->used_;
  slots->used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (slots->memory_.data() == nullptr) {
    slots->stride_ = slots->used_;
    return nullptr;
  }
  if (slots->used_ > slots->stride_) throw std::logic_error("memory slots: more is made than was measured");
  return slots->memory_.data() + at;
}

void copy_async(const Exec& exec, void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  if (bytes == 0) return;
#ifdef HOTLOOP_CUDA
  if (to_device.is_cuda() || from_device.is_cuda()) {
    SIM_CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(exec)));
    return;
  }
#else
  (void)exec, (void)to_device, (void)from_device;
#endif
  std::memcpy(to, from, bytes);
}

void fill_async(const Exec& exec, void* to, int value, std::size_t bytes) {
  if (bytes == 0) return;
#ifdef HOTLOOP_CUDA
  if (exec.device.is_cuda()) {
    SIM_CHECK_CUDA(cudaMemsetAsync(to, value, bytes, cuda_stream(exec)));
    return;
  }
#else
  (void)exec;
#endif
  std::memset(to, value, bytes);
}

}  // namespace hotloop
