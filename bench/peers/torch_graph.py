"""PPO in PyTorch with torch.compile and CUDA graphs, worlds on the card too: the peer of `hotloop bench train` on a GPU.

    python3 bench/peers/torch_graph.py --task CartPole-v1 --num-envs 4096 --num-steps 32 --hidden-sizes 256,256 --precision bf16

Three compiled functions (a step of policy and worlds, advantages, a minibatch's loss), two captured graphs (a rollout
with its advantages, one update), as LeanRL does it, in words of our own; settings are hotloop's defaults. Tasks are the
five of classic control with Gymnasium's equations, or observations:actions (105:8 for Ant-v5): the update alone, of
random samples with a Gaussian head, since its physics is not PyTorch's to make. Precisions: fp32, tf32, bf16 (autocast).
Prints `name value` lines: steps/s, and microseconds of an iteration, its rollout and its update.
"""

import argparse
import math
import statistics
import time

import torch
from torch import nn

GAMMA, GAE_LAMBDA, CLIP, ENTROPY_WEIGHT, VALUE_WEIGHT, MAX_NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5
LEARNING_RATE = 2.5e-4


def cartpole(s, a):
    x, v, angle, spin = s.unbind(1)
    force = 20.0 * a.float() - 10.0
    c, n = torch.cos(angle), torch.sin(angle)
    push = (force + 0.05 * spin * spin * n) / 1.1
    turn = (9.8 * n - c * push) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
    go = push - 0.05 * turn * c / 1.1
    s = torch.stack([x + 0.02 * v, v + 0.02 * go, angle + 0.02 * spin, spin + 0.02 * turn], 1)
    ended = (s[:, 0].abs() > 2.4) | (s[:, 2].abs() > 12 * math.pi / 180)
    return s, torch.ones_like(x), ended


def mountain_car(s, a):
    x, v = s.unbind(1)
    v = (v + (a.float() - 1) * 0.001 - 0.0025 * torch.cos(3 * x)).clamp(-0.07, 0.07)
    x = (x + v).clamp(-1.2, 0.6)
    v = torch.where((x <= -1.2) & (v < 0), 0.0, v)
    return torch.stack([x, v], 1), -torch.ones_like(x), x >= 0.5


def mountain_car_continuous(s, a):
    x, v = s.unbind(1)
    force = a[:, 0].clamp(-1, 1)
    v = (v + 0.0015 * force - 0.0025 * torch.cos(3 * x)).clamp(-0.07, 0.07)
    x = (x + v).clamp(-1.2, 0.6)
    v = torch.where((x <= -1.2) & (v < 0), 0.0, v)
    ended = (x >= 0.45) & (v >= 0)
    return torch.stack([x, v], 1), 100.0 * ended - 0.1 * a[:, 0] ** 2, ended


def pendulum(s, a):
    angle, spin = s.unbind(1)
    u = a[:, 0].clamp(-2, 2)
    wrapped = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
    reward = -(wrapped**2 + 0.1 * spin**2 + 0.001 * u**2)
    spin = (spin + (15.0 * torch.sin(angle) + 3.0 * u) * 0.05).clamp(-8, 8)
    return torch.stack([angle + spin * 0.05, spin], 1), reward, torch.zeros_like(angle, dtype=torch.bool)


def acrobot_slope(s, torque):
    a, b, da, db = s.unbind(1)
    d1 = 0.25 + (1.0 + 0.25 + torch.cos(b)) + 2.0
    d2 = 0.25 + 0.5 * torch.cos(b) + 1.0
    phi2 = 0.5 * 9.8 * torch.cos(a + b - math.pi / 2)
    phi1 = -0.5 * db**2 * torch.sin(b) - db * da * torch.sin(b) + 1.5 * 9.8 * torch.cos(a - math.pi / 2) + phi2
    ddb = (torque + d2 / d1 * phi1 - 0.5 * da**2 * torch.sin(b) - phi2) / (1.25 - d2**2 / d1)
    return torch.stack([da, db, -(d2 * ddb + phi1) / d1, ddb], 1)


def acrobot(s, a):
    torque, h = a.float() - 1, 0.2
    k1 = acrobot_slope(s, torque)
    k2 = acrobot_slope(s + h / 2 * k1, torque)
    k3 = acrobot_slope(s + h / 2 * k2, torque)
    k4 = acrobot_slope(s + h * k3, torque)
    s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    angles = torch.remainder(s[:, :2] + math.pi, 2 * math.pi) - math.pi
    s = torch.cat([angles, s[:, 2:3].clamp(-4 * math.pi, 4 * math.pi), s[:, 3:].clamp(-9 * math.pi, 9 * math.pi)], 1)
    ended = -torch.cos(s[:, 0]) - torch.cos(s[:, 0] + s[:, 1]) > 1.0
    return s, ended.float() - 1.0, ended


def two_angles(s):
    return torch.stack([s[:, 0].cos(), s[:, 0].sin(), s[:, 1].cos(), s[:, 1].sin(), s[:, 2], s[:, 3]], 1)


def one_angle(s):
    return torch.stack([s[:, 0].cos(), s[:, 0].sin(), s[:, 1]], 1)


def plain(s):
    return s


# step, observation, sizes of state and observation, choices (0: one real action), steps of an episode, start: low, high
TASKS = {
    "CartPole-v1": (cartpole, plain, 4, 4, 2, 500, (-0.05,) * 4, (0.05,) * 4),
    "MountainCar-v0": (mountain_car, plain, 2, 2, 3, 200, (-0.6, 0.0), (-0.4, 0.0)),
    "MountainCarContinuous-v0": (mountain_car_continuous, plain, 2, 2, 0, 999, (-0.6, 0.0), (-0.4, 0.0)),
    "Pendulum-v1": (pendulum, one_angle, 2, 3, 0, 200, (-math.pi, -1.0), (math.pi, 1.0)),
    "Acrobot-v1": (acrobot, two_angles, 4, 6, 3, 500, (-0.1,) * 4, (0.1,) * 4),
}


def mlp(inputs, hidden, outputs, gain, activation):
    layers, last = [], inputs
    for size, g in [*((h, 2**0.5) for h in hidden), (outputs, gain)]:
        layer = nn.Linear(last, size)
        nn.init.orthogonal_(layer.weight, g)
        nn.init.zeros_(layer.bias)
        layers += [layer, activation()]
        last = size
    return nn.Sequential(*layers[:-1])


class Training:
    def __init__(self, o):
        self.o, self.device = o, torch.device("cuda")
        self.envs, self.steps = o.num_envs, o.num_steps
        self.rows = self.envs * self.steps
        if ":" in o.task:
            self.env = None
            self.obs_dim, self.dim = map(int, o.task.split(":"))
            self.choices = 0
        else:
            self.env, self.observe, self.state_dim, self.obs_dim, self.choices, self.limit, low, high = TASKS[o.task]
            self.dim = 1
            self.low = torch.tensor(low, device=self.device)
            self.span = torch.tensor(high, device=self.device) - self.low
        activation = {"tanh": nn.Tanh, "elu": nn.ELU, "relu": nn.ReLU}[o.activation]
        self.actor = mlp(self.obs_dim, o.hidden, self.choices or self.dim, 0.01, activation).to(self.device)
        self.critic = mlp(self.obs_dim, o.hidden, 1, 1.0, activation).to(self.device)
        self.log_std = nn.Parameter(torch.zeros(self.dim, device=self.device))
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        if not self.choices:
            self.parameters.append(self.log_std)
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=1e-5, fused=True, capturable=True)
        self.buffers()
        self.step_of = torch.compile(self.step, dynamic=False)
        self.advantages_of = torch.compile(self.advantages, dynamic=False)
        self.loss_of = torch.compile(self.loss, dynamic=False)

    def buffers(self):
        t, n, zeros = self.steps, self.envs, lambda *s: torch.zeros(*s, device=self.device)
        self.obs = zeros(t, n, self.obs_dim)
        self.action = torch.zeros(t, n, dtype=torch.int64, device=self.device) if self.choices else zeros(t, n, self.dim)
        self.log_prob, self.value, self.reward, self.done, self.advantage = (zeros(t, n) for _ in range(5))
        self.index = torch.zeros(self.rows // self.o.num_minibatches, dtype=torch.int64, device=self.device)
        if self.env:
            self.state = self.low + self.span * torch.rand(n, self.state_dim, device=self.device)
            self.age = torch.zeros(n, device=self.device)
        else:
            for b in (self.obs, self.action, self.log_prob, self.advantage, self.value):
                b.normal_()

    def networks(self, obs, actor=True):
        with torch.autocast("cuda", torch.bfloat16, enabled=self.o.precision == "bf16"):
            return self.actor(obs).float() if actor else None, self.critic(obs).float().squeeze(1)

    def log_prob_of(self, head, action):
        if self.choices:
            all_ = torch.log_softmax(head, 1)
            return all_.gather(1, action.unsqueeze(1)).squeeze(1), -(all_.exp() * all_).sum(1).mean()
        z = (action - head) * torch.exp(-self.log_std)
        half = 0.5 * math.log(2 * math.pi)
        return (-0.5 * z * z - self.log_std - half).sum(1), (0.5 + half + self.log_std).sum()

    def step(self, state, age, noise, start):
        obs = self.observe(state)
        head, value = self.networks(obs)
        if self.choices:
            cumulative = torch.softmax(head, 1).cumsum(1)
            action = (cumulative < noise[:, :1]).sum(1).clamp(max=self.choices - 1)
        else:
            action = head + torch.exp(self.log_std) * noise
        log_prob, _ = self.log_prob_of(head, action)
        state, reward, ended = self.env(state, action)
        age = age + 1
        done = ended | (age >= self.limit)
        state = torch.where(done.unsqueeze(1), self.low + self.span * start, state)
        return obs, action, log_prob, value, reward, done.float(), state, torch.where(done, 0.0, age)

    def advantages(self, value, reward, done, last):
        after, gae, out = last, torch.zeros_like(last), []
        for t in range(self.steps - 1, -1, -1):
            on = 1.0 - done[t]
            gae = reward[t] + GAMMA * after * on - value[t] + GAMMA * GAE_LAMBDA * on * gae
            after = value[t]
            out.append(gae)
        return torch.stack(out[::-1])

    def loss(self, obs, action, old_log_prob, advantage, old_value):
        head, value = self.networks(obs)
        log_prob, entropy = self.log_prob_of(head, action)
        ratio = (log_prob - old_log_prob).exp()
        target = advantage + old_value
        a = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy = torch.max(-a * ratio, -a * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        near = old_value + (value - old_value).clamp(-CLIP, CLIP)
        critic = 0.5 * torch.max((value - target) ** 2, (near - target) ** 2).mean()
        return policy - ENTROPY_WEIGHT * entropy + VALUE_WEIGHT * critic

    @torch.no_grad()
    def rollout(self):
        if not self.env:
            return
        t, n = self.steps, self.envs
        noise = torch.rand(t, n, 1, device=self.device) if self.choices else torch.randn(t, n, 1, device=self.device)
        start = torch.rand(t, n, self.state_dim, device=self.device)
        state, age, columns = self.state, self.age, [[] for _ in range(6)]
        for k in range(t):
            *made, state, age = self.step_of(state, age, noise[k], start[k])
            for column, x in zip(columns, made):
                column.append(x)
        targets = (self.obs, self.action, self.log_prob, self.value, self.reward, self.done)
        for target, column in zip(targets, columns):
            torch.stack(column, out=target)
        self.state.copy_(state), self.age.copy_(age)
        last = self.networks(self.observe(state), actor=False)[1]
        self.advantage.copy_(self.advantages_of(self.value, self.reward, self.done, last))

    def update(self):
        i = self.index
        rows = [b.flatten(0, 1)[i] for b in (self.obs, self.action, self.log_prob, self.advantage, self.value)]
        self.optimizer.zero_grad(set_to_none=True)
        self.loss_of(*rows).backward()
        nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        self.optimizer.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.rollout()
                self.index.copy_(torch.randperm(self.rows, device=self.device)[: len(self.index)])
                self.update()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.rollout_graph, self.update_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        if self.env:
            with torch.cuda.graph(self.rollout_graph):
                self.rollout()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.update_graph):
            self.update()

    def iteration(self):
        if self.env:
            self.rollout_graph.replay()
        for _ in range(self.o.update_epochs):
            order = torch.randperm(self.rows, device=self.device)
            for m in range(self.o.num_minibatches):
                self.index.copy_(order[m * len(self.index) : (m + 1) * len(self.index)])
                self.update_graph.replay()


def seconds_of(f, seconds):
    """Of one call, the median of five measurements."""
    f()
    torch.cuda.synchronize()
    found = []
    for _ in range(5):
        begin, calls = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(4):
                f()
            calls += 4
            torch.cuda.synchronize()
        found.append((time.perf_counter() - begin) / calls)
    return statistics.median(found)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--task", default="CartPole-v1")
    p.add_argument("--num-envs", type=int, default=4096)
    p.add_argument("--num-steps", type=int, default=32)
    p.add_argument("--num-minibatches", type=int, default=4)
    p.add_argument("--update-epochs", type=int, default=4)
    p.add_argument("--hidden-sizes", default="64,64")
    p.add_argument("--activation", default="tanh", choices=["tanh", "relu", "elu"])
    p.add_argument("--precision", default="fp32", choices=["fp32", "tf32", "bf16"])
    p.add_argument("--seconds", type=float, default=0.3)
    p.add_argument("--warm-only", action="store_true", help="compile into the caches, measure nothing")
    o = p.parse_args()
    o.hidden = [int(h) for h in o.hidden_sizes.split(",")]
    torch.set_float32_matmul_precision("highest" if o.precision == "fp32" else "high")
    torch.manual_seed(1)
    training = Training(o)
    training.capture()
    if o.warm_only:
        return
    whole = seconds_of(training.iteration, o.seconds)
    rollout = seconds_of(training.rollout_graph.replay, o.seconds / 3) if training.env else 0.0
    name = f"torch_graph.{o.task}.{o.num_envs}x{o.num_steps}.{o.hidden_sizes.replace(',', 'x')}.{o.precision}"
    print(f"{name}.steps_per_s {training.rows / whole:.6g}")
    print(f"{name}.iteration_us {whole * 1e6:.6g}")
    print(f"{name}.rollout_us {rollout * 1e6:.6g}")
    print(f"{name}.update_us {(whole - rollout) * 1e6:.6g}", flush=True)


if __name__ == "__main__":
    main()
