#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs the reports of a fleet that people look at a map of it.

bench_watchers.py BUILD [--nodes N] [--watchers N] [--rate N] [--seconds N] [--rounds N] [--limit RATIO]

A store of N hosts, whose reports come at --rate a second (send_reports.c, a process of its own), a tenth of them with another verdict than the
one before. In turn, --rounds times each, nobody looks and --watchers programs hold GET /v1/changes, all of them in a process of their own.
What counts is how long a report waited for its answer, from the moment at which it was due: the 99th percentile with watchers to that
without, in one run. Where controller, sender and watchers together do not keep the rate on this machine, the highest of RATES is taken that they
keep, and `rate` says which. Prints one line of JSON; fails when the ratio is above the limit.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import bench_routes
import store_days

FIRST_SEQ = 100000
RATES = (1500, 1200, 1000, 800, 600, 400, 200)
KEPT, TRIED_S, LATE_MS = 0.98, 4, 500  # of a rate that is kept: its share, and how late a report may be
HELD_S = ENDS_S = 60
HELD = re.compile(rb"^assay_http_held ([0-9]+)", re.M)
VERSION = re.compile(rb'"version":"([0-9a-f]{16}-[0-9]+)"')


def body(bad):
    """What follows `seq` in a report."""
    samples = [{"v": 1, "check": "gemm.rate", "subject": f"cpu:{i}", "value": 40e9 if bad and i == 3 else 70e9 + i * 1e8, "unit": "FLOP/s",
                "better": "higher", "ok": None, "state": "measured"} for i in range(8)]
    return json.dumps({"time": "2026-11-20T10:00:00Z", "profile": "quick", "agent": "0.1.0", "sku": "generic-cpu", "env": {}, "duration_s": 12.5,
                       "samples": samples, "problems": []})[1:]


def watch_one(address, over, counts):
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request("GET", "/v1/fleet")
    body = connection.getresponse().read()
    while not over.is_set():
        connection.request("GET", f"/v1/changes?since={VERSION.search(body)[1].decode()}&wait=5")
        body = connection.getresponse().read()
        counts.append(len(body))


def watch(address, n, over, answers):
    counts = []
    threads = [threading.Thread(target=watch_one, args=(address, over, counts), daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put((len(counts), sum(counts)))


class Sender:
    """Phases of reports, one after the other, each host's numbers growing through all of them."""

    def __init__(self, options, where, address):
        self.program, self.options, self.address, self.seq = options.build / "tests/bench/send_reports", options, address, FIRST_SEQ
        self.bodies = [where / "good.json", where / "bad.json"]
        for i, path in enumerate(self.bodies):
            path.write_text(body(i))

    def send(self, rate, seconds):
        out = subprocess.run([self.program, self.address, str(rate), str(seconds), str(self.options.nodes), str(self.seq), *self.bodies],
                             stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + ENDS_S)
        self.seq += int(rate * seconds / self.options.nodes) + 1
        return json.loads(out.stdout)


def until_held(c, n):
    """Until the controller holds a call of each of n."""
    client, deadline = c.connect(), time.monotonic() + HELD_S
    while int(HELD.search(client.ask("GET", "/metrics")[1])[1]) < n:
        if time.monotonic() > deadline:
            sys.exit(f"bench_watchers: not all of {n} calls are held")
        time.sleep(0.05)


class Watchers:
    """So many who hold calls for what changes, as long as this lasts; `told`: (answers, bytes) afterwards."""

    def __init__(self, c, n):
        self.c, self.n, self.over, self.answers, self.told = c, n, multiprocessing.Event(), multiprocessing.Queue(), (0, 0)

    def __enter__(self):
        self.process = multiprocessing.Process(target=watch, args=(self.c.address, self.n, self.over, self.answers))
        self.process.start()
        until_held(self.c, self.n)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.told = self.answers.get(timeout=ENDS_S)
        self.process.join()


def highest(c, sender, options):
    """The highest rate, no higher than was asked for, that all of them keep."""
    sender.send(min(options.rate, RATES[-1]), TRIED_S)  # pages of the store are read, and memory is there
    with Watchers(c, options.watchers):
        for rate in (r for r in RATES if r <= options.rate):
            found = sender.send(rate, TRIED_S)
            if found["rate"] >= KEPT * rate and found["p99_ms"] < LATE_MS:
                return rate
    sys.exit(f"bench_watchers: not even {rate} reports a second are kept: {found}")


def measure(c, options, where):
    sender = Sender(options, where, c.address)
    rate, alone, watched, told = highest(c, sender, options), [], [], [0, 0]
    for i in range(2 * options.rounds):
        if i % 4 in (0, 3):  # alone, watched, watched, alone: a store that grows favours neither
            alone.append(sender.send(rate, options.seconds))
            continue
        with Watchers(c, options.watchers) as watchers:
            watched.append(sender.send(rate, options.seconds))
        told = [a + b for a, b in zip(told, watchers.told)]
    return rate, alone, watched, told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--rate", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--limit", type=float, default=1.1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        where = pathlib.Path(where)
        store_days.build(where / "assay.db", store_days.Fleet(options.nodes, 1 / 48), store_days.bodies())
        c = bench_routes.Controller(options.build, where, options.nodes, False, "report-burst: 100000")
        try:
            rate, alone, watched, (answers, size) = measure(c, options, where)
        finally:
            c.stop()
    p99 = [[round(p["p99_ms"], 1) for p in phases] for phases in (alone, watched)]
    refused, ratio = sum(p["refused"] for p in alone + watched), statistics.median(p99[1]) / statistics.median(p99[0])
    ok = ratio <= options.limit and refused == 0 and all(p["rate"] >= KEPT * rate for p in alone + watched)
    print(json.dumps({"nodes": options.nodes, "watchers": options.watchers, "asked": options.rate, "rate": rate, "alone_p99_ms": p99[0], "watched_p99_ms": p99[1],
                      "ratio": round(ratio, 2), "p50_ms": [statistics.median(p["p50_ms"] for p in phases) for phases in (alone, watched)], "refused": refused,
                      "kept": [p["rate"] for p in alone + watched], "sender_cpu_s": sum(p["cpu_s"] for p in alone + watched), "answers": answers,
                      "bytes_an_answer": round(size / max(1, answers)), "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
