#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""assay-probe-memory against a STREAM-like loop: alternating pairs, the median of their ratios.

bench_memory.py BUILD [--pairs N]

Triad within NUMA node 0; the loop gets the probe's array size, cores and time.
The order within a pair alternates, so that a drift of the machine cancels out.
Both values are medians (of sub-windows, of iterations).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

TARGET = 0.95
BUDGET_S = 4
CPU = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"


def numbers(text):
    """{0, 1, 2, 8} of "0-2,8"."""
    ends = [list(map(int, part.split("-"))) for part in text.strip().split(",") if part]
    return {n for e in ends for n in range(e[0], e[-1] + 1)}


def read(path, otherwise):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return otherwise


def cores_of_node(subject):
    """The CPUs to which the probe pins its threads: the first of each physical core that we may use."""
    node = subject.split(">")[0].split(":")[1]
    ours = os.sched_getaffinity(0)
    cpus = numbers(read(f"/sys/devices/system/node/node{node}/cpulist", ",".join(map(str, ours)))) & ours
    return sorted(c for c in cpus if min(numbers(read(CPU % c, str(c))) & ours) == c)


def probe(build, env):
    out = subprocess.run([f"{build}/assay-probe-memory", "--engine", "cpu", "--busy", "run", "--budget", f"{BUDGET_S}s"],
                         env=env, stdout=subprocess.PIPE, text=True, check=True)
    samples = map(json.loads, out.stdout.splitlines())
    return next(s for s in samples if s["check"] == "memory.triad_bw" and s["class"] == "node")


def plain(build, sample):
    cpus = list(map(str, cores_of_node(sample["subject"])))
    assert len(cpus) == sample["params"]["threads"], (cpus, sample["params"])
    out = subprocess.run([f"{build}/tests/bench/stream_like", str(sample["params"]["size"]), str(sample["seconds"]), *cpus],
                         stdout=subprocess.PIPE, text=True, check=True)
    return tuple(map(float, out.stdout.split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=11)
    args = parser.parse_args()
    ratios, of_best = [], []
    with tempfile.TemporaryDirectory() as here:
        env = {**os.environ, "ASSAY_RUN_DIR": here, "ASSAY_STATE_DIR": here}
        sample = probe(args.build, env)
        for pair in range(args.pairs):
            if pair % 2:
                median, best = plain(args.build, sample)
                sample = probe(args.build, env)
            else:
                sample = probe(args.build, env)
                median, best = plain(args.build, sample)
            ratios.append(sample["value"] / median)
            of_best.append(sample["value"] / best)
            print(f"memory triad pair {pair + 1:2}: probe {sample['value'] / 1e9:6.2f}  loop {median / 1e9:6.2f} "
                  f"(best {best / 1e9:6.2f}) GB/s  ratio {ratios[-1]:.4f}  {sample['params']['size'] >> 20} MiB "
                  f"{sample['params']['pages']}", file=sys.stderr)
    median = statistics.median(ratios)
    print(f"memory triad: median of {len(ratios)} pairs probe/loop {median:.4f} (min {min(ratios):.4f}, "
          f"max {max(ratios):.4f}; against the loop's best iteration {statistics.median(of_best):.4f}), "
          f"target {TARGET}: {'ok' if median >= TARGET else 'MISSED'}")
    return 0 if median >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
