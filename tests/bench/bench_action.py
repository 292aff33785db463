#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latency from a bad report to the resulting cordon, in the embedded cluster, under load.

bench_action.py BUILD [--seconds S] [--rate N] [--connections N] [--nodes N] [--every S]

Good hosts report at the rate (like bench_controller.py); every --every seconds another host sends a bad report. Prints one
line of JSON: the achieved rate; p50, p99 and maximum in ms from first sending the bad report until its cordon was done and
durable, also without those that a busy controller told to retry; and how many were not done; then a summary. Exit status 1:
a cordon was not done. The target is for an otherwise idle machine.
"""
import argparse
import json
import os
import selectors
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import bench_controller as bench

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from waiting import wait_for  # noqa: E402

P99_MS = 1000
LAST_S = 10
POLICY = """v: 1
mode: enforce
budget: {total: {percent: 100}, rate: {cordons: 100000, per: 10m}}
breaker: {storm: {cordons: 100000, per: 10m}, alike: {percent: 100, nodes: 100000, per: 10m}, silent_percent: 100}
rules: [{name: fatal, match: {severity: fatal}, action: cordon}]
"""


def bad_request(number):
    gone = {"v": 1, "check": "rnic.removed", "subject": "mlx5_0", "value": 1, "unit": "1", "better": "lower", "ok": False,
            "state": "measured", "severity": "fatal", "note": "mlx5_0 is gone"}
    report = {"v": 1, "kind": "report", "node": f"bad-{number}", "boot_id": "b0", "seq": 1, "profile": "quick", "agent": "0.1.0",
              "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "sku": f"bad-{number}", "env": {}, "duration_s": 1,
              "samples": [gone], "problems": []}
    body = json.dumps(report).encode()
    return b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Load:
    """Good hosts at a rate, and bad ones in between: {host: wall clock time its report was sent}."""

    def __init__(self, address, options, reports):
        self.options, self.reports = options, reports
        self.poll, self.counts, self.later = selectors.EpollSelector(), bench.Counts(), bench.Later()
        self.good = [bench.Client(address, self.poll) for _ in range(options.connections)]
        self.bad_client, self.bad_sent, self.sent, self.busy = bench.Client(address, self.poll), {}, 0, False
        self.accepted = {}  # the same, for the attempt that was accepted

    def send_good(self, client):
        client.request, client.began = self.reports.request(self.sent), time.monotonic()
        self.sent += 1
        client.begin()

    def send_bad(self):
        number = len(self.bad_sent)
        self.bad_client.request, self.bad_client.began, self.busy = bad_request(number), time.monotonic(), True
        self.bad_sent[f"bad-{number}"] = self.accepted[f"bad-{number}"] = time.time()
        self.bad_client.begin()

    def answered(self, client, result):
        if client is self.bad_client:
            self.busy = result[0] not in (b"202", b"200")
            if self.busy:  # told to retry: the time continues
                self.later.put(client, result[1] or 1)
            return
        after = self.counts.note(client, result)
        period = self.options.connections / self.options.rate
        self.later.put(client, after if after is not None else max(0, client.due - time.monotonic()))
        client.again = after is not None
        client.due = max(client.due + period, time.monotonic())

    def run(self):
        begin = time.monotonic()
        for i, client in enumerate(self.good):
            client.again, client.due = False, begin + i / self.options.rate
            self.later.put(client, i / self.options.rate)
        next_bad = begin + 1
        while time.monotonic() < begin + self.options.seconds:
            for key, mask in self.poll.select(0.005):
                result = key.data.go_on(mask)
                if result:
                    self.answered(key.data, result)
            for client in self.later.due():
                if client is self.bad_client:
                    self.accepted[f"bad-{len(self.bad_sent) - 1}"] = time.time()
                    client.begin()
                elif client.again:
                    client.begin()
                else:
                    self.send_good(client)
            if time.monotonic() >= next_bad and not self.busy:
                next_bad += self.options.every
                self.send_bad()
        return time.monotonic() - begin


def start(build, where):
    policy, config, db = (os.path.join(where, name) for name in ("policy.yaml", "controller.yaml", "assay.db"))
    with open(policy, "w") as f:
        f.write(POLICY)
    with open(config, "w") as f:
        f.write(f"v: 1\nmode: enforce\npolicy: {policy}\nreport-burst: 100000\n")
    process = subprocess.Popen([os.path.join(build, "assay-controller"), "--config", config, "--listen", "127.0.0.1:0", "--db", db],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    host, _, port = process.stdout.readline().split()[-1].rpartition(":")
    return process, (host, int(port)), db


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=18)
    parser.add_argument("--rate", type=float, default=1500)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--every", type=float, default=0.15)
    parser.add_argument("--samples", type=int, default=40)
    options = parser.parse_args()
    reports = bench.Reports(options.nodes, options.samples)
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        process, address, db = start(options.build, where)
        load = Load(address, options, reports)
        seconds = load.run()
        wait_for(lambda: int(bench.metrics(address)["assay_actions_under_way"]) == 0, LAST_S)
        cpu_s = bench.cpu_seconds(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait()
        with sqlite3.connect(db) as connection:
            done = dict(connection.execute("SELECT node, done_us FROM actions WHERE kind = 0 AND state = 1"))
    took_once = sorted((done[node] / 1e6 - at) * 1e3 for node, at in load.accepted.items() if node in done)
    took = sorted((done[node] / 1e6 - at) * 1e3 for node, at in load.bad_sent.items() if node in done)
    rate, missing = len(load.counts.took) / seconds, len(load.bad_sent) - len(took)
    p99 = took[len(took) * 99 // 100] if took else float("inf")
    print(json.dumps({"reports_per_s": round(rate), "cordons": len(took), "not_done": missing,
                      "p50_ms": round(took[len(took) // 2]) if took else None, "p99_ms": round(p99) if took else None,
                      "longest_ms": round(took[-1]) if took else None,
                      "p99_ms_of_those_taken": round(took_once[len(took_once) * 99 // 100]) if took_once else None, "controller_cpu_s": round(cpu_s, 1),
                      "told_to_come_again": load.counts.shed, "not_accepted": load.counts.bad}))
    print(f"from a bad report to its cordon under {rate:.0f} reports/s: p99 {p99:.0f} ms of {P99_MS}; {missing} not done")
    return 0 if took and missing == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
