#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time of `assay admit` with a fresh verdict, as a whole process, over 1,000 runs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

RUNS = 1000
BUILD = pathlib.Path(os.environ.get("ASSAY_BUILD", "build")).resolve()


def main():
    with tempfile.TemporaryDirectory() as state:
        env = {**os.environ, "ASSAY_STATE_DIR": state, "ASSAY_RUN_DIR": state, "ASSAY_NODE": "n1"}
        value = {"v": 1, "kind": "verdict", "node": "n1", "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "seq": 1,
                 "profile": "quick", "verdict": "pass", "sentence": "s",
                 "items": [{"check": "loopback.write_bw", "subject": f"mlx5_{i}:1>numa:{j}", "verdict": "pass", "value": 1.0,
                            "unit": "B/s", "expected": 1.0, "floor": 0.9, "source": "peers", "n": 7, "sentence": "good"}
                           for i in range(8) for j in range(40)]}
        with open(os.path.join(state, "verdict.json"), "w", encoding="utf-8") as f:
            json.dump(value, f)
        times = []
        for _ in range(RUNS):
            began = time.perf_counter()
            done = subprocess.run([BUILD / "assay", "admit"], env=env, stdout=subprocess.DEVNULL, check=False)
            times.append((time.perf_counter() - began) * 1e3)
            if done.returncode != 0:
                sys.exit("assay admit did not admit")
    times.sort()
    print(f"assay admit, {len(value['items'])} items, {RUNS} runs: median {times[RUNS // 2]:.2f} ms, "
          f"p99 {times[RUNS * 99 // 100]:.2f} ms, max {times[-1]:.2f} ms")


if __name__ == "__main__":
    main()
