#!/usr/bin/env python3
"""How long the default configurations take to a return: trains each task and seed until an evaluation (100 deterministic
episodes) reaches the return below, stops it, and judges the best checkpoint by 100 other episodes.

    bench/time_to_return.py [--parallel N] [--limit SECONDS] [--seeds 1,2,3,4,5] ["TASK[:--key=value --key=value]" ...]

Appends to time_to_return.csv in the folder --results. Where return_std is nan nobody judged the policy afterwards: return_mean is then
the best of the training's own evaluations. `seconds` is the wall clock of the whole process, from its start to
its exit; `parallel` says how many trainings ran beside each other, which is what it costs most. HOTLOOP names the program
(default ./hotloop), RUNS a folder for the run folders, which are kept there (default: a temporary one).
"""

import argparse
import collections
import csv
import datetime
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
    def __init__(self, program, device, folder, task, flags, seed):
        self.task, self.flags, self.seed = task, flags, seed
        self.run = folder / f"{task}.{seed}"
        self.program, self.device = program, device
        self.start, self.asked, self.seconds, self.judge = time.time(), None, None, None
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
        return any(value >= RETURNS[self.task] for value, _ in self.evaluations())

    def done(self, late):
        """Advances the training by what can be done without waiting; true once it has been judged."""
        now = time.time()
        if self.judge is None:
            if self.process.poll() is None:
                if self.asked is None and (late or self.reached()):
                    self.asked = now
                    self.process.send_signal(signal.SIGINT)
                elif self.asked is not None and now - self.asked > GRACE:
                    self.process.kill()
                return False
            self.seconds = now - self.start
            self.judge = subprocess.Popen([self.program, "play", str(self.run), "--episodes", "100", "--json", "--device",
                                           self.device], stdout=subprocess.PIPE, text=True)
        return self.judge.poll() is not None

    def row(self):
        text = self.judge.stdout.read()
        judged = json.loads(text) if self.judge.returncode == 0 else {"return_mean": "nan", "return_std": "nan"}
        evaluations = self.evaluations()
        return {"task": self.task, "flags": " ".join(self.flags), "seed": self.seed, "wanted": RETURNS[self.task],
                "reached": int(self.reached()), "return_mean": "%.2f" % float(judged["return_mean"]),
                "return_std": "%.2f" % float(judged["return_std"]), "steps": evaluations[-1][1] if evaluations else 0,
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
