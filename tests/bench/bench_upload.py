#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reports per second from one sender with many reports, plain JSON of 24 kB each.

bench_upload.py BUILD [--old BUILD] [--rounds N] [--calls N]

A host that was offline for long sends its spool: one connection, calls of 64 reports as lines, the next call when the last
is acknowledged. With --old the two builds alternate, --rounds times, on the same machine in the same run, each with a new
store; the result is the ratio of the medians. Prints one line of JSON. Exit status 1: a report was not stored, or the ratio
ratio is below AIM.
"""
import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import bench_controller

AIM = 10
LINES = 64  # per call, the controller's maximum
SAMPLES = 40
NODES = 4096  # enough to stay below the rate limit per host


def bodies(calls):
    """One body per call: LINES reports of different hosts."""
    variants = [bench_controller.report(seed, SAMPLES) for seed in range(LINES)]
    for call in range(calls):
        yield b"\n".join(b'{"v":1,"kind":"report","node":"gpu-%d","boot_id":"b0","seq":%d,%s'
                         % ((call * LINES + i) % NODES, call * LINES // NODES + 1, variants[i]) for i in range(LINES))


def send(build, texts):
    """Reports per second."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        process = subprocess.Popen([build / "assay-controller", "--listen", "127.0.0.1:0", "--db", f"{where}/assay.db"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            connection = http.client.HTTPConnection(process.stdout.readline().split()[-1], timeout=120)
            began = time.monotonic()
            for text in texts:
                connection.request("POST", "/v1/reports/batch", text)
                answer = connection.getresponse()
                told = json.loads(answer.read())
                if answer.status != 202 or told["accepted"] != LINES:
                    sys.exit(f"bench_upload: {build}: {answer.status} {told}")
            return len(texts) * LINES / (time.monotonic() - began)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--old", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=20)
    options = parser.parse_args()
    texts = list(bodies(options.calls))
    rates = {build: [] for build in (options.old, options.build) if build}
    for _ in range(options.rounds):
        for build, of_build in rates.items():
            of_build.append(round(send(build, texts)))
    medians = [statistics.median(of_build) for of_build in rates.values()]
    out = {"bench": "upload", "report_bytes": len(texts[0]) // LINES, "reports_per_s": rates[options.build]}
    if options.old:
        out |= {"old_reports_per_s": rates[options.old], "ratio": round(medians[1] / medians[0], 1), "aim": AIM}
    out["ok"] = not options.old or medians[1] >= AIM * medians[0]
    print(json.dumps(out))
    return 0 if out["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
