// Devices, streams and memory. The CPU backend is always there; the CUDA backend only in builds with a toolkit
// (HOTLOOP_CUDA), and only usable where a driver and a card answer at run time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hotloop {

class ThreadPool;

struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;  // CUDA ordinal

  bool is_cuda() const { return kind == Kind::cuda; }
  std::string str() const { return is_cuda() ? "cuda:" + std::to_string(index) : "cpu"; }
  friend bool operator==(const Device&, const Device&) = default;
};

// "cpu", "cuda", "cuda:N" or "auto" (the first card if one answers, else the CPU). Throws Error for anything else, for
// a card that is not there, and for "cuda" in a build without CUDA.
Device parse_device(const std::string& text);

// Number of usable CUDA devices; 0 without driver, card or CUDA build (never throws).
int cuda_device_count();

// Where work runs: a device with its stream, or the CPU with its threads. Cheap to copy; owns nothing.
struct Exec {
  Device device;
  void* stream = nullptr;      // cudaStream_t
  ThreadPool* pool = nullptr;  // null: the calling thread alone
};

// Blocks until the work queued on exec is done (nothing on the CPU). Throws Error on a failed kernel.
void synchronize(const Exec& exec);

// A CUDA stream that does not synchronise with the default stream; empty on the CPU.
class StreamHandle {
 public:
  explicit StreamHandle(Device device);
  ~StreamHandle();
  StreamHandle(StreamHandle&&) noexcept;
  StreamHandle& operator=(StreamHandle&&) = delete;
  void* get() const { return stream_; }

 private:
  void* stream_ = nullptr;
};

// A point in a stream's work that other streams and threads can wait for. On the CPU, where work is done once it is
// queued, it has always been reached. No two calls at a time on one of them.
class EventHandle {
 public:
  explicit EventHandle(Device device);
  ~EventHandle();
  EventHandle(EventHandle&& other) noexcept;
  EventHandle& operator=(EventHandle&&) = delete;

  void record(const Exec& exec);      // after what is queued on exec now
  void wait(const Exec& exec) const;  // what is queued on exec from now on runs after the event
  bool reached() const;
  void synchronize() const;  // blocks this thread, without burning its core

 private:
  Device device_;
  void* event_ = nullptr;
};

// Raw zeroed memory on one device, aligned to 256 bytes. Throws Error naming the size when the device is out of memory.
class Memory {
 public:
  enum class Kind : std::uint8_t { plain, pinned };  // pinned: host memory the card can read and write directly
  Memory() = default;
  Memory(Device device, std::size_t bytes, Kind kind = Kind::plain);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  Device device_;
  Kind kind_ = Kind::plain;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

// Copies `bytes` between any two devices, ordered on exec; complete on return only if exec is the CPU.
void copy_async(const Exec& exec, void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
// Fills with a byte value, ordered on exec.
void fill_async(const Exec& exec, void* to, int value, std::size_t bytes);

// `count` zeroed elements of T.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device device, std::size_t count, Memory::Kind kind = Memory::Kind::plain)
      : memory_(device, count * sizeof(T), kind), count_(count) {}
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  Device device() const { return memory_.device(); }

 private:
  Memory memory_;
  std::size_t count_ = 0;
};

struct CudaDeviceInfo {
  std::string name, pci_bus_id;  // "0000:3b:00.0": how other interfaces (NVML) find the same card
  std::size_t total_bytes = 0, free_bytes = 0;
  int major = 0, minor = 0, sm_count = 0;
  std::size_t shared_per_sm = 0, shared_per_block = 0, shared_reserved = 0;  // bytes; reserved: of each block
  double clock_hz = 0, memory_bytes_per_second = 0;                          // the highest
  int driver_version = 0, runtime_version = 0;                               // 13000 = 13.0
};
// Throws Error where the device does not answer.
CudaDeviceInfo cuda_device_info(int index);

// True in a build with the CUDA backend.
bool built_with_cuda();

}  // namespace hotloop
