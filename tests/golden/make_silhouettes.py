#!/usr/bin/env python3
"""Writes tests/golden/silhouettes: outlines of the models in assets/mjcf as MuJoCo's own renderer draws them.

Each model at its start pose and bent, seen by a free camera; silhouettes.json names pose and camera, the PNG files have
one bit a pixel: whether a geom or site that is no plane is seen. Needs mujoco, numpy and Pillow, and OpenGL without a
display:

    python3 tests/golden/make_silhouettes.py
"""
import ctypes
import json
import math
import pathlib

import mujoco
import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "golden" / "silhouettes"
WIDTH, HEIGHT = 640, 480


def bent(model):
    """The start pose with its hinges and slides moved, each by another amount within its range."""
    qpos = model.qpos0.copy()
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
            continue
        at = model.jnt_qposadr[joint]
        qpos[at] += 0.3 * math.sin(1.7 * joint + 1)
        if model.jnt_limited[joint]:
            qpos[at] = np.clip(qpos[at], *model.jnt_range[joint])
    return qpos


def make_context():
    """A current OpenGL context without a window, through EGL's platform without a surface."""
    egl = ctypes.CDLL("libEGL.so.1")
    for function in (egl.eglGetPlatformDisplay, egl.eglCreateContext):
        function.restype = ctypes.c_void_p
    display = ctypes.c_void_p(egl.eglGetPlatformDisplay(0x31DD, None, None))  # EGL_PLATFORM_SURFACELESS_MESA
    assert egl.eglInitialize(display, None, None), "no EGL display"
    egl.eglBindAPI(0x30A2)  # EGL_OPENGL_API
    context = ctypes.c_void_p(egl.eglCreateContext(display, None, None, None))
    assert egl.eglMakeCurrent(display, None, None, context), "no OpenGL context"


def mask(model, data, camera):
    scene = mujoco.MjvScene(model, 1000)
    option = mujoco.MjvOption()
    mujoco.mjv_updateScene(model, data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
    scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = True
    context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
    rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    rectangle = mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
    mujoco.mjr_render(rectangle, scene, context)
    mujoco.mjr_readPixels(rgb, None, rectangle, context)
    drawn = {geom.segid + 1: geom for geom in scene.geoms[:scene.ngeom]}
    kinds = (int(mujoco.mjtObj.mjOBJ_GEOM), int(mujoco.mjtObj.mjOBJ_SITE))
    wanted = [number for number, geom in drawn.items() if int(geom.objtype) in kinds]
    numbers = rgb.astype(np.int32) @ np.array([1, 256, 65536])
    return np.isin(numbers, wanted)[::-1]


def main():
    OUT.mkdir(exist_ok=True)
    make_context()
    entries = []
    for path in sorted((ROOT / "assets" / "mjcf").glob("*.xml")):
        model = mujoco.MjModel.from_xml_path(str(path))
        planes = model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
        model.geom_matid[planes], model.geom_rgba[planes, 3] = -1, 0  # would hide what is below them
        model.vis.global_.offwidth, model.vis.global_.offheight = WIDTH, HEIGHT
        for name, qpos in (("start", model.qpos0), ("bent", bent(model))):
            data = mujoco.MjData(model)
            data.qpos[:] = qpos
            mujoco.mj_forward(model, data)
            solid = model.geom_rbound > 0  # planes have none
            reach = model.geom_rbound[solid, None]
            low, high = (data.geom_xpos[solid] - reach).min(axis=0), (data.geom_xpos[solid] + reach).max(axis=0)
            camera = mujoco.MjvCamera()
            camera.lookat[:] = (low + high) / 2
            camera.distance = 1.1 * float(np.linalg.norm(high - low))
            camera.azimuth, camera.elevation = 125, -25
            picture = f"{path.stem}_{name}.png"
            Image.fromarray(mask(model, data, camera)).save(OUT / picture, optimize=True)
            entries.append({"model": path.name, "picture": picture, "qpos": [round(float(x), 6) for x in qpos],
                            "lookat": [float(x) for x in camera.lookat], "distance": camera.distance,
                            "azimuth": camera.azimuth, "elevation": camera.elevation,
                            "fovy": float(model.vis.global_.fovy)})
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (OUT / "silhouettes.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
