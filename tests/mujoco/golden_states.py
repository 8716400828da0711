"""States for make_gymnasium_golden.py: rollouts of many kinds, and a choice among them that is spread out.

Random actions hardly touch the ground, so rollouts are driven by trained policies with exploration noise, and by
random, held, swinging, overdriven and no actions, from the task's reset and from random poses above, on and in the
ground. Everything is seeded.
"""

import itertools

import mujoco
import numpy as np

ROLLOUTS, STEPS = 10, 60  # of each kind; environment steps
NOISES = (0.0, 1.0, 2.5)  # of the policies, times their own deviation
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


def collect(env, task, policy):
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
    for noise in NOISES:
        returns = []
        for _ in range(ROLLOUTS):
            env.reset()
            new = rollout(env, lambda observation: policy.act(observation, rng, noise), 4 * STEPS, "policy")
            returns.append(sum(s["reward"] for s in new))
            states += new
        print(f"{task}: {noise} times the policy's noise: {np.mean(returns):.1f} in {4 * STEPS} steps, terminated or not")
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
    """Half from the policies, of those a third that ends; of the others some first steps after a reset and some that
    end; each part spread over contacts, limits, speed and ways to end."""
    speed = np.array([np.linalg.norm(s["next_qvel"]) for s in states])
    slow, fast = np.quantile(speed, [0.4, 0.8])
    keys = [(min(s["ncon"], 6), min(s["nlimit"], 2), int(v > slow) + int(v > fast), ending(env, s),
             s["kind"] == "overdriven") for s, v in zip(states, speed)]
    parts = {}
    for i, s in enumerate(states):
        trained, ends = s["kind"] == "policy", ending(env, s) != (0, 0)
        part = "ends" if ends else "first" if s["elapsed"] == 0 and not trained else "goes on"
        parts.setdefault((trained, part), []).append(i)
    chosen = []
    for trained in (True, False):
        own = []
        for part, most in (("first", count // 12), ("ends", count // 6), ("goes on", count)):
            group = parts.get((trained, part), [])
            own += [group[i] for i in spread([keys[i] for i in group], min(most, count // 2 - len(own)))]
        chosen += own
    return sorted(chosen)
