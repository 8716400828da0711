#include "train/generic/cuda_support.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <optional>

#include "sim/core/error.h"

#ifdef HOTLOOP_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>

#include "sim/core/cuda_check.h"
#endif

namespace hotloop {

struct TorchScope::State {
  c10::InferenceMode no_autograd;
#ifdef HOTLOOP_CUDA
  std::optional<c10::cuda::CUDAStreamGuard> stream;
#endif
};

TorchScope::TorchScope(const Exec& exec) : state_(std::make_unique<State>()) {
  // each thread that runs LibTorch: a product split over a number of threads that the load decides has no fixed bits
  static thread_local const bool single = (at::set_num_threads(1), true);
  (void)single;
#ifdef HOTLOOP_CUDA
  if (exec.device.is_cuda())
    state_->stream.emplace(c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(exec.stream),
                                                            static_cast<c10::DeviceIndex>(exec.device.index)));
#else
  (void)exec;
#endif
}
TorchScope::~TorchScope() = default;

#ifdef HOTLOOP_CUDA

struct TwoBranches::State {
  StreamHandle side;
  cudaEvent_t fork = nullptr, join = nullptr;
  explicit State(Device device) : side(device) {
    SIM_CHECK_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    SIM_CHECK_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  }
  ~State() {
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
  }
};

TwoBranches::TwoBranches(Device device) {
  if (device.is_cuda()) state_ = std::make_unique<State>(device);
}

void TwoBranches::run(const Exec& exec, const std::function<void(const Exec&)>& first,
                      const std::function<void(const Exec&)>& second) {
  if (state_ == nullptr) {
    first(exec);
    second(exec);
    return;
  }
  const auto main = static_cast<cudaStream_t>(exec.stream);
  const auto side = static_cast<cudaStream_t>(state_->side.get());
  SIM_CHECK_CUDA(cudaEventRecord(state_->fork, main));
  SIM_CHECK_CUDA(cudaStreamWaitEvent(side, state_->fork, 0));
  {
    const Exec branch{exec.device, state_->side.get(), exec.pool};
    const TorchScope scope(branch);
    second(branch);
  }
  first(exec);
  SIM_CHECK_CUDA(cudaEventRecord(state_->join, side));
  SIM_CHECK_CUDA(cudaStreamWaitEvent(main, state_->join, 0));
}

namespace {

class TorchGraph final : public Captured {
 public:
  TorchGraph(const Exec& exec, const std::function<void()>& work) : exec_(exec) {
    const TorchScope scope(exec);
    // thread-local mode: another thread (utilisation sampling, the viewer) may call CUDA meanwhile
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    work();
    graph_.capture_end();
  }
  void replay() override {
    const TorchScope scope(exec_);
    graph_.replay();
  }

 private:
  Exec exec_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<Captured> capture_graph(const Exec& exec, const std::function<void()>& work) {
  return std::make_unique<TorchGraph>(exec, work);
}

#else

struct TwoBranches::State {};
TwoBranches::TwoBranches(Device) {}
void TwoBranches::run(const Exec& exec, const std::function<void(const Exec&)>& first,
                      const std::function<void(const Exec&)>& second) {
  first(exec);
  second(exec);
}
std::unique_ptr<Captured> capture_graph(const Exec&, const std::function<void()>&) {
  throw Error("capture on: this build has no CUDA backend");
}

#endif

TwoBranches::~TwoBranches() = default;

}  // namespace hotloop
