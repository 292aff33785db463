#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The time of each kind of call of the NCCL profiler plug-in, and the resulting overhead per step of a job.

bench_nccl.py BUILD [--count N]

Median and 99th percentile of each call, minus the time of a clock read, which is printed too. Targets: a 99th percentile of
300 ns for each call, and 0.1 % of a step of 1 s with 2,000 collectives for the calls of its thread. The cost of kernel events
on a GPU is not included. Handing a ring over again has no target, because it happens at most once a second.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

P99_NS = 300
COLLECTIVES, CHANNELS, STEP_S, SHARE = 2000, 24, 1.0, 0.001
# Per collective: calls of the job's thread, and of its proxy's.
JOB = {"start of a group": 3, "start of a collective": 1, "stop of a collective": 1}
PROXY = {"start of a kernel": 1, "start of another channel": CHANNELS - 1, "state of a kernel": CHANNELS, "stop of a kernel": CHANNELS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--count", type=int, default=1000000)
    args = parser.parse_args()
    subprocess.run(["make", "-s", "-C", args.build, "libassay-nccl-profiler.so", "tests/nccl/bench"], check=True)
    out = subprocess.run([args.build / "tests/nccl/bench", args.build.resolve() / "libassay-nccl-profiler.so", str(args.count)],
                         capture_output=True, text=True, check=True).stdout
    found = json.loads(out)
    clock = found["clock"]
    print(f"NCCL plug-in: {args.count} of each; the clock read twice: median {clock['median']} ns, p99 {clock['p99']} ns")
    missed = False
    for row in [*found["calls"], {**found["idle"][0], "call": "any, nothing wanted"}]:
        missed |= row["p99"] > P99_NS
        print(f"NCCL plug-in: {row['call']:24}: median {row['median']:4} ns, p99 {row['p99']:4} ns"
              f" ({row['median'] / max(clock['median'], 1):.1f} and {row['p99'] / max(clock['median'], 1):.1f} of two clock reads)")
    for row in found["again"]:
        print(f"NCCL plug-in: {row['call']:24}: median {row['median'] / 1e3:4.1f} us, p99 {row['p99'] / 1e3:4.1f} us")
    median = {row["call"]: row["median"] for row in found["calls"]}
    for who, calls in (("the job's thread", JOB), (f"its proxy's, {CHANNELS} channels", PROXY)):
        spent = 1e-9 * COLLECTIVES * sum(max(median[name], 0) * n for name, n in calls.items())
        missed |= calls is JOB and spent > SHARE * STEP_S
        print(f"NCCL plug-in: {COLLECTIVES} collectives, {who}: {1e3 * spent:.2f} ms, {100 * spent / STEP_S:.3f} % of a step of {STEP_S:g} s")
    return missed


if __name__ == "__main__":
    sys.exit(main())
