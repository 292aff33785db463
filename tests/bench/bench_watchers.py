#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The latency that watchers of the fleet map add to reports.

bench_watchers.py BUILD [--nodes N] [--watchers N] [--rate N] [--seconds N] [--rounds N] [--limit RATIO] [--return S]

A store of N hosts whose reports arrive at --rate per second (send_reports.c, a separate process), a tenth of them with a changed verdict.
Phases without watchers and phases in which --watchers clients, all in a separate process, hold GET /v1/changes alternate, --rounds times
each. The result is the 99th percentile of the latency from when a report was due to its answer, with watchers relative to without, in one
run. If controller, sender and watchers together cannot keep up with the rate on this machine, the highest of RATES that they can is used,
and printed as `rate`. Prints one line of JSON; fails if the ratio is above the limit.

--return S: the same while the fleet returns. N agents, each with its own connection, hold GET orders; the controller is killed and restarted
on its store. Once it is ready all agents return with their normal backoff, and so do the watchers, each requesting the whole fleet; and each
host sends the report it could not send before, evenly over S seconds. `back_s`: time until as many calls are held as before.
"""
import argparse
import gzip
import heapq
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import re
import resource
import selectors
import socket
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
KEPT, TRIED_S, LATE_MS = 0.98, 4, 500  # criteria for a rate: fraction achieved, and maximum lateness of a report
HELD_S = ENDS_S = 60
BACK_S, AGENT_WAIT_S, AGENT_BASE_S, AGENT_CAP_S = 180, 30, 1, 60  # as in agents/assayd
WATCHER_AGAIN_S = 1.5  # as in page/live.js
CONNECTIONS = 12000
HELD = re.compile(rb"^assay_http_held ([0-9]+)", re.M)
VERSION = re.compile(rb'"version":"([0-9a-f]{16}-[0-9]+)"')


def body(bad):
    """The part of a report after `seq`."""
    samples = [{"v": 1, "check": "gemm.rate", "subject": f"cpu:{i}", "value": 40e9 if bad and i == 3 else 70e9 + i * 1e8, "unit": "FLOP/s",
                "better": "higher", "ok": None, "state": "measured"} for i in range(8)]
    return json.dumps({"time": "2026-11-20T10:00:00Z", "profile": "quick", "agent": "0.1.0", "sku": "generic-cpu", "env": {}, "duration_s": 12.5,
                       "samples": samples, "problems": []})[1:]


def look(address, over, counts):
    """Watches until an error. Responses are compressed, as requested by browsers."""
    connection = http.client.HTTPConnection(address, timeout=120)

    def ask(path):
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
        counts.append(len(body))
        return gzip.decompress(body) if answer.getheader("Content-Encoding") == "gzip" else body

    body = ask("/v1/fleet")
    while not over.is_set():
        body = ask(f"/v1/changes?since={VERSION.search(body)[1].decode()}&wait=5")
        if b'"reset":true' in body:
            body = ask("/v1/fleet")


def watch_one(address, over, counts, again):
    while not over.is_set():
        try:
            look(address, over, counts)
        except (OSError, http.client.HTTPException, TypeError):  # no version in the response: the controller stopped
            if not again:
                raise
            over.wait(WATCHER_AGAIN_S * random.random())


def watch(address, n, over, answers, again):
    counts = []
    threads = [threading.Thread(target=watch_one, args=(address, over, counts, again), daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put((len(counts), sum(counts)))


class Sender:
    """Phases of reports; each host's sequence numbers increase over all phases."""

    def __init__(self, options, where, address):
        self.program, self.options, self.address, self.seq = options.build / "tests/bench/send_reports", options, address, FIRST_SEQ
        self.bodies = [where / "good.json", where / "bad.json"]
        for i, path in enumerate(self.bodies):
            path.write_text(body(i))

    def begin(self, rate, seconds):
        process = subprocess.Popen([self.program, self.address, str(rate), str(seconds), str(self.options.nodes), str(self.seq), *self.bodies],
                                   stdout=subprocess.PIPE, text=True)
        self.seq += int(rate * seconds / self.options.nodes) + 1
        return process

    @staticmethod
    def end(process, seconds):
        out, _ = process.communicate(timeout=seconds + ENDS_S)
        if process.returncode:
            sys.exit("bench_watchers: the reports were not sent")
        return json.loads(out)

    def send(self, rate, seconds):
        return self.end(self.begin(rate, seconds), seconds)


def until_held(c, n, seconds=HELD_S, every_s=0.05):
    """Waits until the controller holds n calls."""
    client, deadline = c.connect(), time.monotonic() + seconds
    while (held := int(HELD.search(client.ask("GET", "/metrics")[1])[1])) < n:
        if time.monotonic() > deadline:
            sys.exit(f"bench_watchers: {held} of {n} calls are held")
        time.sleep(every_s)


class Returning(bench_routes.Controller):
    """A controller that is killed and restarted at the same address with the same store."""

    def again(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = subprocess.Popen([word if word != "127.0.0.1:0" else self.address for word in self.process.args], stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            sys.exit("bench_watchers: the controller does not come back")
        while self.connect().ask("GET", "/readyz")[0] != 200:
            time.sleep(0.02)


class Agents:
    """Connections that hold calls for orders, one per host; after a disconnect they reconnect like assayd."""

    def __init__(self, address, nodes, over):
        host, _, port = address.rpartition(":")
        self.address, self.nodes, self.over, self.poll = (host, int(port)), nodes, over, selectors.DefaultSelector()
        self.failures, self.due = [0] * nodes, [(0.0, i) for i in range(nodes)]

    def lose(self, s, i):
        """Schedules a reconnect at a random time up to a maximum that doubles, as in lib/base/backoff.h."""
        if s:
            self.poll.unregister(s)
            s.close()
        widest = min(AGENT_CAP_S, AGENT_BASE_S * 2 ** self.failures[i])
        self.failures[i] += 1
        heapq.heappush(self.due, (time.monotonic() + random.random() * widest, i))

    def ask(self, s, i):
        try:
            s.send(b"GET /v1/nodes/%s/orders?wait=%d HTTP/1.1\r\nHost: bench\r\n\r\n" % (store_days.name(i).encode(), AGENT_WAIT_S))
        except OSError:
            self.lose(s, i)

    def connect(self, i):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(self.address)
        self.poll.register(s, selectors.EVENT_WRITE, i)

    def take(self, key, events):
        s, i = key.fileobj, key.data
        if events & selectors.EVENT_WRITE:
            self.poll.modify(s, selectors.EVENT_READ, i)
            self.ask(s, i)
            return
        try:
            text = s.recv(4096)
        except OSError:
            text = b""
        if not text or text.startswith(b"HTTP/1.1 5"):
            self.lose(s, i)
        elif text.startswith((b"HTTP/1.1 204", b"HTTP/1.1 200")):
            self.failures[i] = 0
            self.ask(s, i)

    def run(self):
        while not self.over.is_set():
            while self.due and self.due[0][0] <= time.monotonic():
                self.connect(heapq.heappop(self.due)[1])
            for key, events in self.poll.select(0.01 if self.due else 0.5):
                self.take(key, events)


def agents(address, nodes, over):
    Agents(address, nodes, over).run()


def come_back(c, sender, options, watchers):
    """One kill and return. Returns the results of the reports, and the seconds until all are back."""
    c.again()
    began, process = time.monotonic(), sender.begin(options.nodes / options.return_s, options.return_s)
    until_held(c, options.nodes + watchers, BACK_S, 0.2)
    back_s = time.monotonic() - began
    return sender.end(process, options.return_s) | {"back_s": round(back_s, 1)}


def measure_return(c, options, where):
    """(alone, watched) phases, in turn."""
    sender, over, alone, watched, told = Sender(options, where, c.address), multiprocessing.Event(), [], [], [0, 0]
    fleet = multiprocessing.Process(target=agents, args=(c.address, options.nodes, over), daemon=True)
    fleet.start()
    until_held(c, options.nodes, BACK_S, 0.2)
    sender.send(options.nodes / options.return_s, TRIED_S)
    for i in range(2 * options.rounds):
        if i % 4 in (0, 3):
            alone.append(come_back(c, sender, options, 0))
            continue
        with Watchers(c, options.watchers, options.nodes, again=True) as watchers:
            watched.append(come_back(c, sender, options, options.watchers))
        told = [a + b for a, b in zip(told, watchers.told)]
    over.set()
    fleet.join()
    return options.nodes / options.return_s, alone, watched, told


class Watchers:
    """Clients that hold calls for changes, as a context manager; `told`: (answers, bytes) afterwards."""

    def __init__(self, c, n, others=0, again=False):
        self.others, self.again = others, again
        self.c, self.n, self.over, self.answers, self.told = c, n, multiprocessing.Event(), multiprocessing.Queue(), (0, 0)

    def __enter__(self):
        self.process = multiprocessing.Process(target=watch, args=(self.c.address, self.n, self.over, self.answers, self.again))
        self.process.start()
        until_held(self.c, self.n + self.others)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.told = self.answers.get(timeout=ENDS_S)
        self.process.join()


def highest(c, sender, options):
    """The highest rate, up to the requested one, that all of them can sustain."""
    sender.send(min(options.rate, RATES[-1]), TRIED_S)  # warms up caches and memory
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
        if i % 4 in (0, 3):  # alone, watched, watched, alone: a growing store favours neither
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
    parser.add_argument("--return", dest="return_s", type=float, metavar="S")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        where = pathlib.Path(where)
        store_days.build(where / "assay.db", store_days.Fleet(options.nodes, 1 / 48), store_days.bodies())
        c = Returning(options.build, where, options.nodes, False, "report-burst: 100000", f"connections-max: {CONNECTIONS}", f"connections-per-peer: {CONNECTIONS}")
        try:
            rate, alone, watched, (answers, size) = (measure_return if options.return_s else measure)(c, options, where)
        finally:
            c.stop()
    p99 = [[round(p["p99_ms"], 1) for p in phases] for phases in (alone, watched)]
    refused, ratio = sum(p["refused"] for p in alone + watched), statistics.median(p99[1]) / statistics.median(p99[0])
    ok = ratio <= options.limit and refused == 0 and all(p["rate"] >= KEPT * rate for p in alone + watched)
    print(json.dumps({"nodes": options.nodes, "watchers": options.watchers, "asked": options.rate, "rate": rate, "alone_p99_ms": p99[0], "watched_p99_ms": p99[1],
                      "ratio": round(ratio, 2), "p50_ms": [statistics.median(p["p50_ms"] for p in phases) for phases in (alone, watched)], "refused": refused,
                      "kept": [p["rate"] for p in alone + watched], **({"back_s": [[p["back_s"] for p in phases] for phases in (alone, watched)]} if options.return_s else {}), "sender_cpu_s": sum(p["cpu_s"] for p in alone + watched), "answers": answers,
                      "bytes_an_answer": round(size / max(1, answers)), "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
