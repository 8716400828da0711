// The committed PPO updates of PyTorch (tests/generic/make_ppo_golden.py), and the same updates by our code.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "sim/core/thread_pool.h"
#include "tests/train/device_data.h"
#include "train/fused/cpu_network.h"
#include "train/generic/library.h"
#include "train/net_ops.h"
#include "train/policy_net.h"
#include "train/ppo.h"
#include "train/road.h"

namespace hotloop {

// ||a - b|| / ||b||
template <class A>
double relative_error(const std::vector<A>& a, const std::vector<double>& b) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(error / norm);
}

class GoldenCase {
 public:
  explicit GoldenCase(const std::string& name)
      : file_(Safetensors::read(std::string(HOTLOOP_SOURCE_DIR "/tests/golden/ppo/") + name + ".safetensors",
                                {.require_checksum = false})) {
    std::istringstream lines(file_.metadata_value("config"));
    std::vector<Setting> settings;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t split = line.find(" = ");
      settings.push_back({line.substr(0, split), line.substr(split + 3), ""});
    }
    config_ = resolve_settings(settings);
    EnvSpec env;
    env.name = "golden";
    env.observation.low.assign(static_cast<std::size_t>(file_.get("observation").shape[1]), -1.0f);
    if (file_.contains("sample"))
      env.action = ActionSpace::box(list<float>("low"), list<float>("high"));
    else
      env.action = ActionSpace::multi_discrete(list<std::int64_t>("nvec"));
    env.has_action_mask = file_.contains("mask");
    policy_ = make_policy_spec(config_, env);
    update_ = make_update_spec(config_);
  }

  const TrainConfig& config() const { return config_; }
  const PolicySpec& policy() const { return policy_; }
  const UpdateSpec& update() const { return update_; }
  const Safetensors& file() const { return file_; }
  // The loss without its clips, which is smooth: for comparing precisions, where a row must not change sides.
  void remove_clips() {
    update_.clip_coef = 1e3;
    update_.clip_vloss = false;
  }
  std::int64_t rows() const { return file_.get("observation").shape[0]; }

  // A tensor as T; empty where the case has none of this name.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    if (!file_.contains(name)) return {};
    const std::vector<double> v = file_.values<double>(name);
    return std::vector<T>(v.begin(), v.end());
  }
  // Every parameter's tensor of this kind ("before", "gradient", "after1"), laid out as the flat buffer.
  std::vector<double> flat(const std::string& kind) const {
    std::vector<double> out(static_cast<std::size_t>(policy_.num_parameters), 0.0);
    for (const ParameterSpec& p : policy_.parameters) {
      file_.get(kind + "/" + p.name, DType::f64, p.shape);
      const std::vector<double> v = values<double>(kind + "/" + p.name);
      std::copy(v.begin(), v.end(), out.begin() + p.offset);
    }
    return out;
  }

 private:
  template <class T>
  std::vector<T> list(const std::string& key) const {
    return nlohmann::json::parse(file_.metadata_value(key)).get<std::vector<T>>();
  }
  Safetensors file_;
  TrainConfig config_;
  PolicySpec policy_;
  UpdateSpec update_;
};

// What our code makes of a case: updates on its minibatch, one after another.
template <class Real>
class GoldenUpdate {
 public:
  GoldenUpdate(const GoldenCase& golden, Device device, std::int64_t shards, Precision precision = Precision::fp32,
               Road road = Road::generic)
      : golden_(golden),
        policy_(golden.policy()),
        shards_(shards),
        pool_(2),
        stream_(device),
        exec_{device, stream_.get(), &pool_},
        head_(policy_, device),
        minibatch_(device, golden.rows(), policy_.obs_dim, head_.view(), policy_.has_action_mask),
        adam_(device, policy_.num_parameters),
        gradients_(device, static_cast<std::size_t>(shards * policy_.num_parameters)),
        control_(device, 1) {
    const std::vector<double> before = golden.flat("before");
    parameters_ = upload(device, std::vector<Real>(before.begin(), before.end()));
    for (const char* name : {"observation", "sample", "log_prob", "value", "advantage", "value_target"})
      inputs_.push_back(upload(device, golden.values<Real>(name)));
    if (golden.file().contains("action")) action_ = upload(device, golden.file().values<std::int64_t>("action"));
    if (golden.file().contains("mask")) mask_ = upload(device, golden.file().values<std::uint8_t>("mask"));
    samples_ = {inputs_[0].data(), action_.data(),    inputs_[1].data(), mask_.data(),
                inputs_[2].data(), inputs_[3].data(), inputs_[4].data(), inputs_[5].data()};
    // another order than the file's: the gather must not matter
    std::vector<std::int32_t> order(static_cast<std::size_t>(golden.rows()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>((i * 37 + 11) % order.size());
    order_ = upload(device, order);
    if (policy_.normalize_observation) {
      mean_ = upload(device, golden.values<float>("mean"));
      scale_ = upload(device, golden.values<float>("scale"));
    }
    make_network(precision, road);
    allocate_scratch();
  }

  // One update; the gradient before clipping is gradient() afterwards.
  void step() {
    start_iteration(exec_, golden_.update(), control_.data());
    ObservationNormalizer::View view;
    if (policy_.normalize_observation)
      view = {mean_.data(), scale_.data(), static_cast<float>(policy_.clip_observation)};
    minibatch_.gather(exec_, samples_, order_.data(), view);
    const auto loss = [this](const Exec& exec, const Part<Real>& part) {
      ppo_loss(exec, golden_.update(), head_.view(), loss_io(part));
    };
    network_->forward_backward(exec_, minibatch_.view().observation, gradients_.data(), loss);
    adam_.step(exec_, golden_.update(), control_.data(), shards_, network_->parts(), terms_.data(), golden_.rows(),
               gradients_.data(), parameters_.data());
    network_->parameters_changed(exec_);
    synchronize(exec_);
  }

  std::vector<Real> gradient() const { return flat(gradients_); }
  std::vector<Real> parameters() const { return flat(parameters_); }
  // In the order of the file's columns.
  std::vector<double> metrics() const {
    const Control c = download(exec_.device, control_.data(), 1)[0];
    return {c.loss.policy_loss, c.loss.value_loss, c.loss.entropy, c.loss.old_approx_kl,
            c.loss.approx_kl,   c.loss.clipfrac,   c.grad_norm_sum};
  }

 private:
  void make_network(Precision precision, Road road) {
    NetworkConfig network;
    network.policy = policy_;
    network.device = exec_.device;
    network.precision = precision;
    network.max_rows = 1;
    network.minibatch_rows = golden_.rows();
    network.num_shards = shards_;
    hotloop_generic_library()->configure(exec_.device, precision);
    if constexpr (std::is_same_v<Real, double>)
      network_ = make_mlp_double(network, parameters_.data());
    else
      network_ =
          road == Road::fused ? make_cpu_network(network, parameters_.data()) : make_mlp(network, parameters_.data());
    network_->parameters_changed(exec_);
  }
  void allocate_scratch() {
    const std::int64_t rows = golden_.rows(), dim = policy_.action.dim();
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    log_std_rows_ = Buffer<Real>(exec_.device, size(rows * dim));
    log_std_scratch_ = Buffer<Real>(exec_.device, size(network_->parts() * bias_scratch(network_->part_rows(), dim)));
    terms_ = Buffer<LossTerms>(exec_.device, size(network_->parts()));
    loss_scratch_ = Buffer<LossTerms>(exec_.device, size(network_->parts() * loss_scratch(network_->part_rows())));
  }
  LossIo<Real> loss_io(const Part<Real>& part) const {
    const std::int64_t rows = network_->part_rows(), dim = policy_.action.dim();
    LossIo<Real> io;
    io.batch = minibatch_.view();
    io.begin = part.begin;
    io.end = part.end;
    io.total = golden_.rows();
    io.advantage_terms = minibatch_.advantage_terms();
    io.head = part.head;
    io.value = part.value;
    io.d_head = part.d_head;
    io.d_value = part.d_value;
    if (policy_.log_std >= 0) {
      io.log_std = parameters_.data() + policy_.log_std;
      io.d_log_std = part.d_log_std;
      io.d_log_std_rows = log_std_rows_.data() + part.begin * dim;
      io.column_scratch = log_std_scratch_.data() + part.index * bias_scratch(rows, dim);
    }
    io.scratch = loss_scratch_.data() + part.index * loss_scratch(rows);
    io.out = terms_.data() + part.index;
    return io;
  }
  std::vector<Real> flat(const Buffer<Real>& buffer) const {
    return download(exec_.device, buffer.data(), static_cast<std::size_t>(policy_.num_parameters));
  }

  const GoldenCase& golden_;
  const PolicySpec& policy_;
  std::int64_t shards_;
  ThreadPool pool_;
  StreamHandle stream_;
  Exec exec_;
  HeadArrays head_;
  Minibatch<Real> minibatch_;
  Adam<Real> adam_;
  Buffer<Real> parameters_, gradients_, log_std_rows_, log_std_scratch_;
  Buffer<Control> control_;
  Buffer<LossTerms> terms_, loss_scratch_;
  std::vector<Buffer<Real>> inputs_;
  Buffer<std::int64_t> action_;
  Buffer<std::uint8_t> mask_;
  Buffer<std::int32_t> order_;
  Buffer<float> mean_, scale_;
  Samples<Real> samples_;
  std::unique_ptr<Network<Real>> network_;
};

}  // namespace hotloop
