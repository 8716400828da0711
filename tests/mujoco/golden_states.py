"""States for make_gymnasium_golden.py: rollouts of many kinds, and a choice among them that is spread out.

Random actions hardly touch the ground, so rollouts are driven by random, held, swinging, overdriven and no actions,
from the task's reset and from random poses above, on and in the ground, and by linear policies that a random search found
(Mania et al., 2018: the V2 form, both directions, observations normalised). Everything is seeded.
"""

import itertools

import mujoco
import numpy as np

ROLLOUTS, STEPS = 10, 60  # of each kind; environment steps
SEARCH_STEPS = {"Humanoid-v5": 30_000, "HumanoidStandup-v5": 15_000, "Ant-v5": 40_000}  # environment steps; else:
SEARCH_STEPS_ELSE = 80_000
DIRECTIONS, BEST, HORIZON, STEP_SIZE, NOISE = 12, 6, 300, 0.03, 0.05
FASTEST = 80.0  # largest |qvel| of a state that is kept


# --- controllers: functions of the observation ------------------------------------------------------------------------


def uniform(rng, space, scale=1.0):
    return (scale * rng.uniform(space.low, space.high)).astype(np.float32)


def held(rng, space):
    state = {"left": 0}

    def act(_):
        if state["left"] == 0:
            state.update(left=int(rng.integers(5, 40)), action=uniform(rng, space))
        state["left"] -= 1
        return state["action"]

    return act


def swinging(rng, space):
    rate, phase = rng.uniform(0.05, 0.6, space.shape), rng.uniform(0, 2 * np.pi, space.shape)
    count = itertools.count()
    return lambda _: (space.high * np.sin(rate * next(count) + phase)).astype(np.float32)


def linear(policy, space):
    weights, mean, std = policy
    return lambda observation: np.clip(weights @ ((observation - mean) / std), space.low, space.high).astype(np.float32)


def controllers(rng, space):
    return {
        "random": lambda: lambda _: uniform(rng, space),
        "none": lambda: lambda _: np.zeros(space.shape, np.float32),
        "held": lambda: held(rng, space),
        "swinging": lambda: swinging(rng, space),
        "overdriven": lambda: lambda _: uniform(rng, space, 1.7),
    }


# --- random poses -----------------------------------------------------------------------------------------------------


def random_pose(env, task, rng):
    """A state anywhere within, and a little beyond, the joints' ranges; the root above, on or in the ground."""
    m, qpos = env.model, env.init_qpos.copy()
    for j in range(m.njnt):
        at, limited, (low, high) = m.jnt_qposadr[j], m.jnt_limited[j], m.jnt_range[j]
        if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            qpos[at + 2] *= rng.uniform(0.2, 1.6)
            turn = rng.standard_normal(4) * rng.choice([0.1, 1.0])
            qpos[at + 3:at + 7] = (turn + [1, 0, 0, 0]) / np.linalg.norm(turn + [1, 0, 0, 0])
        elif limited:
            spare = 0.03 * min(high - low, 1.0)
            qpos[at] = np.clip(rng.uniform(low - spare, high + spare), -1.5, 1.5)
        elif m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE:
            qpos[at] = rng.choice([0.1, 0.5, 2.0]) * rng.uniform(-1, 1)
        else:
            qpos[at] += rng.uniform(-0.2, 0.9) * (m.jnt_axis[j][2] != 0)
    qvel = rng.choice([0.0, 0.3, 3.0]) * rng.standard_normal(m.nv)
    if task == "Pusher-v5":
        object_beside_tips(env, qpos, qvel, rng)
    return qpos, qvel


def object_beside_tips(env, qpos, qvel, rng):
    """An arm whose fork is at the object's height, and the object in its reach."""
    m, d = env.model, env.data
    for _ in range(300):
        for j in range(7):
            qpos[j] = rng.uniform(*m.jnt_range[j])
        d.qpos = qpos
        mujoco.mj_kinematics(m, d)
        lowest = d.geom_xpos[13:16, 2].min()
        if -0.305 < lowest < -0.2:
            break
    geom = rng.integers(13, 16)
    near = d.geom_xpos[geom, :2] - d.body("object").xpos[:2] + qpos[[8, 7]] + 0.07 * rng.standard_normal(2)
    qpos[8], qpos[7] = near
    qpos[9:] = 0
    qvel[7:] *= 0.3
    qvel[9:] = 0


# --- linear policies --------------------------------------------------------------------------------------------------


class Search:
    """Augmented random search, as far as the given number of environment steps goes."""

    def __init__(self, env, task, rng):
        self.env, self.rng = env, rng
        self.left = SEARCH_STEPS.get(task, SEARCH_STEPS_ELSE)
        size = env.observation_space.shape[0]
        self.weights = np.zeros((env.action_space.shape[0], size))
        self.count, self.mean, self.square = 0, np.zeros(size), np.ones(size)

    def policy(self, weights):
        std = np.sqrt(np.maximum(self.square / max(self.count, 1), 1e-4))
        return weights * self.env.action_space.high[:, None], self.mean.copy(), std

    def episode(self, weights):
        act, total = linear(self.policy(weights), self.env.action_space), 0.0
        observation, _ = self.env.reset()
        for _ in range(HORIZON):
            self.count += 1
            change = observation - self.mean
            self.mean += change / self.count
            self.square += change * (observation - self.mean)
            observation, reward, terminated, _, info = self.env.step(act(observation))
            # where walking pays, standing shall not
            total += reward - ("reward_forward" in info) * info.get("reward_survive", 0.0)
            self.left -= 1
            if terminated:
                break
        return total

    def run(self):
        """Policies on the way: the beginner, the halfway one and the last."""
        found, whole = [], self.left
        while self.left > 0:
            deltas = self.rng.standard_normal((DIRECTIONS, *self.weights.shape))
            pairs = [(self.episode(self.weights + NOISE * d), self.episode(self.weights - NOISE * d)) for d in deltas]
            best = sorted(range(DIRECTIONS), key=lambda i: -max(pairs[i]))[:BEST]
            std = np.std([pairs[i] for i in best]) + 1e-6
            self.weights += STEP_SIZE / (BEST * std) * sum((pairs[i][0] - pairs[i][1]) * deltas[i] for i in best)
            if len(found) < 2 and self.left < whole * (0.85, 0.45)[len(found)]:
                found.append(self.policy(self.weights))
        return found + [self.policy(self.weights)]


# --- rollouts ---------------------------------------------------------------------------------------------------------


def rollout(env, act, steps, kind):
    """Steps on, termination or not, and returns what each step started from and came to."""
    states, d = [], env.data
    observation = env._get_obs()
    for elapsed in range(steps):
        before = {"qpos": d.qpos.copy(), "qvel": d.qvel.copy(), "qacc_warmstart": d.qacc_warmstart.copy(),
                  "time": d.time, "elapsed": elapsed, "xpos": d.xpos.copy(), "xipos": d.xipos.copy(), "kind": kind}
        action = act(observation)
        observation, reward, terminated, _, _ = env.step(action)
        if not np.isfinite(observation).all() or d.warning.number.any():
            break
        if max(np.abs(before["qvel"]).max(), np.abs(d.qvel).max()) > FASTEST:
            continue
        limits = int((d.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum())
        states.append(before | {
            "action": action, "observation": observation, "reward": reward, "terminated": bool(terminated),
            "next_qpos": d.qpos.copy(), "next_qvel": d.qvel.copy(), "next_qacc_warmstart": d.qacc_warmstart.copy(),
            "ncon": d.ncon, "nlimit": limits})
    return states


def collect(env, task):
    rng = np.random.default_rng(sum(task.encode()))
    env.reset(seed=int(rng.integers(1 << 30)))
    space, states = env.action_space, []
    for kind, make in controllers(rng, space).items():
        for i in range(2 * ROLLOUTS):
            env.reset()
            if i % 2:
                qpos, qvel = random_pose(env, task, rng)
                mujoco.mj_resetData(env.model, env.data)
                env.set_state(qpos, qvel)
            states += rollout(env, make(), STEPS, kind)
    returns = []
    for policy in Search(env, task, rng).run():
        for _ in range(ROLLOUTS):
            env.reset()
            states += rollout(env, linear(policy, space), 4 * STEPS, "policy")
            returns.append(sum(s["reward"] for s in states[-4 * STEPS:]))
    means = np.round(np.reshape(returns, (-1, ROLLOUTS)).mean(1), 1)
    print(f"{task}: the policies' sums of {4 * STEPS} rewards: {means}")
    return states


# --- choice -----------------------------------------------------------------------------------------------------------


def spread(keys, count):
    """Indices of `count` items, taken in turn from the groups of equal keys (in random order), evenly within each."""
    groups = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    order = sorted(groups)
    np.random.default_rng(count).shuffle(order)
    share, count = dict.fromkeys(order, 0), min(count, len(keys))
    for key in itertools.cycle(order):
        if sum(share.values()) == count:
            break
        share[key] += share[key] < len(groups[key])
    return [groups[key][int((n + 0.5) * len(groups[key]) / share[key])] for key in order for n in range(share[key])]


def ending(env, state):
    """Which side of the healthy ranges of height and angle the step leads to; without ranges: whether it ends."""
    low, high = getattr(env, "_healthy_z_range", (-np.inf, np.inf))
    bend = getattr(env, "_healthy_angle_range", (-np.inf, np.inf))
    if high == np.inf and bend[1] == np.inf:
        return int(state["terminated"]) * int(np.sign(state["next_qpos"][1])), 0
    free = env.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    z, angle = state["next_qpos"][2 if free else 1], state["next_qpos"][2]
    return int(z > high) - int(z < low), int(angle > bend[1]) - int(angle < bend[0])


def select(env, states, count):
    """Some first steps after a reset; of the rest half from the policies and a third that ends; each part spread over
    contacts, limits, speed and ways to end."""
    speed = np.array([np.linalg.norm(s["next_qvel"]) for s in states])
    slow, fast = np.quantile(speed, [0.4, 0.8])
    keys = [(min(s["ncon"], 6), min(s["nlimit"], 2), int(v > slow) + int(v > fast), ending(env, s),
             s["kind"] == "overdriven") for s, v in zip(states, speed)]
    parts = {}
    for i, s in enumerate(states):
        part = "first" if s["elapsed"] == 0 else (s["kind"] == "policy", ending(env, s) != (0, 0))
        parts.setdefault(part, []).append(i)
    wanted = {"first": count // 12, (True, True): count // 6, (False, True): count // 6}
    chosen = []
    for part, most in wanted.items():
        chosen += [parts[part][i] for i in spread([keys[i] for i in parts.get(part, [])], most)]
    for trained in (True, False):
        part = parts[trained, False]
        rest = (count - len(chosen)) // (2 if trained else 1)
        chosen += [part[i] for i in spread([keys[i] for i in part], rest)]
    return sorted(chosen)
