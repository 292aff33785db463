# SPDX-License-Identifier: Apache-2.0
"""A training job on the hosts of hosts.py: its ranks over gloo, the profiles of its windows, and the controller's view of it."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

from hosts import Unusable, call, ended, until

TOP = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # the one with Debian's torch
JOB = "research/real"
TRAIN_S, STOP_S, IMPORT_S, LATER_MAX_S = 400, 60, 60, 300  # the last: six windows of a job at one per minute
SUBMITS = 3  # attempts per window
SLOWER_PERCENT = 80  # slowdown of matrix products on a slow host
LOG_CHARS = 400


def preload(folder, name, **macros):
    """Builds NAME.so from host_blas.c with these macros, for Host.preload()."""
    library = folder / f"{name}.so"
    call("cc", "-O1", "-D_GNU_SOURCE", *(f"-D{key}={value}" for key, value in macros.items()), "-shared", "-fPIC", "-o", library,
         TOP / "tests/job/host_blas.c", "-ldl")
    return library.resolve()


def need_torch():
    """Checks for torch first, because a rank that exits at once only looks like a missing rank."""
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, timeout=IMPORT_S, check=False).returncode:
        raise Unusable(f"{PYTHON} has no torch: install python3-torch")


class Job:
    """One run: the ranks, rank i on the i-th of the hosts `where`, and their output in a new folder."""

    def __init__(self, options, folder, hosts, where, number=1):
        self.options, self.folder, self.hosts, self.where, self.number = options, folder, hosts, where, number
        self.processors = sorted(os.sched_getaffinity(0))
        self.ranks = options.dp * options.pp
        self.processes = []
        folder.mkdir()

    def start(self, rank, log):
        o = self.options
        words = [PYTHON, TOP / "tests/job/train.py", "--rank", rank, "--dp", o.dp, "--pp", o.pp, "--steps", o.steps, "--windows", o.windows,
                 "--seed", o.seed, "--model", o.model, "--processor", self.processors[rank % o.dp], *["--uneven"] * (o.control == "own-code"),
                 self.folder]
        env = {"RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": str(self.ranks), "ASSAY_JOB": JOB, "ASSAY_RUN": str(self.number)}
        return self.hosts[self.where[rank]].start(*words, gpu=True, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log)

    def train(self):
        """Waits for all windows; the ranks keep running."""
        for window in range(self.options.windows):
            (self.folder / f"window-{window}").mkdir()
        with contextlib.ExitStack() as stack:
            for rank in range(self.ranks):
                log = stack.enter_context(open(self.folder / f"rank{rank}.log", "w", encoding="utf-8"))
                self.processes.append(self.start(rank, log))
            if self.options.control == "noisy-neighbour":
                for processor in self.processors[:self.options.dp]:
                    words = [PYTHON, TOP / "tests/job/neighbour.py", str(processor), str(self.options.seed)]
                    stack.callback(ended, subprocess.Popen(words, stdin=subprocess.DEVNULL))
            for name in self.where:
                self.hosts[name].look_for_ranks()
            until(self.has_trained, TRAIN_S, lambda: "the job still trains")

    def has_trained(self):
        """Checks for the first rank that failed, because the others then fail too."""
        for rank, process in enumerate(self.processes):
            if process.poll() is not None:
                words = (self.folder / f"rank{rank}.log").read_text()[-LOG_CHARS:].strip()
                raise Unusable(f"rank {rank} ended with {process.returncode}: {words}")
        return all((self.folder / f"trained{rank}").exists() for rank in range(self.ranks))

    def trace(self, window):
        """(the file, begin and end of its steps)"""
        folder = self.folder / f"window-{window}"
        profiles = [folder / f"rank{rank}.json" for rank in range(self.ranks)]
        path = self.folder / f"window-{window}.jsonl"
        path.write_text(call(PYTHON, TOP / "attribution/assay-optrace", "pytorch", "--dp", self.options.dp, "--pp", self.options.pp, "--job", JOB,
                             *profiles))
        times = [[float(t) for t in (folder / f"times{rank}").read_text().split()] for rank in range(self.ranks)]
        return path, max(begin for begin, _ in times), min(end for _, end in times)

    def send(self):
        """Sends each window. Returns the view of the job after each."""
        said = []
        for window in range(self.options.windows):
            path, begin, end = self.trace(window)
            self.submit(path, begin, end)
            said.append(self.shown())
        return said

    def submit(self, path, begin, end):
        """Submits like a real client, and retries when told to."""
        for left in reversed(range(SUBMITS)):
            now = time.time()
            try:
                self.hosts.ctl("job", "submit", path, "--job", JOB, "--ages", f"{now - begin:.3f},{now - end:.3f}", "--wait", good=(0, 1))  # 1: rejected
                return
            except Unusable as problem:
                later = re.search(r"try again in (\d+) s", str(problem))
                if not later or left == 0:
                    raise
                time.sleep(min(int(later[1]), LATER_MAX_S))

    def shown(self, *words):
        return json.loads(self.hosts.ctl("job", JOB, *words, "-o", "json"))

    def stop(self):
        """Stops it like its driver: the ranks exit, and their hosts report it."""
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait(STOP_S)
        for name in self.where:
            self.hosts[name].look_for_ranks(0)


def number(value):
    return "?" if value is None else f"{value:.3f}"


def print_windows(windows):
    print("WINDOW  STEPS  SLOWDOWN                CAUSE    SUSPECT")
    for w in windows:
        if w["state"] != "analysed":
            print(f"{w['id']:>6}  {w['state']}: {w['reason']}")
            continue
        interval = f"{number(w['slowdown'])} [{number(w['slowdown_low'])}, {number(w['slowdown_high'])}]"
        print(f"{w['id']:>6}  {w['steps']:>5}  {interval:<22}  {w['cause'] or '-':<7}  {w['suspect'] or '-'}")
