"""Compares the compiled models of assets/mjcf with those of the installed Gymnasium package, field by field.

python compare_assets.py FOLDER: FOLDER is assets/mjcf. Every field of mjModel is compared but those of EXCLUDED;
numbers must agree within 1e-12, relative. Prints the first field that differs, for each model; exit status 1 if any does.
"""

import pathlib
import re
import sys

import gymnasium.envs.mujoco
import mujoco
import numpy as np

GYMNASIUM = pathlib.Path(gymnasium.envs.mujoco.__file__).parent / "assets"
MODELS = {  # ours: Gymnasium's, of the v5 tasks
    "inverted_pendulum": "inverted_pendulum",
    "inverted_double_pendulum": "inverted_double_pendulum",
    "reacher": "reacher",
    "pusher": "pusher_v5",
    "swimmer": "swimmer",
    "hopper": "hopper",
    "half_cheetah": "half_cheetah",
    "walker2d": "walker2d_v5",
    "ant": "ant",
    "humanoid": "humanoid",
    "humanoid_standup": "humanoidstandup",
}
EXCLUDED = {  # pattern of the whole field name: why it may differ
    "vis": "how the model is drawn",
    "geom_rgba|geom_matid": "colours and materials",
    "n?(cam|light|mat|tex)(_.*|data)?": "cameras, lights, materials and textures",
    "names|nnames|nnames_map|names_map|name_.*": "names; those that Gymnasium's users know are compared below",
    "nuser_geom|geom_user": "user data that nothing reads",
    "nnumeric(data)?|numeric_.*": "custom numbers that nothing reads",
    "nbuffer|narena": "bytes that the model and its data take up",
    "signature": "hash over the specification, visuals included",
}
RELATIVE = 1e-12
ZERO = 1e-15  # of the field's largest number: rounding where the exact value is 0
NAMED = {
    "nbody": mujoco.mjtObj.mjOBJ_BODY,
    "njnt": mujoco.mjtObj.mjOBJ_JOINT,
    "nsite": mujoco.mjtObj.mjOBJ_SITE,
    "ntendon": mujoco.mjtObj.mjOBJ_TENDON,
    "nactuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
}


def members(thing):
    return {k: getattr(thing, k) for k in dir(thing) if not k.startswith("_") and not callable(getattr(thing, k))}


def fields(model):
    found = {}
    for name, value in members(model).items():
        if any(re.fullmatch(pattern, name) for pattern in EXCLUDED):
            continue
        if name in ("opt", "stat"):
            found |= {f"{name}.{k}": v for k, v in members(value).items()}
        else:
            found[name] = value
    for name, value in found.items():
        if not isinstance(value, (int, float, bytes, np.ndarray)):
            raise TypeError(f"{name}: {type(value)} cannot be compared")
    return found


def difference(ours, theirs):
    """What differs, in words; None if nothing does."""
    if isinstance(theirs, bytes):
        return None if ours == theirs else f"{ours} instead of {theirs}"
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
    if a.size == 0:
        return None
    a, b = a.astype(np.float64), b.astype(np.float64)
    tolerance = RELATIVE * np.maximum(abs(a), abs(b)) + ZERO * abs(b).max()
    wrong = np.argwhere(~(abs(a - b) <= tolerance))
    if len(wrong) == 0:
        return None
    at = tuple(int(i) for i in wrong[0])
    return f"at {list(at)}: {a[at]!r} instead of {b[at]!r} ({len(wrong)} of {a.size} differ)"


def first_difference(ours, theirs):
    a, b = fields(ours), fields(theirs)
    sizes_first = sorted(b, key=lambda name: (np.ndim(b[name]) > 0, name))
    for name in sizes_first:
        what = difference(a[name], b[name])
        if what:
            return f"{name} {what}"
    for size, kind in NAMED.items():
        for i in range(getattr(theirs, size)):
            have, want = mujoco.mj_id2name(ours, kind, i), mujoco.mj_id2name(theirs, kind, i)
            if want and have != want:
                return f"name of {kind.name[6:].lower()} {i}: {have} instead of {want}"
    return None


def main():
    folder = pathlib.Path(sys.argv[1])
    extra = {p.stem for p in folder.glob("*.xml")} - set(MODELS)
    wrong = [f"{name}.xml: compared with nothing" for name in sorted(extra)]
    for ours, theirs in MODELS.items():
        what = first_difference(mujoco.MjModel.from_xml_path(str(folder / f"{ours}.xml")),
                                mujoco.MjModel.from_xml_path(str(GYMNASIUM / f"{theirs}.xml")))
        if what:
            wrong.append(f"{ours}.xml: {what}")
    print("\n".join(wrong) or f"{len(MODELS)} models agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
