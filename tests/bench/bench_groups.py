#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long innocent hosts of a tensor-parallel group are held when a job blames the whole group, in real time.

bench_groups.py BUILD [--rounds N]

The default policy with jobs.over_evict: {hosts: 4}. Each round has five controllers in parallel, each with a job on eight hosts that is slowed
by two, one group: none is bad, or one is, by its own tests or only in tests with others. The agents are simulated here; their tests take
TEST_S. From the end of the job on, it measures when each host of the group is released, until none is held. Prints one line of JSON per
case, then a summary. Exit status 1: an innocent host was cordoned, a bad one was not, or a host is still held after LAST_S.
"""
import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "system")]
from fixtures_controller import Controller, sample  # noqa: E402
from test_diagnose import ADMIN  # noqa: E402
from test_job_groups import GROUP, Groups, Member  # noqa: E402

# Seconds, including start and report, as in tests/sim/act.c; a collective within a rack: its run and two starts.
TEST_S = {"rung-gemm": 25, "rung-load": 115, "full": 300, "allreduce": 45}
INNOCENT_S, HELD_S, LAST_S, LOOK_S = 600, 120, 2400, 0.5
OVER = {"acquitted", "cordoned"}
CASES = [(None, None), *((bad, how) for bad in GROUP for how in ("alone", "part"))]
WORDS = {None: "nobody is bad", "alone": "bad by its own tests", "part": "bad with others alone"}


class Timed(Member):
    """A host whose tests take time, and which reports what was ordered."""

    def answer(self, order):
        profile = order.get("profile") or "full"
        played = order["id"] != "by-hand"
        if played and self.fabric.ended.wait(TEST_S[profile if order["kind"] == "deep" else order["kind"]]):
            return
        if order["kind"] != "deep":
            super().answer(order)
            return
        cores = [sample(subject=f"cpu:{i}", value=(70e9 + i * 1e8) * self.alone) for i in range(8)]
        self.report(profile=profile, samples=cores, order={"id": order["id"], "kind": "deep"})
        self.answered.append(order["id"])


class Lab(Groups):
    host = Timed


def policy():
    """The default policy, except the settings for groups, and a budget with room for one host in this small fleet."""
    with open(os.path.join(HERE, "..", "..", "policies", "default.yaml")) as f:
        text = f.read()
    changes = (("over_evict: {hosts: 0}", "over_evict: {hosts: 4}"), ("\nmode: observe", "\nmode: enforce"), ("\n  mode: observe", "\n  mode: enforce"),
               ("total: {percent: 10,", "total: {percent: 50,"))  # of ten hosts
    for before, after in changes:
        if text.count(before) != 1:
            raise SystemExit(f"policies/default.yaml does not say {before!r} once")
        text = text.replace(before, after)
    return text


def begin(build, where):
    """A function that starts a controller, in the form for labs."""
    files = {"policy.yaml": policy(), "tokens.yaml": f"v: 1\ntokens: [{{sha256: {hashlib.sha256(ADMIN.encode()).hexdigest()}, role: admin}}]\n",
             "controller.yaml": f"v: 1\npolicy: {where}/policy.yaml\nreport-burst: 1000\n"}
    for name, text in files.items():
        with open(os.path.join(where, name), "w") as f:
            f.write(text)

    def start(*options, env=None):
        log = os.path.join(where, "controller.log")
        process = subprocess.Popen([os.path.join(build, "assay-controller"), "--listen", "127.0.0.1:0", "--db", f"{where}/assay.db", *options],
                                   stdout=subprocess.PIPE, stderr=open(log, "w"), text=True, env={**os.environ, **(env or {})})
        c = Controller(process, process.stdout.readline().split()[-1], f"{where}/assay.db")
        c.log = lambda: open(log).read()
        return c
    return start


def play(build, bad, how):
    """Runs one case. Returns the line to print."""
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")))
        f = Lab(begin(build, where), ("--config", f"{where}/controller.yaml", "--mode", "enforce", "--tokens", f"{where}/tokens.yaml"))
        stack.callback(f.c.process.wait)
        stack.callback(f.c.process.kill)
        stack.callback(f.close)
        if bad:
            setattr(f.hosts[bad], how, 0.5)
        f.stop_job()
        began, back, seen = time.monotonic(), {}, set()
        while time.monotonic() - began < LAST_S:
            held = f.held()
            seen |= set(held)
            for node in seen - set(held):
                back.setdefault(node, round(time.monotonic() - began))
            if not seen and time.monotonic() - began > HELD_S:
                raise SystemExit(f"nobody is held: {f.c.get(f'/v1/jobs/{f.id}').json['decision']}")
            if set(GROUP) <= seen and not held and set(f.states().values()) <= OVER:
                break
            f.ended.wait(LOOK_S)
        said = {"bad": bad, "how": WORDS[how], "held": sorted(seen), "back_s": back, "states": f.states(), "of_s": round(time.monotonic() - began), "cordoned": f.cordoned(), "still": f.held()}
        said["right"] = said["cordoned"] == ([bad] if bad else []) and not said["still"] and set(GROUP) <= seen
        return said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        done = [s for _ in range(options.rounds) for s in pool.map(lambda case: play(options.build, *case), CASES)]
    for said in done:
        print(json.dumps(said))
    innocent = sorted(at for said in done for node, at in said["back_s"].items() if node != said["bad"])
    print(f"{len(innocent)} innocent hosts of {len(done)} groups were back {innocent[0] if innocent else '-'} to {innocent[-1] if innocent else '-'} s after "
          f"their job had ended ({INNOCENT_S} asked); {sum(not said['right'] for said in done)} cases went wrong")
    return 0 if all(said["right"] for said in done) else 1


if __name__ == "__main__":
    sys.exit(main())
