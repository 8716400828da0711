#!/ usr / bin / env python3
"""PPO updates on fixed data, computed by PyTorch's autograd, distributions and torch.optim.Adam in double precision.

Writes one safetensors file a case to tests/golden/ppo: the minibatch, the parameters before, their gradients before
clipping, the metrics, and the parameters after one and after three updates on the same minibatch. The loss is CleanRL's
(ppo.py, ppo_continuous_action.py, ppo_multidiscrete_mask.py). Inputs are float32 numbers stored as float64, so that a
float implementation starts from the same values. Needs torch 2.11.

    python3 tests/generic/make_ppo_golden.py [FOLDER]
"""
import json
import pathlib
import struct
import sys

import torch
from torch.distributions import Categorical, Normal

ROWS, OBS, UPDATES = 64, 5, 3
CASES = {
    "discrete": dict(nvec=[3], activation="tanh", ent_coef=0.01),
    "discrete_raw_advantage": dict(nvec=[4], activation="elu", shared_network=True, norm_adv=False, clip_vloss=False,
                                   ent_coef=0.02, max_grad_norm=1000.0),
    "discrete_other_critic": dict(nvec=[2], activation="silu", critic_hidden_sizes=[24], clip_coef=0.1),
    "multi_discrete_mask": dict(nvec=[2, 3, 4], mask=True, activation="relu", ent_coef=0.05, vf_coef=1.0),
    "multi_discrete_mask_shared": dict(nvec=[3, 2], mask=True, activation="tanh", shared_network=True,
                                       clip_vloss=False, ent_coef=0.03),
    "gaussian": dict(low=[-1.0, -2.0], high=[1.0, 0.5], activation="elu", norm_adv=False, ent_coef=0.01,
                     max_grad_norm=1000.0),
    "gaussian_state_std": dict(low=[-1.0, -2.0], high=[1.0, 0.5], std_type="state", activation="silu", ent_coef=0.02),
    "squashed_gaussian": dict(low=[-1.0, -2.0, 0.0], high=[1.0, 0.5, 3.0], action_distribution="squashed_gaussian",
                              activation="relu", shared_network=True, norm_adv=False, ent_coef=0.01),
    "squashed_gaussian_state_std": dict(low=[-2.0], high=[0.5], action_distribution="squashed_gaussian",
                                        std_type="state", activation="tanh", shared_network=True, clip_vloss=False,
                                        normalize_observation=True, clip_observation=1.5, ent_coef=0.01),
}
SPACE_KEYS = ("nvec", "low", "high", "mask")
DEFAULTS = dict(hidden_sizes=[16, 8], critic_hidden_sizes=[], shared_network=False, norm_adv=True, clip_vloss=True,
                clip_coef=0.2, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5, learning_rate=0.01, adam_eps=1e-5,
                lr_schedule="constant", action_distribution="gaussian", std_type="global",
                normalize_observation=False, clip_observation=10.0)
ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "elu": torch.nn.functional.elu, "silu": torch.nn.functional.silu}


def rounded(x):
    return x.float().double()


class Policy:
    """The network by hand: names and shapes as hotloop's PolicySpec has them."""

    def __init__(self, c):
        self.c, self.activation = c, ACTIVATIONS[c["activation"]]
        self.box = "low" in c
        self.dim = len(c["low"]) if self.box else len(c["nvec"])
        self.state_std = self.box and c["std_type"] == "state"
        head = self.dim * (2 if self.state_std else 1) if self.box else sum(c["nvec"])
        hidden, self.parameters = c["hidden_sizes"], {}
        if c["shared_network"]:
            self.layers("trunk", [OBS] + hidden)
            self.layers("actor", [hidden[-1], head])
            self.layers("critic", [hidden[-1], 1])
        else:
            self.layers("actor", [OBS] + hidden + [head])
            self.layers("critic", [OBS] + (c["critic_hidden_sizes"] or hidden) + [1])
        if self.box and not self.state_std:
            self.parameters["log_std"] = rounded(0.3 * torch.randn(self.dim))
        if self.state_std:  # one standard deviation near the clamp at exp(2): some rows fall beyond it
            self.parameters[f"actor.{self.count('actor') - 1}.bias"][-1] = 1.75
        for p in self.parameters.values():
            p.requires_grad_(True)

    def layers(self, net, widths):
        for i, (n_in, n_out) in enumerate(zip(widths, widths[1:])):
            self.parameters[f"{net}.{i}.weight"] = rounded(torch.randn(n_out, n_in) / n_in**0.5)
            self.parameters[f"{net}.{i}.bias"] = rounded(0.3 * torch.randn(n_out))

    def count(self, net):
        return sum(name.startswith(net + ".") and name.endswith(".weight") for name in self.parameters)

    def forward(self, net, x):
        layers = self.count(net)
        for i in range(layers):
            x = x @ self.parameters[f"{net}.{i}.weight"].T + self.parameters[f"{net}.{i}.bias"]
            if net == "trunk" or i < layers - 1:
                x = self.activation(x)
        return x

    def evaluate(self, d, noise=0.0):
        """log-probability of the stored actions, entropy, value [rows]; noise shifts the actor's output."""
        x = d["observation"]
        if self.c["normalize_observation"]:
            x = ((x - d["mean"]) * d["scale"]).clamp(-self.c["clip_observation"], self.c["clip_observation"])
        if self.c["shared_network"]:
            x = self.forward("trunk", x)
        head, value = self.forward("actor", x) + noise, self.forward("critic", x).squeeze(1)
        return *(self.box_terms(head, d) if self.box else self.choice_terms(head, d)), value

    def choice_terms(self, head, d):
        if "mask" in d:
            head = torch.where(d["mask"].bool(), head, torch.tensor(-1e8))
        parts = [Categorical(logits=l) for l in head.split(self.c["nvec"], 1)]
        log_prob = sum(p.log_prob(d["action"][:, k]) for k, p in enumerate(parts))
        return log_prob, sum(p.entropy() for p in parts)

    def box_terms(self, head, d):
        mean = head[:, : self.dim]
        log_std = head[:, self.dim :].clamp(-20, 2) if self.state_std else self.parameters["log_std"].expand_as(mean)
        normal = Normal(mean, log_std.exp())
        log_prob = normal.log_prob(d["sample"])
        if self.c["action_distribution"] == "squashed_gaussian":
            half = (torch.tensor(self.c["high"]) - torch.tensor(self.c["low"])) / 2
            log_prob = log_prob - (half * (1 - torch.tanh(d["sample"]) ** 2) + 1e-6).log()
        return log_prob.sum(1), normal.entropy().sum(1)


def make_data(c, policy):
    d = {"observation": rounded(torch.randn(ROWS, OBS))}
    if c["normalize_observation"]:
        d["mean"], d["scale"] = rounded(0.3 * torch.randn(OBS)), rounded(0.5 + torch.rand(OBS))
    if policy.box:
        d["sample"] = rounded(torch.randn(ROWS, policy.dim))
    else:
        d["action"] = torch.zeros(ROWS, policy.dim, dtype=torch.int64)
        if c.get("mask"):
            d["mask"] = (torch.rand(ROWS, sum(c["nvec"])) < 0.6).to(torch.uint8)
        first = 0
        for k, n in enumerate(c["nvec"]):
            if c.get("mask"):  # every component has a legal choice, and the action is one
                d["mask"][torch.arange(ROWS), first + torch.randint(n, (ROWS,))] = 1
                d["action"][:, k] = torch.multinomial(d["mask"][:, first : first + n].double(), 1).squeeze(1)
            else:
                d["action"][:, k] = torch.randint(n, (ROWS,))
            first += n
    with torch.no_grad():  # the policy that acted: another one, so that ratios and values meet their clips
        log_prob, _, value = policy.evaluate(d, noise=0.25 * torch.randn(ROWS, 1 if policy.box else sum(c["nvec"])))
    d["log_prob"] = rounded(log_prob)
    d["value"] = rounded(value + 0.3 * torch.randn(ROWS))
    d["advantage"] = rounded(0.7 + 1.5 * torch.randn(ROWS))
    d["value_target"] = rounded(d["value"] + 0.8 * torch.randn(ROWS))
    return d


def loss_and_metrics(c, policy, d):
    log_prob, entropy, value = policy.evaluate(d)
    log_ratio = log_prob - d["log_prob"]
    ratio, clip = log_ratio.exp(), c["clip_coef"]
    advantage = d["advantage"]
    if c["norm_adv"]:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy_loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - clip, 1 + clip)).mean()
    value_error = (value - d["value_target"]) ** 2
    if c["clip_vloss"]:
        clipped = d["value"] + (value - d["value"]).clamp(-clip, clip)
        value_error = torch.max(value_error, (clipped - d["value_target"]) ** 2)
    value_loss = 0.5 * value_error.mean()
    loss = policy_loss - c["ent_coef"] * entropy.mean() + c["vf_coef"] * value_loss
    metrics = [policy_loss, value_loss, entropy.mean(), -log_ratio.mean(), (ratio - 1 - log_ratio).mean(),
               ((ratio - 1).abs() > clip).double().mean()]
    return loss, [m.item() for m in metrics]


def make_case(c):
    policy = Policy(c)
    out = make_data(c, policy)
    out.update({f"before/{name}": p.detach().clone() for name, p in policy.parameters.items()})
    optimizer = torch.optim.Adam(policy.parameters.values(), lr=c["learning_rate"], eps=c["adam_eps"])
    metrics = []
    for update in range(UPDATES):
        loss, terms = loss_and_metrics(c, policy, out)
        optimizer.zero_grad()
        loss.backward()
        if update == 0:
            out.update({f"gradient/{name}": p.grad.clone() for name, p in policy.parameters.items()})
        norm = torch.nn.utils.clip_grad_norm_(policy.parameters.values(), c["max_grad_norm"])
        metrics.append(terms + [norm.item()])
        optimizer.step()
        if update in (0, UPDATES - 1):
            out.update({f"after{update + 1}/{name}": p.detach().clone() for name, p in policy.parameters.items()})
    out["metrics"] = torch.tensor(metrics)
    clipped_part = metrics[0][5]
    assert 0.1 < clipped_part < 0.95, f"the data should meet the clip sometimes, not in {clipped_part} of the rows"
    return out


def text(value):
    """As the command line would have it."""
    return value if isinstance(value, str) else json.dumps(value)


def write_safetensors(path, tensors, metadata):
    types = {torch.float64: "F64", torch.int64: "I64", torch.uint8: "U8"}
    header, data = {"__metadata__": metadata}, b""
    for name, t in tensors.items():
        content = bytes(t.contiguous().reshape(-1).view(torch.uint8).tolist())
        header[name] = {"dtype": types[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def main():
    root = pathlib.Path(__file__).resolve().parents[1] / "golden" / "ppo"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    for number, (name, case) in enumerate(CASES.items()):
        torch.manual_seed(number)
        c = {**DEFAULTS, **case}
# 8 - byte elements first : readers want them aligned
        tensors = dict(sorted(make_case(c).items(), key=lambda item: item[1].dtype == torch.uint8))
        metadata = {"config": "\n".join(f"{k} = {text(v)}" for k, v in c.items() if k not in SPACE_KEYS)}
        metadata.update({
k: text(case[k]) for k in SPACE_KEYS if k in case})
        write_safetensors(folder / f"{name}.safetensors", tensors, metadata)


if __name__ == "__main__":
    main()
