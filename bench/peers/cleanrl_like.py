"""PPO on CartPole-v1 in eager PyTorch, as CleanRL's script does it: the peer of `hotloop bench train` on the CPU.

    python3 -m venv v && v/bin/pip install torch==2.11.0 gymnasium==1.2.2 && v/bin/python bench/peers/cleanrl_like.py

The structure is CleanRL's (a SyncVectorEnv of Gymnasium's environments, separate actor and critic of 2 x 64 tanh,
orthogonal initialisation, Adam with eps 1e-5, one optimiser step a minibatch), in words of our own; the settings are
hotloop's defaults, which are CleanRL's. Prints `name value` lines, in environment steps/s of the whole loop.

PyTorch is measured with one thread and with all of them, since small products are often faster with one.

--beside PROGRAM measures `PROGRAM bench train` on both roads in turn with PyTorch, on the same cores with the same
settings, so that whatever else the machine does meets all of them, and prints the ratios of the medians (to PyTorch's
better one).
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

GAMMA, GAE_LAMBDA = 0.99, 0.95
EPOCHS, MINIBATCHES = 4, 4
CLIP, ENTROPY_WEIGHT, VALUE_WEIGHT, MAX_NORM = 0.2, 0.01, 0.5, 0.5
LEARNING_RATE = 2.5e-4
ROUNDS = 5


def linear(inputs, outputs, gain):
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def mlp(inputs, outputs, last_gain):
    gain = 2**0.5
    return nn.Sequential(
        linear(inputs, 64, gain), nn.Tanh(), linear(64, 64, gain), nn.Tanh(), linear(64, outputs, last_gain)
    )


class Ppo:
    def __init__(self, task, num_envs, num_steps):
        self.num_envs, self.num_steps = num_envs, num_steps
        self.envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(task) for _ in range(num_envs)])
        width = self.envs.single_observation_space.shape[0]
        self.actor = mlp(width, self.envs.single_action_space.n, 0.01)
        self.critic = mlp(width, 1, 1.0)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=1e-5)
        shape = (num_steps, num_envs)
        self.observations = torch.zeros(*shape, width)
        self.actions, self.log_probs, self.rewards, self.dones, self.values = (torch.zeros(shape) for _ in range(5))
        self.next_observation = torch.tensor(self.envs.reset(seed=1)[0])
        self.next_done = torch.zeros(num_envs)

    def rollout(self):
        for t in range(self.num_steps):
            self.observations[t], self.dones[t] = self.next_observation, self.next_done
            with torch.no_grad():
                policy = Categorical(logits=self.actor(self.next_observation))
                action = policy.sample()
                self.values[t] = self.critic(self.next_observation).flatten()
                self.actions[t], self.log_probs[t] = action, policy.log_prob(action)
            observation, reward, terminated, truncated, _ = self.envs.step(action.numpy())
            self.rewards[t] = torch.as_tensor(reward, dtype=torch.float32)
            self.next_observation = torch.tensor(observation)
            self.next_done = torch.tensor(np.logical_or(terminated, truncated), dtype=torch.float32)

    def advantages(self):
        with torch.no_grad():
            next_value = self.critic(self.next_observation).flatten()
            result = torch.zeros_like(self.rewards)
            last = torch.zeros(self.num_envs)
            for t in reversed(range(self.num_steps)):
                final = t == self.num_steps - 1
                alive = 1.0 - (self.next_done if final else self.dones[t + 1])
                value = next_value if final else self.values[t + 1]
                delta = self.rewards[t] + GAMMA * value * alive - self.values[t]
                last = delta + GAMMA * GAE_LAMBDA * alive * last
                result[t] = last
        return result

    def minibatch(self, observations, actions, log_probs, values, advantages, targets):
        policy = Categorical(logits=self.actor(observations))
        log_ratio = policy.log_prob(actions) - log_probs
        ratio = log_ratio.exp()
        with torch.no_grad():  # CleanRL's metrics
            ((ratio - 1) - log_ratio).mean()
            ((ratio - 1.0).abs() > CLIP).float().mean().item()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)).mean()
        value = self.critic(observations).flatten()
        clipped = values + torch.clamp(value - values, -CLIP, CLIP)
        value_loss = 0.5 * torch.max((value - targets) ** 2, (clipped - targets) ** 2).mean()
        loss = policy_loss - ENTROPY_WEIGHT * policy.entropy().mean() + VALUE_WEIGHT * value_loss
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        self.optimizer.step()

    def iteration(self):
        self.rollout()
        advantages = self.advantages()
        rows = self.num_envs * self.num_steps
        data = [self.observations.reshape(rows, -1), self.actions.reshape(-1).long(), self.log_probs.reshape(-1)]
        data += [self.values.reshape(-1), advantages.reshape(-1), (advantages + self.values).reshape(-1)]
        order = np.arange(rows)
        for _ in range(EPOCHS):
            np.random.shuffle(order)
            for chosen in np.split(order, MINIBATCHES):
                self.minibatch(*(x[chosen] for x in data))


def peer_rate(ppo, seconds):
    iterations = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        ppo.iteration()
        iterations += 1
    return iterations * ppo.num_envs * ppo.num_steps / (time.perf_counter() - start)


def hotloop_rate(program, arguments, road):
    command = [program, "bench", "train", "--device", "cpu", "--task", arguments.task, "--road", road]
    command += ["--num-envs", str(arguments.num_envs), "--num-steps", str(arguments.num_steps)]
    command += ["--num-threads", str(arguments.threads), "--seconds", str(arguments.seconds / 5)]
    with tempfile.TemporaryDirectory() as results:
        text = subprocess.run([*command, "--results", results], check=True, capture_output=True, text=True).stdout
    return float(text.split()[2])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="CartPole-v1")
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--num-steps", type=int, default=128)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of PyTorch and of hotloop")
    parser.add_argument("--seconds", type=float, default=5, help="of one window")
    parser.add_argument("--beside", metavar="PROGRAM", help="hotloop's program, to be measured in turn")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    np.random.seed(1)
    ppo = Ppo(arguments.task, arguments.num_envs, arguments.num_steps)
    ppo.iteration()
    peers = {f"cleanrl_like.{n}_threads": n for n in sorted({1, arguments.threads})}
    rates = {}
    for _ in range(ROUNDS):
        for who, threads in peers.items():
            torch.set_num_threads(threads)
            rates.setdefault(who, []).append(peer_rate(ppo, arguments.seconds))
        for road in ("fused", "generic") if arguments.beside else ():
            rates.setdefault(road, []).append(hotloop_rate(arguments.beside, arguments, road))
    name = f"train.{arguments.task}.{arguments.num_envs}x{arguments.num_steps}"
    print(f"{name}.threads {arguments.threads}")
    medians = {}
    for who, values in rates.items():
        medians[who] = statistics.median(values)
        print(f"{name}.{who} {medians[who]:.0f}   (min {min(values):.0f}, max {max(values):.0f})")
    for road in set(medians) - set(peers):
        print(f"{name}.{road}.ratio {medians[road] / max(medians[who] for who in peers):.2f}")


if __name__ == "__main__":
    main()
