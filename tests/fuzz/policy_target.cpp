// Policies of other programs: state dictionaries as they write them, with tensors renamed, removed and of other shapes.
#include <algorithm>
#include <span>

#include "data/file.h"
#include "sim/core/registry.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"
#include "train/checkpoint.h"
#include "train/foreign_policy.h"

namespace hotloop {
namespace {

constexpr const char* kTasks[] = {"CartPole-v1", "Pendulum-v1"};
constexpr std::int64_t kHidden = 3;

struct Tensor {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
};

void add_layer(std::vector<Tensor>& file, const std::string& name, std::int64_t in, std::int64_t out) {
  file.push_back({name + ".weight", DType::f32, {out, in}});
  file.push_back({name + ".bias", DType::f32, {out}});
}

// With one hidden layer.
std::vector<Tensor> valid_policy(bool sb3, bool box) {
  const std::int64_t obs = box ? 3 : 4, actions = box ? 1 : 2;
  std::vector<Tensor> file;
  const std::string actor = sb3 ? "mlp_extractor.policy_net.0" : box ? "actor_mean.0" : "actor.0";
  const std::string last = sb3 ? "action_net" : box ? "actor_mean.2" : "actor.2";
  add_layer(file, actor, obs, kHidden);
  add_layer(file, last, kHidden, actions);
  add_layer(file, sb3 ? "mlp_extractor.value_net.0" : "critic.0", obs, kHidden);
  add_layer(file, sb3 ? "value_net" : "critic.2", kHidden, 1);
  if (box && sb3) file.push_back({"log_std", DType::f32, {actions}});
  if (box && !sb3) file.push_back({"actor_logstd", DType::f32, {1, actions}});
  file.push_back({"obs_rms.mean", DType::f64, {obs}});
  file.push_back({"obs_rms.var", DType::f64, {obs}});
  file.push_back({"obs_rms.count", DType::f64, {1}});
  return file;
}

void edit(std::vector<Tensor>& file, FuzzInput& input) {
  const auto kind = input.number<std::uint8_t>(), which = input.number<std::uint8_t>();
  Tensor& tensor = file[which % file.size()];
  const Tensor copy = tensor;
  switch (kind % 6) {
    case 0:
      tensor.name = input.text();
      break;
    case 1:
      tensor.dtype = static_cast<DType>(input.number<std::uint8_t>() % 10);
      break;
    case 2:
      tensor.shape.resize(input.number<std::uint8_t>() % 4);
      for (std::int64_t& n : tensor.shape) n = input.number<std::uint8_t>() % 9;
      break;
    case 3:
      if (file.size() > 1) file.erase(file.begin() + which % static_cast<std::ptrdiff_t>(file.size()));
      break;
    case 4:
      file.push_back(copy);
      file.back().name = input.text();
      break;
    default:
      tensor.shape.push_back(1);
  }
}

}  // namespace

void fuzz_policy(std::string_view bytes) {
  static const TempFolder folder;
  const std::filesystem::path path = folder / "policy.safetensors";
  FuzzInput input(bytes);
  const auto choice = input.number<std::uint8_t>();
  std::vector<Tensor> file = valid_policy(choice & 1, choice & 2);
  for (int i = input.number<std::uint8_t>() % 8; i > 0; --i) edit(file, input);
  std::vector<std::vector<std::byte>> values;
  std::vector<NamedTensor> tensors;
  for (const Tensor& t : file) {
    std::size_t size = dtype_size(t.dtype);
    for (const std::int64_t n : t.shape) size *= static_cast<std::size_t>(n);
    std::vector<std::byte>& value = values.emplace_back(size);
    const auto given = std::as_bytes(std::span(input.take(input.empty() ? 0 : size)));
    std::copy(given.begin(), given.end(), value.begin());
  }
  for (std::size_t i = 0; i < file.size(); ++i)
    tensors.push_back({file[i].name, file[i].dtype, file[i].shape, values[i]});
  Metadata metadata;
  if (choice & 4) metadata["format"] = input.text();
  try {
    write_safetensors(path, tensors, metadata);
  } catch (const Error&) {
    return;  // no such file
  }
  const PolicyTarget target = {path.string(), kTasks[choice >> 1 & 1], choice & 8 ? "relu" : ""};
  expect_calm([&] {
    const Safetensors policy = read_policy(target);
    const CheckpointInfo info = checkpoint_info(policy);
    check_policy(policy, make_policy_spec(info.config, find_environment(info.config.task).spec));
  });
}

}  // namespace hotloop
