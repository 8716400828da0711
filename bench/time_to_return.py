#!/usr/bin/env python3
"""How long the default configurations take to a return: trains each task and seed until a policy of it returns what is
wanted, on average over 100 deterministic episodes other than those of the training's own evaluations.

    bench/time_to_return.py [--parallel N] [--limit SECONDS] [--seeds 1,2,3,4,5] ["TASK[:--key=value --key=value]" ...]

Appends to time_to_return.csv in the folder --results. `reached` says whether such a policy was there, `seconds` is the wall clock
of the whole training, from its start to its exit; `parallel` says how many trainings ran beside each other, which is what
it costs most. (Rows up to commit d19da4c: the training stopped at its own first evaluation that was good enough, and
`reached` means that; return_mean is of other episodes, or where return_std is nan the best of its own evaluations.) HOTLOOP names the program
(default ./hotloop), RUNS a folder for the run folders, which are kept there (default: a temporary one).
"""

import argparse
import collections
import csv
import datetime
import itertools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

RETURNS = {
    "Ant-v5": 6000, "HalfCheetah-v5": 6000, "Hopper-v5": 3000, "Walker2d-v5": 5000, "Swimmer-v5": 340, "Reacher-v5": -4,
    "Pusher-v5": -30, "InvertedPendulum-v5": 999.5, "InvertedDoublePendulum-v5": 9100, "Humanoid-v5": 6000,
    "HumanoidStandup-v5": 250000,
}
COLUMNS = ["date", "commit", "device", "task", "flags", "seed", "wanted", "reached", "return_mean", "return_std", "steps",
           "seconds", "parallel"]
GRACE = 15  # seconds in which a training that was asked to stop saves and leaves


class Training:
    """One training with its judges: a policy that an evaluation finds good enough plays 100 other episodes while the
    training goes on, which ends once one of them holds."""

    def __init__(self, program, device, folder, task, flags, seed):
        self.task, self.flags, self.seed = task, flags, seed
        self.run = next(run for k in itertools.count() if not (run := folder / f"{task}.{seed}.{k}").exists())
        self.run.mkdir(parents=True)
        self.program, self.device = program, device
        self.start, self.asked, self.seconds = time.time(), None, None
        self.judge, self.judged, self.best = None, None, -float("inf")
        self.process = subprocess.Popen([program, "train", task, "--seed", str(seed), "--device", device, "--run-dir",
                                         str(self.run), "--quiet", *flags])

    def evaluations(self):
        try:
            with open(self.run / "metrics.csv", newline="") as file:
                rows = list(csv.DictReader(file))
        except FileNotFoundError:
            return []
        return [(float(r["eval/episodic_return"]), int(r["global_step"])) for r in rows if r.get("eval/episodic_return")]

    def reached(self):
        return self.judged is not None and self.judged["return_mean"] >= RETURNS[self.task]

    def start_judge(self):
        self.judge = subprocess.Popen([self.program, "play", str(self.run), "--episodes", "100", "--json", "--device",
                                       self.device], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def hear_judge(self):
        """False while it plays."""
        if self.judge is None:
            return True
        if self.judge.poll() is None:
            return False
        text, ok = self.judge.stdout.read(), self.judge.returncode == 0
        self.judge = None
        if ok:
            self.judged = json.loads(text)
        return True

    def done(self, late):
        """Advances the training by what can be done without waiting; true once it has ended and has been judged."""
        now = time.time()
        if not self.hear_judge():
            return False
        if self.process.poll() is None:
            if self.asked is None and (late or self.reached()):
                self.asked = now
                self.process.send_signal(signal.SIGINT)
            elif self.asked is not None and now - self.asked > GRACE:
                self.process.kill()
            elif self.asked is None:
                best = max((value for value, _ in self.evaluations()), default=-float("inf"))
                if best >= RETURNS[self.task] and best > self.best:
                    self.best = best
                    self.start_judge()
            return False
        if self.seconds is None:
            self.seconds = now - self.start
            if not self.reached():
                self.start_judge()
                return False
        return True

    def row(self):
        judged = self.judged or {"return_mean": float("nan"), "return_std": float("nan")}
        evaluations = self.evaluations()
        return {"task": self.task, "flags": " ".join(self.flags), "seed": self.seed, "wanted": RETURNS[self.task],
                "reached": int(self.reached()), "return_mean": "%.2f" % judged["return_mean"],
                "return_std": "%.2f" % judged["return_std"], "steps": evaluations[-1][1] if evaluations else 0,
                "seconds": "%.1f" % self.seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="default: all of them")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which everything is stopped")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", default="bench/results", type=pathlib.Path)
    options = parser.parse_args()
    program = os.environ.get("HOTLOOP", "./hotloop")
    folder = pathlib.Path(os.environ.get("RUNS") or tempfile.mkdtemp())
    commit = os.environ.get("HOTLOOP_COMMIT") or subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True)
    waiting = collections.deque()
    for given in options.tasks or RETURNS:
        task, _, flags = given.partition(":")
        if task not in RETURNS:
            parser.error(f"{task}: no return is known for it; accepted: {', '.join(RETURNS)}")
        waiting.extend((task, flags.split(), int(seed)) for seed in options.seeds.split(","))
    path = options.results / "time_to_return.csv"
    fresh = not path.exists()
    start, running = time.time(), []
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        while waiting or running:
            late = time.time() - start > options.limit
            if late:
                waiting.clear()
            while waiting and len(running) < options.parallel:
                running.append(Training(program, options.device, folder, *waiting.popleft()))
            for training in [t for t in running if t.done(late)]:
                running.remove(training)
                row = {"date": datetime.date.today().isoformat(), "commit": commit.strip(), "device": options.device,
                       "parallel": options.parallel, **training.row()}
                writer.writerow(row)
                file.flush()
                print(*row.values(), flush=True)
            time.sleep(0.2)


if __name__ == "__main__":
    main()
