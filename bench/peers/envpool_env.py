"""EnvPool's speed with random actions, the peer of `hotloop bench env` on the CPU.

    python3 -m venv v && v/bin/pip install envpool==1.2.5 && v/bin/python bench/peers/envpool_env.py [TASK ...]

For each task the best of the combinations of number of environments, batch size and threads below, in synchronous
(batch = environments) and asynchronous mode; prints `name value` lines, in steps/s. Actions are drawn before the clock
starts; every observation, reward and flag is received.

--beside PROGRAM measures `PROGRAM bench env` on the same cores in turn with EnvPool, so that whatever else the machine
does meets both, and prints the ratio of the medians.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import envpool
import numpy as np


ROUNDS = 5
MODEL_TASKS = ("Inverted", "Reacher", "Pusher", "Swimmer", "HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid")


def random_actions(space, count, rng):
    if hasattr(space, "n"):
        return rng.integers(space.n, size=(16, count)).astype(np.int32)
    return rng.uniform(space.low, space.high, size=(16, count, *space.shape)).astype(space.dtype)


def rate(task, num_envs, batch_size, num_threads, seconds):
    env = envpool.make(task, env_type="gymnasium", num_envs=num_envs, batch_size=batch_size, num_threads=num_threads)
    actions = random_actions(env.action_space, batch_size, np.random.default_rng(0))
    checksum = 0.0
    if batch_size == num_envs:
        env.reset()
        ids = np.arange(num_envs)
        def one(k):
            return env.step(actions[k % 16], ids)
    else:
        env.async_reset()
        def one(k):
            received = env.recv()
            env.send(actions[k % 16], received[-1]["env_id"])
            return received
    for k in range(20):
        one(k)
    steps, k = 0, 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(20):
            observation, reward, terminated, truncated, _ = one(k)
            k += 1
        steps += 20 * batch_size
    elapsed = time.perf_counter() - start
    checksum += float(observation.sum()) + float(reward.sum()) + float(terminated.sum()) + float(truncated.sum())
    assert np.isfinite(checksum)
    env.close()
    return steps / elapsed


def best(task, cores, seconds, final_windows):
    found = []
    sizes = (8, 64, 256) if task.startswith(MODEL_TASKS) else (8, 64, 256, 1024, 4096)
    for num_threads in sorted({1, cores, 2 * cores}):
        for num_envs in sizes:
            for batch_size in sorted({num_envs, num_envs // 2, num_envs // 4}):
                found.append((rate(task, num_envs, batch_size, num_threads, seconds), num_envs, batch_size, num_threads))
    found.sort(reverse=True)
    # the scan picks, longer windows measure
    top = []
    for _, *setting in found[:3]:
        top.append((sorted(rate(task, *setting, 4 * seconds) for _ in range(final_windows))[final_windows // 2], setting))
    return max(top)


def hotloop_rate(program, task, cores, num_envs):
    command = [program, "bench", "env", "--task", task, "--device", "cpu", "--num-threads", str(cores)]
    with tempfile.TemporaryDirectory() as results:
        command += ["--num-envs", str(num_envs), "--results", results]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(text.split()[2])


def beside(program, task, cores, seconds, num_envs, setting):
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(rate(task, *setting, 8 * seconds))
        ours.append(hotloop_rate(program, task, cores, num_envs))
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"beside.env.{task}.hotloop {ours:.0f}")
    print(f"beside.env.{task}.envpool {theirs:.0f}")
    print(f"beside.env.{task}.ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=["CartPole-v1", "Pendulum-v1"])
    parser.add_argument("--seconds", type=float, default=0.25, help="of one window of the scan")
    parser.add_argument("--beside", metavar="PROGRAM", help="hotloop's program, to be measured in turn")
    parser.add_argument("--num-envs", type=int, default=512, help="of hotloop")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))  # taskset chooses fewer
    print("envpool.cores", cores)
    for task in arguments.tasks:
        value, (num_envs, batch_size, num_threads) = best(task, cores, arguments.seconds, 5)
        print(f"envpool.env.{task} {value:.0f}")
        print(f"envpool.env.{task}.num_envs {num_envs}")
        print(f"envpool.env.{task}.batch_size {batch_size}")
        print(f"envpool.env.{task}.num_threads {num_threads}")
        if arguments.beside:
            setting = num_envs, batch_size, num_threads
            beside(arguments.beside, task, cores, arguments.seconds, arguments.num_envs, setting)
