// What the LibTorch road needs of CUDA, empty in CPU builds: running LibTorch's work on a given stream, two branches
// side by side, and capture.
#pragma once
#include <functional>
#include <memory>

#include "train/network.h"

namespace hotloop {

// While it lives, LibTorch's work of this thread goes to exec's stream, without autograd.
class TorchScope {
 public:
  explicit TorchScope(const Exec& exec);
  ~TorchScope();
  TorchScope(const TorchScope&) = delete;
  TorchScope& operator=(const TorchScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs two independent branches of work, on the GPU on two streams at once; both are done, in the order of exec, when
// run() returns. Part of a capture where exec's stream is being captured.
class TwoBranches {
 public:
  explicit TwoBranches(Device device);
  ~TwoBranches();
  void run(const Exec& exec, const std::function<void(const Exec&)>& first,
           const std::function<void(const Exec&)>& second);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::unique_ptr<Captured> capture_graph(const Exec& exec, const std::function<void()>& work);

}  // namespace hotloop
