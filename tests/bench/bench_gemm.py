#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""assay-probe-gemm against a plain cblas loop: alternating pairs, the median of their ratios.

bench_gemm.py BUILD [--pairs N] [--dtype f64|f32]

A pair's ratio is the mean over the cores of probe / plain. The order within a
pair alternates, so that a drift of the machine cancels out.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

TARGET = 0.97
BUDGET_S = 4
RATE_S = 0.45 * BUDGET_S  # the time the probe measures (gemm_main.c)


def probe_rates(build, dtype, env):
    """{cpu: FLOP/s} and the shape; includes busy cores, because both sides suffer equally."""
    out = subprocess.run([f"{build}/assay-probe-gemm", "--engine", "cpu", "--dtype", dtype, "--busy", "run",
                          "--budget", f"{BUDGET_S}s"], env=env, stdout=subprocess.PIPE, text=True, check=True)
    samples = [s for s in map(json.loads, out.stdout.splitlines()) if s["check"] == "gemm.rate"]
    edge = samples[0]["params"]["shape"].split("x")[0]
    return {s["subject"].split(":")[1]: s["value"] for s in samples}, edge


def plain_rates(build, dtype, edge, cpus):
    out = subprocess.run([f"{build}/tests/bench/gemm_plain", dtype, edge, str(RATE_S), *cpus],
                         stdout=subprocess.PIPE, text=True, check=True)
    return {cpu: float(rate) for cpu, rate in map(str.split, out.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--dtype", default="f64")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as run_dir:
        env = {**os.environ, "ASSAY_RUN_DIR": run_dir}
        probe, edge = probe_rates(args.build, args.dtype, env)
        ratios = []
        for pair in range(args.pairs):
            if pair % 2:
                plain = plain_rates(args.build, args.dtype, edge, probe)
                probe, _ = probe_rates(args.build, args.dtype, env)
            else:
                probe, _ = probe_rates(args.build, args.dtype, env)
                plain = plain_rates(args.build, args.dtype, edge, probe)
            ratios.append(statistics.mean(probe[c] / plain[c] for c in probe))
            total = sum(probe.values()) / 1e9, sum(plain.values()) / 1e9
            print(f"gemm {args.dtype} pair {pair + 1:2}: probe {total[0]:7.1f}  plain {total[1]:7.1f} GFLOP/s  "
                  f"ratio {ratios[-1]:.4f}", file=sys.stderr)
    median = statistics.median(ratios)
    print(f"gemm {args.dtype} {edge}^3: median of {len(ratios)} pairs probe/plain {median:.4f} "
          f"(min {min(ratios):.4f}, max {max(ratios):.4f}), target {TARGET}: {'ok' if median >= TARGET else 'MISSED'}")
    return 0 if median >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
