"""Compares exported policies with hotloop's own actions: check_export.py FOLDER

FOLDER holds, for each case, NAME.ref.safetensors (observation, action_mask, action, logits, value: what hotloop computes)
and the exported NAME.onnx, NAME.pt, NAME.c, NAME.safetensors. Prints what differs; exit status 1 if something does.
"""
import concurrent.futures
import ctypes
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

TOLERANCE = 1e-5
FLAGS = "-std=c99 -Wall -Wextra -pedantic -Werror -O2".split()
FLOATS = ctypes.POINTER(ctypes.c_float)
SINGLES = 1000  # rows that are computed one by one


class Case:
    def __init__(self, folder, name):
        self.path, self.name, self.faults = folder / name, name, []
        self.reference = load_file(folder / f"{name}.ref.safetensors")
        self.facts = json.loads((folder / f"{name}.json").read_text())
        self.discrete = self.facts["action_space"]["type"] != "Box"
        self.masked = "action_mask" in self.facts["inputs"]
        self.x = self.reference["observation"]
        self.mask = self.reference["action_mask"].astype(bool)

    def scale(self, want):
        """What 1 is to a row: its largest number, or that of an observation that is out of the ordinary."""
        return np.maximum(self.reference["scale"][:len(want)], np.abs(want.astype(np.float64)).max(axis=1))

    def close(self, what, got, want):
        got = np.asarray(got, np.float64).reshape(want.shape)
        scale = self.scale(want)
        error = np.abs(got - want).reshape(len(want), -1).max(axis=1) / scale
        if not error.max() <= TOLERANCE:
            self.faults.append(f"{what}: off by {error.max():.3g} in row {error.argmax()}")

    def check(self, what, outputs, rows):
        """The outputs' first rows; a choice may differ where the two best logits are nearer than the tolerance."""
        for name in outputs:
            if name != "action" or not self.discrete:
                self.close(f"{what} {name}", outputs[name], self.reference[name][:rows])
        if not self.discrete or "action" not in outputs:
            return
        action, logits = self.reference["action"][:rows], self.reference["logits"][:rows].astype(np.float64)
        got = np.asarray(outputs["action"]).reshape(action.shape)
        if self.masked:
            logits = np.where(self.mask[:rows], logits, -np.inf)
        scale, first = self.scale(self.reference["logits"][:rows]), 0
        space = self.facts["action_space"]
        for k, n in enumerate(space.get("nvec", [space.get("n")])):
            part = logits[:, first:first + n]
            first += n
            chosen, wanted = (part[np.arange(rows), a[:, k].astype(int)] for a in (got, action))
            wrong = ~(wanted - chosen <= TOLERANCE * scale)
            if wrong.any() or (got[:, k] != action[:, k]).mean() > 0.01:
                self.faults.append(f"{what} action {k}: another choice in row {wrong.argmax()}")

    def inputs(self, rows):
        feed = {"observation": self.x[rows]}
        if self.masked:
            feed["action_mask"] = self.mask[rows]
        return feed

    def onnx(self):
        model = onnx.load(f"{self.path}.onnx")
        onnx.checker.check_model(model, full_check=True)
        properties = {p.key: p.value for p in model.metadata_props}
        for key, value in self.facts.items():
            if value != (properties[key] if isinstance(value, str) else json.loads(properties[key])):
                self.faults.append(f"onnx metadata {key}: {properties[key][:80]}")
        if [o.version for o in model.opset_import] != [17] or model.ir_version != 8:
            self.faults.append("onnx: opset or IR version")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(f"{self.path}.onnx", options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        if names != self.facts["outputs"]:
            self.faults.append(f"onnx outputs {names}")
        outputs = dict(zip(names, session.run(None, self.inputs(slice(None)))))
        self.check("onnx", outputs, len(self.x))
        if self.discrete and outputs["action"].dtype != np.int64:
            self.faults.append(f"onnx action is {outputs['action'].dtype}")
        rows = [session.run(None, self.inputs(slice(i, i + 1))) for i in range(SINGLES)]
        self.check("onnx batch 1", {n: np.concatenate([r[k] for r in rows]) for k, n in enumerate(names)}, SINGLES)

    def torchscript(self):
        extra = {"metadata.json": ""}
        module = torch.jit.load(f"{self.path}.pt", _extra_files=extra)
        if json.loads(extra["metadata.json"]) != self.facts:
            self.faults.append("torchscript metadata")
        # without: each shape would be compiled anew
        with torch.inference_mode(), torch.jit.optimized_execution(False):
            methods = {"action": module, "value": module.value}
            if self.discrete:
                methods["logits"] = module.logits
            for name, method in methods.items():
                def run(rows):
                    feed = [torch.from_numpy(a) for a in self.inputs(rows).values()]
                    return method(*(feed if name == "action" else feed[:1])).numpy()

                self.check("torchscript", {name: run(slice(None))}, len(self.x))
                rows = SINGLES if name == "action" else SINGLES // 10
                singles = np.concatenate([run(slice(i, i + 1)) for i in range(rows)])
                self.check("torchscript batch 1", {name: singles}, rows)

    def compile(self):
        subprocess.run(["cc", *FLAGS, "-shared", "-fPIC", f"{self.path}.c", "-o", f"{self.path}.so"], check=True)
        symbols = subprocess.run(["nm", "-u", f"{self.path}.so"], check=True, capture_output=True, text=True).stdout
        needed = [s for s in symbols.split() if len(s) > 1 and not s.startswith(("_", "__"))]
        if needed:
            self.faults.append(f"c needs {needed}")

    def c(self):
        library = ctypes.CDLL(f"{self.path}.so")
        library.policy_value.restype = ctypes.c_float
        rows, actions = len(self.x), self.reference["action"].shape[1]
        outputs = {"action": np.zeros((rows, actions), np.float32), "value": np.zeros((rows, 1), np.float32)}
        if self.discrete:
            outputs["logits"] = np.zeros(self.reference["logits"].shape, np.float32)
        for i in range(rows):
            x, action = self.x[i].ctypes.data_as(FLOATS), outputs["action"][i].ctypes.data_as(FLOATS)
            if self.masked:
                mask = np.ascontiguousarray(self.mask[i].astype(np.uint8))
                library.policy_masked(x, mask.ctypes.data_as(ctypes.POINTER(ctypes.c_ubyte)), action)
            else:
                library.policy(x, action)
            if self.discrete:
                library.policy_logits(x, outputs["logits"][i].ctypes.data_as(FLOATS))
            outputs["value"][i] = library.policy_value(x)
        self.check("c", outputs, rows)
        if self.masked:
            self.unmasked(library)

    def unmasked(self, library):
        """Without a mask every choice is legal."""
        action, logits = np.zeros(self.reference["action"].shape[1], np.float32), np.zeros(self.mask.shape[1], np.float32)
        nvec = self.facts["action_space"].get("nvec", [self.facts["action_space"].get("n")])
        for x in self.x[:100]:
            library.policy(x.ctypes.data_as(FLOATS), action.ctypes.data_as(FLOATS))
            library.policy_logits(x.ctypes.data_as(FLOATS), logits.ctypes.data_as(FLOATS))
            parts = np.split(logits, np.cumsum(nvec)[:-1])
            if action.tolist() != [part.argmax() for part in parts]:
                self.faults.append(f"c without a mask: {action}")

    def safetensors(self):
        with safe_open(f"{self.path}.safetensors", "np") as file:
            metadata = file.metadata()
        tensors = load_file(f"{self.path}.safetensors")
        activations = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
                       "silu": lambda x: x / (1 + np.exp(-x))}
        operations = {"subtract": lambda x, a, b: x - a, "multiply": lambda x, a, b: x * a, "add": lambda x, a, b: x + a,
                      "clamp": lambda x, a, b: np.clip(x, a, b), "linear": lambda x, a, b: x @ a.T + b}
        values = {"observation": self.x}
        with np.errstate(over="ignore"):
            for op in json.loads(metadata["graph"]):
                x = values[op["input"]]
                if op["op"] == "activation":
                    values[op["output"]] = activations[op["activation"]](x)
                elif op["op"] != "argmax":
                    values[op["output"]] = operations[op["op"]](x, tensors.get(op.get("a")), tensors.get(op.get("b")))
        for name in self.facts["outputs"]:
            if name != "action" or not self.discrete:
                self.close(f"safetensors {name}", values[name], self.reference[name])


def main(folder):
    names = sorted(p.name[:-len(".ref.safetensors")] for p in folder.glob("*.ref.safetensors"))
    cases = [Case(folder, name) for name in names]
    torch.set_num_threads(1)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        compiled = [pool.submit(case.compile) for case in cases]
        for case in cases:
            case.onnx()
            case.torchscript()
            case.safetensors()
        for case, done in zip(cases, compiled):
            done.result()
            case.c()
    for case in cases:
        for fault in case.faults:
            print(f"{case.name}: {fault}")
    print(f"{len(cases)} policies, {len(cases[0].x)} observations each")
    return 1 if not cases or any(case.faults for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
