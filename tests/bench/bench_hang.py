#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long judging a hung job blocks the controller's loop.

bench_hang.py BUILD [--ranks N]

Jobs of 2,000 ranks on 250 hosts that have all reported. The time is compared with jansson's time to read the same documents in
the same run: judging from their text would take longer than that, and visiting each member of a large group for each host or
operation would take many times as long.
"""
import argparse
import os
import pathlib
import subprocess
import sys

WANTED_PART = 0.5


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", nargs="?", default=os.environ.get("ASSAY_BUILD", "build"), type=pathlib.Path)
    options.add_argument("--ranks", type=int, default=2000)
    options = options.parse_args()
    build = options.build.resolve()
    subprocess.run(["make", "-s", "-C", build, "tests/bench/judge_hang"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([build / "tests/bench/judge_hang", str(options.ranks)], check=True, stdout=subprocess.PIPE, text=True)
    worst = 0
    for line in done.stdout.splitlines():
        shape, kib, took_us, judged_ms, part, found = line.split(None, 5)
        print("%s: %d ranks, %s KiB held: judged in %s ms, %s of reading the documents; a document is taken in %s us; %s" % (
            shape, options.ranks, kib, judged_ms, part, took_us, found))
        worst = max(worst, float(part))
    print("the worst is %.2f of reading, wanted: %.2f" % (worst, WANTED_PART))
    return worst > WANTED_PART


if __name__ == "__main__":
    sys.exit(main())
