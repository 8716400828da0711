#!/usr/bin/env python3
"""Reads the #include lines of the tree and fails on an arrow that the design forbids.

    sim <- data <- train <- viz <- app     a folder includes itself and what is left of it; of train the viewer's
                                           window and scene see telemetry and two services of the host, its sources
                                           of worlds see all; only app sees bench
    LibTorch                               only data/tensordict and train/generic include it, even through headers of
                                           ours (tests may too); no .cu file does
    HDF5, JSON                             not in sim
    <<<                                    only in sim/core and train/fused

Usage: include_direction.py ROOT | include_direction.py --self-test
"""
import pathlib
import re
import sys
import tempfile

ORDER = ["sim", "data", "train", "viz", "app"]
VIZ_SOURCES = ("viz/source/", "viz/watch.")
SEEN_BY_WINDOW = ("train/telemetry.h", "train/nvml.h", "train/stop_signal.h")
TORCH_FOLDERS = ("data/tensordict/", "train/generic/")
LAUNCH_FOLDERS = ("sim/core/", "train/fused/")
TORCH = re.compile(r"(torch|ATen|c10)/")
NOT_IN_SIM = re.compile(r"(H5\w*|hdf5|hdf5_hl)\.h$|hdf5/|nlohmann/|json")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def read_tree(root):
    """Maps each source's path to its text."""
    sources = {}
    for folder in ORDER + ["bench", "tests"]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".hpp", ".cc"):
                sources[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    return sources


def torch_road(path, includes, seen):
    """The chain of includes from `path` to a LibTorch header, or None."""
    for target in includes.get(path, ()):
        if TORCH.match(target):
            return [target]
        if target in includes and target not in seen:
            seen.add(target)
            road = torch_road(target, includes, seen)
            if road:
                return [target] + road
    return None


def findings(sources):
    includes = {path: INCLUDE.findall(text) for path, text in sources.items()}
    for path, text in sources.items():
        folder = path.split("/")[0]
        for target in includes[path]:
            other = target.split("/")[0]
            if folder in ORDER and (other == "tests" or other == "bench" and folder != "app" or
                                    other in ORDER and ORDER.index(other) > ORDER.index(folder)):
                yield f"{path}: includes {target}: {other} may include {folder}, not the reverse"
            if folder == "viz" and other == "train" and target not in SEEN_BY_WINDOW and not path.startswith(
                    VIZ_SOURCES):
                yield f"{path}: includes {target}: of train only {' and '.join(VIZ_SOURCES)} see more than " + \
                    ", ".join(SEEN_BY_WINDOW)
            if folder == "sim" and NOT_IN_SIM.search(target):
                yield f"{path}: includes {target}: sim knows no HDF5 and no JSON"
        may_torch = path.startswith(TORCH_FOLDERS + ("tests/",)) and not path.endswith(".cu")
        road = None if may_torch else torch_road(path, includes, {path})
        if road:
            where = ".cu files include no LibTorch" if path.endswith(".cu") else "only " + " and ".join(
                TORCH_FOLDERS) + " include LibTorch"
            yield f"{path}: includes {' -> '.join(road)}: {where}"
        if not path.startswith(LAUNCH_FOLDERS) and "<<<" in COMMENT_OR_STRING.sub("", text):
            yield f"{path}: <<<: kernels are launched in {' and '.join(LAUNCH_FOLDERS)} only"


GOOD = {
    "sim/core/a.h": "#include <vector>\n",
    "sim/core/launch.h": "kernel<<<1, 1>>>();\n",
    "sim/envs/b.h": '// a <<< in a comment\n#include "sim/core/a.h"\nauto s = "<<<";\n',
    "data/log.cpp": '#include <hdf5.h>\n#include <nlohmann/json.hpp>\n#include "sim/core/a.h"\n',
    "data/tensordict/td.h": "#include <ATen/core/Tensor.h>\n",
    "train/generic/g.cpp": '#include "data/tensordict/td.h"\n',
    "train/telemetry.h": "",
    "train/config.h": "",
    "viz/v.cpp": '#include "train/telemetry.h"\n',
    "viz/source/run.cpp": '#include "train/config.h"\n',
    "app/m.cpp": '#include "viz/v.h"\n#include "train/config.h"\n',
    "tests/data/td_test.cpp": '#include "data/tensordict/td.h"\n',
}
BAD = [  # each is one wrong arrow
    ("sim/core/x.h", '#include "data/arena.h"\n'),
    ("data/x.cpp", '#  include "train/config.h"\n'),
    ("train/x.cpp", '#include "app/run.h"\n'),
    ("train/x.cpp", '#include "viz/v.h"\n'),
    ("viz/x.cpp", '#include "train/config.h"\n'),
    ("sim/core/x.h", '#include "tests/helper.h"\n'),
    ("train/x.h", '#include "bench/report.h"\n'),
    ("sim/core/x.h", "#include <hdf5.h>\n"),
    ("sim/core/x.h", "#include <nlohmann/json.hpp>\n"),
    ("sim/core/x.cpp", "#include <torch/torch.h>\n"),
    ("train/x.cpp", '#include "c10/util/Half.h"\n'),
    ("train/x.cpp", '#include "data/tensordict/td.h"\n'),
    ("train/fused/x.cu", '#include "data/tensordict/td.h"\n'),
    ("train/generic/x.cu", "#include <ATen/core/Tensor.h>\n"),
    ("tests/x_test.cu", "#include <torch/types.h>\n"),
    ("train/x.cu", "f<<<1, 2>>>();\n"),
    ("tests/sim/x_test.cu", "f<<<1, 2>>>();\n"),
]


def self_test():
    def check(files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return list(findings(read_tree(pathlib.Path(folder))))

    problems = [f"false alarm: {finding}" for finding in check(GOOD)]
    for path, text in BAD:
        found = check({**GOOD, path: text})
        if len(found) != 1 or not found[0].startswith(path + ":"):
            problems.append(f"{path}: {text.strip()}: expected one finding, got {found}")
    return problems


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
    else:
        sources = read_tree(pathlib.Path(sys.argv[1]))
        problems = list(findings(sources)) if sources else ["no sources found"]
        print(f"{len(sources)} files")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
