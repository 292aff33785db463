#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How soon GPU probes report that there is no driver, on a host with a GPU on its PCI bus and on one without.

bench_no_gpu.py BUILD [--runs N]

Wall clock time of the process, the median and maximum of N. Target: a median of 50 ms.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET_MS = 50
CASES = [("assay-probe-gpu-state", [], {77}), ("assay-probe-all-to-all", [], {77, 1}),
         *((f"assay-probe-{name}", ["--engine", engine], {77} if engine == "cuda" else {1})
           for name in ("gemm", "memory") for engine in ("cuda", "auto"))]


def host(root, gpu):
    """A sysroot with an NVIDIA GPU on its PCI bus, or with an empty bus."""
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    if gpu:
        device = bus / "0000:17:00.0"
        device.mkdir()
        for name, value in (("vendor", "0x10de"), ("class", "0x030200"), ("numa_node", "0")):
            (device / name).write_text(f"{value}\n")
    return root


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--runs", type=int, default=31)
    args = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as place:
        for gpu in (True, False):
            root = host(Path(place) / f"host-{gpu}", gpu)
            env = {**os.environ, "ASSAY_SYSROOT": str(root), "ASSAY_STATE_DIR": place, "ASSAY_RUN_DIR": place,
                   "LD_LIBRARY_PATH": place}
            for program, words, statuses in CASES:
                if not gpu and "auto" in words:
                    continue  # there the CPU is measured
                times = []
                for _ in range(args.runs):
                    start = time.monotonic()
                    done = subprocess.run([args.build / program, *words], env=env, capture_output=True, text=True, check=False)
                    times.append(1e3 * (time.monotonic() - start))
                    if done.returncode not in statuses or done.stdout or done.stderr.count("\n") != 1:
                        sys.exit(f"{program}: status {done.returncode}, {done.stdout}{done.stderr}")
                median = statistics.median(times)
                missed |= median > TARGET_MS
                print(f"no GPU driver, {'a' if gpu else 'no'} GPU on PCI: {' '.join([program, *words]):38} exit {done.returncode:2}: "
                      f"median {median:5.1f} ms, worst {max(times):5.1f} ms")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
