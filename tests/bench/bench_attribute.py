#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of assay-attribute on a million operations.

bench_attribute.py BUILD [--runs N] [--pipe]

The trace is that of the published measurement: dp 64, pp 8, 32 micro-batches, 10 steps, 150 MB of JSON lines, on which the
published tool took 11.84 s and 540 MB (2 cores; reference/attribution.md, section 4). To compare machines, it also times a fixed
loop that adds up the bytes of the same file twice. --pipe: memory for up to 10 million operations read from a pipe.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PUBLISHED_S, PUBLISHED_MB = 11.84, 540
WANTED_TIMES, WANTED_ALONE, WANTED_MB = 30, 100, 108
SHAPE = ("dp=64", "pp=8", "mb=32")
PIPE_STEPS = (10, 20, 50, 107)


def measured(command, **more):
    """(seconds, CPU seconds, peak MB) of a program that must succeed."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **more)
    _, status, use = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("%s: exit status %d" % (command[0], process.returncode))
    return time.perf_counter() - began, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def median_of(runs, command):
    taken = [measured(command) for _ in range(runs)]
    return (*(statistics.median(column) for column in list(zip(*taken))[:2]), max(mb for *_, mb in taken))


def through_a_pipe(build):
    for steps in PIPE_STEPS:
        with subprocess.Popen([build / "tests/attribution/generate", "slow-worker", "1", *SHAPE, "steps=%d" % steps],
                              stdout=subprocess.PIPE) as source:
            seconds, _, mb = measured([build / "assay-attribute", "-", "--max-ops", "20000000"], stdin=source.stdout)
        print("%d steps, %.1f million operations through a pipe: %.2f s, %.0f MB, %.0f bytes an operation" % (
            steps, steps * 0.0933, seconds, mb, mb * 2**20 / (steps * 93312)))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", nargs="?", default=os.environ.get("ASSAY_BUILD", "build"), type=pathlib.Path)
    options.add_argument("--runs", type=int, default=11)
    options.add_argument("--pipe", action="store_true")
    options = options.parse_args()
    build = options.build.resolve()
    subprocess.run(["make", "-s", "-C", build, "assay-attribute", "tests/attribution/generate", "tests/bench/sum_bytes",
                    "tests/bench/simulate_alone"],
                   check=True, stdout=subprocess.DEVNULL)
    if options.pipe:
        through_a_pipe(build)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.jsonl"
        with path.open("wb") as out:
            subprocess.run([build / "tests/attribution/generate", "slow-worker", "1", *SHAPE, "steps=10"], stdout=out,
                           check=True)
        yard, *_ = median_of(options.runs, [build / "tests/bench/sum_bytes", path])
        seconds, cores, mb = median_of(options.runs, [build / "assay-attribute", path])
        alone = float(subprocess.run([build / "tests/bench/simulate_alone", path], check=True, stdout=subprocess.PIPE).stdout)
        size = path.stat().st_size
    print("assay-attribute, %.0f MB, 933,120 operations, %d runs: median %.3f s (%.3f s of all cores), at most %.0f MB" % (
        size / 1e6, options.runs, seconds, cores, mb))
    print("  %.1f times as fast as the published tool (%.2f s, from the reference; wanted %d), 1/%.1f of its %d MB" % (
        PUBLISHED_S / seconds, PUBLISHED_S, WANTED_TIMES, PUBLISHED_MB / mb, PUBLISHED_MB))
    print("  %.2f times the loop that adds up the bytes of the file twice (median %.3f s)" % (seconds / yard, yard))
    print("  the simulations alone: %.3f s, %.0f times as fast as all of the published tool (wanted %d)" % (
        alone, PUBLISHED_S / alone, WANTED_ALONE))
    fast = PUBLISHED_S / seconds >= WANTED_TIMES and PUBLISHED_S / alone >= WANTED_ALONE
    return 0 if fast and mb <= WANTED_MB else 1


if __name__ == "__main__":
    sys.exit(main())
