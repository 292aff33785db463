#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The start-up time of a controller with the store of a month.

bench_restart.py BUILD [--nodes N] [--days D] [--runs N] [--limit S]

Generates the store of N hosts that reported each 15 minutes for D days, after thinning (store_days.py), and starts the
controller on it with a cold page cache, then with a warm one: from the start of the process to 200 from /readyz, the
maximum of the runs. Then the first round of thinning goes through the store while hosts report one after the other. Prints
one line of JSON; fails if it was not ready within the limit, cold or warm.
"""
import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import store_days

READY_DEADLINE_S = 120
ROUND_DEADLINE_S = 900


class Controller:
    def __init__(self, build, db):
        self.begin = time.monotonic()
        self.process = subprocess.Popen([os.path.join(build, "assay-controller"), "--listen", "127.0.0.1:0", "--db", db],
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ready_s(self):
        """Since the start of the process."""
        while self.call("GET", "/readyz")[0] != 200:
            if time.monotonic() - self.begin > READY_DEADLINE_S:
                sys.exit("the controller does not become ready")
        return time.monotonic() - self.begin

    def metric(self, name):
        text = self.call("GET", "/metrics")[1].decode()
        return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(name + " ")))

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def forget(path):
    """Drops the file from the page cache."""
    for name in (path, path + "-wal"):
        if os.path.exists(name):
            with open(name, "rb") as f:
                os.fsync(f.fileno())
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached(path):
    """The fraction of the file in the page cache, or None without fincore."""
    if not shutil.which("fincore"):
        return None
    out = subprocess.run(["fincore", "-b", "-n", "-o", "RES", path], capture_output=True, text=True, check=True)
    return round(int(out.stdout) / os.path.getsize(path), 3)


def read_all(path):
    with open(path, "rb") as f:
        while f.read(1 << 24):
            pass


def starts(build, db, runs, prepare):
    worst = {"ready_s": 0.0}
    for _ in range(runs):
        prepare(db)
        part = cached(db)
        c = Controller(build, db)
        ready = c.ready_s()
        begin = time.monotonic()
        status, _ = c.call("GET", "/v1/nodes?limit=1000")
        if ready > worst["ready_s"]:
            worst = {"ready_s": round(ready, 3), "first_1000_hosts_s": round(time.monotonic() - begin, 3), "status": status,
                     "cached_before": part, "rss_mib": round(c.memory() / 2**20, 1)}
        c.stop(kill=True)  # before its first round
    return worst


def report(node, seq):
    return json.dumps({"v": 1, "kind": "report", "node": node, "boot_id": "b0", "seq": seq, "time": "2026-11-20T10:00:00Z",
                       "profile": "quick", "agent": "0.1.0", "sku": "hgx-h100", "env": {}, "duration_s": 1.0,
                       "samples": [], "problems": []})


def post_until(c, done, nodes, first):
    """Sends one report after the other until `done`. Returns their latencies."""
    took = []
    while not done(len(took)):
        number = first + len(took)
        at = time.monotonic()
        status, _ = c.call("POST", "/v1/reports", report(store_days.name(number % nodes), 100000 + number))
        took.append(time.monotonic() - at)
        if status != 202:
            sys.exit(f"a report was answered {status}")
    took.sort()
    return {"reports": len(took), "p50_ms": round(took[len(took) // 2] * 1e3, 1),
            "p99_ms": round(took[len(took) * 99 // 100] * 1e3, 1)}


def first_round(build, db, nodes):
    """Duration of the first round, and latencies of reports during and after it."""
    c = Controller(build, db)
    c.ready_s()
    begin = time.monotonic()

    def over(_):
        if time.monotonic() - begin > ROUND_DEADLINE_S:
            sys.exit("a round does not end")
        return c.metric("assay_thinning_rounds_total") >= 1

    during = post_until(c, over, nodes, 0)
    out = {"round_s": round(time.monotonic() - begin, 1), "thinned": int(c.metric("assay_reports_thinned_total")),
           "during": during, "after": post_until(c, lambda n: n == during["reports"], nodes, during["reports"])}
    c.stop()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        db = os.path.join(where, "assay.db")
        begin = time.monotonic()
        store_days.build(db, store_days.Fleet(options.nodes, options.days), store_days.bodies())
        made_s, size = time.monotonic() - begin, os.path.getsize(db)
        cold = starts(options.build, db, options.runs, forget)
        warm = starts(options.build, db, options.runs, read_all)
        thinning = first_round(options.build, db, options.nodes)
    worst = max(cold["ready_s"], warm["ready_s"])
    print(json.dumps({"nodes": options.nodes, "days": options.days, "made_s": round(made_s), "store_gib": round(size / 2**30, 2),
                      "bytes_per_node": round(size / options.nodes),
                      "bytes_per_node_day": round(size / options.nodes / options.days), "cold": cold, "warm": warm,
                      "round": thinning, "limit_s": options.limit, "ok": worst <= options.limit}))
    return 0 if worst <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
