#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reports per second that the controller stores, including the generator.

bench_controller.py BUILD [--seconds S] [--connections N] [--nodes N] [--burst N] [--samples N]

Each of N connections sends one report after the other (40 samples with 8
sub-window values, as written by assayd) and waits for the answer, which comes
after the commit. No two reports are equal: each has its own host and number,
and one of 256 sets of values. Prints one line of JSON: rate, p50 and p99 of
the answers in ms, the controller's CPU time per report, its memory, and store
bytes per report; then a line that compares them with the targets.

With --burst N: N hosts return at the same time after an outage, each on its
own connection with one report. After 503 or 429 they retry after Retry-After.
Prints the seconds until the last one was acknowledged, and counts the reports
in the store to check that none is lost.

The targets are for an otherwise idle machine; the CPU time per report is valid
on a busy one too. Exit status 1: a report was lost or finally refused.
"""
import argparse
import heapq
import json
import os
import random
import resource
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

RATE, RATE_AIM, P99_MS, BURST_S = 1500, 3000, 500, 20
VARIANTS = 256
CHECKS = (("gemm.rate", "FLOP/s", 70e12), ("memory.device_bw", "B/s", 2.9e12), ("memory.h2d_bw", "B/s", 52e9),
          ("loopback.write_bw", "B/s", 24.1e9), ("loopback.write_lat", "s", 2.4e-6))
RETRY_STATUS = (b"503", b"429")


def digits(value):
    """The number as written by assayd, with 15 digits."""
    return float(f"{value:.15g}")


def sample(chance, check, unit, typical, device, pace):
    value = typical * pace * chance.gauss(1, 0.004)
    windows = sorted(digits(value * chance.gauss(1, 0.005)) for _ in range(8))
    return {"v": 1, "check": check, "subject": f"gpu:GPU-5d9f0a1c-77b2-4c03-9e11-00000000000{device}", "value": digits(value),
            "unit": unit, "better": "lower" if unit == "s" else "higher", "ok": None, "state": "measured", "class": "self",
            "params": {"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "driver": "550.54.15", "check": check}, "n": 64,
            "min": windows[0], "max": windows[-1], "stddev": digits(abs(value) * 0.005), "p50": windows[4],
            "p99": windows[-1], "w": windows, "start": digits(1795224600 + chance.random() * 1000), "seconds": 4.0}


def report(seed, count):
    """The text of a report after node and seq, which come first."""
    chance = random.Random(seed)
    pace = chance.gauss(1, 0.003)  # of the host
    samples = [sample(chance, *CHECKS[i // 8 % len(CHECKS)], i % 8, pace) for i in range(count)]
    rest = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "profile": "quick", "agent": "0.1.0", "sku": "bench-sku",
            "env": {"kernel": "6.1.0-18-amd64", "driver": "550.54.15", "bios": "2.1.7", "cpu": "8480C"}, "duration_s": 40.5,
            "samples": samples, "problems": []}
    return json.dumps(rest, separators=(",", ":"))[1:].encode()


class Reports:
    """Report number i: every host in turn, then all of them again."""

    def __init__(self, nodes, samples):
        self.nodes = nodes
        self.variants = [report(seed, samples) for seed in range(VARIANTS)]

    def request(self, i):
        node, seq = i % self.nodes, i // self.nodes + 1
        rest = self.variants[(node * 7 + seq * 11) % VARIANTS]
        head = b'{"v":1,"kind":"report","node":"gpu-%d","boot_id":"b0","seq":%d,' % (node, seq)
        return b"POST /v1/reports HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n%s%s" % (len(head) + len(rest), head, rest)


class Client:
    """One connection with at most one report in flight."""

    def __init__(self, address, poll):
        self.address, self.poll, self.socket, self.mask = address, poll, None, 0
        self.request = self.data = self.answer = b""
        self.began = 0.0  # when the report was first sent, or was due again
        self.waits = False  # waits for a retry: nothing is in flight

    def watch(self, mask):
        if mask != self.mask:
            if self.mask == 0:
                self.poll.register(self.socket, mask, self)
            else:
                self.poll.modify(self.socket, mask, self)
            self.mask = mask

    def begin(self):
        self.data, self.answer, self.waits = memoryview(self.request), b"", False
        if self.socket and not self.go_on(selectors.EVENT_WRITE):
            return
        # There is none yet, or the peer has closed it meanwhile.
        self.data = memoryview(self.request)
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(self.address)
        self.watch(selectors.EVENT_WRITE)

    def close(self):
        if self.socket:
            if self.mask:
                self.poll.unregister(self.socket)
            self.socket.close()
            self.socket, self.mask = None, 0

    def go_on(self, mask):
        """Sends or reads. Returns (status, Retry-After in s) with an answer, (None, 1) if the connection broke."""
        try:
            if mask & selectors.EVENT_READ:
                piece = self.socket.recv(4096)
                if not piece:
                    raise ConnectionResetError
                self.answer += piece
                return self.answered()
            elif self.data:
                self.data = self.data[self.socket.send(self.data):]
                self.watch(selectors.EVENT_WRITE | selectors.EVENT_READ if self.data else selectors.EVENT_READ)
        except (BlockingIOError, InterruptedError):
            self.watch(selectors.EVENT_WRITE | selectors.EVENT_READ)
        except OSError:
            self.close()
            return None if self.waits else (None, 1)  # a retry uses a new connection
        return None

    def answered(self):
        """Like go_on(); None while the answer is incomplete."""
        head, end, body = self.answer.partition(b"\r\n\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
        if not end or len(body) < int(fields.get(b"content-length", 0)):
            return None
        if self.data or fields.get(b"connection", b"").lower() == b"close":
            self.close()
        return head[9:12], int(fields.get(b"retry-after", 0))


class Counts:
    def __init__(self):
        self.took, self.shed, self.broken, self.bad = [], 0, 0, 0

    def note(self, client, result):
        """Seconds until the report is to be sent again; None if it is finished, accepted or refused."""
        status, after = result
        client.waits = status is None or status in RETRY_STATUS
        if status in (b"202", b"200"):
            self.took.append(time.monotonic() - client.began)
        elif status is None:
            self.broken += 1
            return after
        elif status in RETRY_STATUS and after:
            self.shed += 1
            return after
        else:  # or a retry without a time
            self.bad += 1
            print(f"answer {status!r}: {client.answer[:300]!r}", file=sys.stderr)
        return None


class Later:
    """Pending retries and their times."""

    def __init__(self):
        self.heap, self.order = [], 0

    def put(self, client, after_s):
        self.order += 1
        heapq.heappush(self.heap, (time.monotonic() + after_s, self.order, client))

    def due(self):
        while self.heap and self.heap[0][0] <= time.monotonic():
            yield heapq.heappop(self.heap)[2]


def drive(address, options, reports):
    """Each connection sends one report after the other for a number of seconds."""
    poll, counts, later = selectors.EpollSelector(), Counts(), Later()
    begin = now = time.monotonic()

    def send_next(client, number):
        client.request, client.began = reports.request(number), time.monotonic()
        client.begin()

    for sent in range(options.connections):
        send_next(Client(address, poll), sent)
    while (now := time.monotonic()) < begin + options.seconds:
        for key, mask in poll.select(0.1):
            result = key.data.go_on(mask)
            if not result:
                continue
            after = counts.note(key.data, result)
            if after is None:
                sent += 1
                send_next(key.data, sent)
            else:
                later.put(key.data, after)
        for client in later.due():
            client.began = time.monotonic()
            client.begin()
    return counts, now - begin


def burst(address, options, reports, limit_s=120):
    """One report of each host at once, until the last one is acknowledged."""
    poll, counts, later = selectors.EpollSelector(), Counts(), Later()
    begin, left = time.monotonic(), options.burst
    for i in range(options.burst):
        client = Client(address, poll)
        client.request, client.began = reports.request(i), begin
        client.begin()
    while left and time.monotonic() < begin + limit_s:
        for key, mask in poll.select(0.05):
            result = key.data.go_on(mask)
            if not result:
                continue
            after = counts.note(key.data, result)
            if after is None:
                left -= 1
                key.data.close()
            else:
                later.put(key.data, after)
        for client in later.due():
            client.begin()
    return counts, time.monotonic() - begin, left


def memory(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def metrics(address):
    """The controller's metrics by name, as text."""
    with urllib.request.urlopen("http://%s:%d/metrics" % address) as answer:
        return dict(line.rpartition(" ")[::2] for line in answer.read().decode().splitlines())


def commits(address):
    """(number, total seconds) of the controller's commits."""
    values = metrics(address)
    return int(values["assay_store_commit_seconds_count"]), float(values["assay_store_commit_seconds_sum"])


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        return sum(int(n) for n in f.read().split()[13:15]) / os.sysconf("SC_CLK_TCK")


class Controller:
    """A controller with its own store, as a context manager."""

    def __init__(self, build, where):
        self.db = os.path.join(where, "assay.db")
        config = os.path.join(where, "controller.yaml")
        with open(config, "w") as f:
            f.write("v: 1\nreport-burst: 100000\n")
        self.process = subprocess.Popen([os.path.join(build, "assay-controller"), "--config", config, "--listen", "127.0.0.1:0",
                                         "--db", self.db], stdout=subprocess.PIPE, text=True)
        host, _, port = self.process.stdout.readline().split()[-1].rpartition(":")
        self.address, self.pid = (host, int(port)), self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def kept(self):
        """(reports, hosts) in the store, after it is stopped."""
        db = sqlite3.connect(self.db)
        try:
            return db.execute("SELECT count(*), count(DISTINCT node) FROM reports").fetchone()
        finally:
            db.close()


def bench_rate(options, where, reports):
    with Controller(options.build, where) as c:
        counts, seconds = drive(c.address, options, reports)
        rss, cpu_s = memory(c.pid), cpu_seconds(c.pid)
        n_commits, commit_s = commits(c.address)
    took = sorted(counts.took)
    n = len(took)
    kept, _ = c.kept()
    rate, p99_ms = n / seconds, took[n * 99 // 100] * 1e3
    print(json.dumps({"reports_per_s": round(rate), "p50_ms": round(took[n // 2] * 1e3, 1), "p99_ms": round(p99_ms, 1),
                      "controller_cpu_us_per_report": round(cpu_s / n * 1e6), "generator_cpu_us_per_report":
                      round(time.process_time() / n * 1e6), "reports_per_commit": round(n / n_commits, 1),
                      "commit_ms": round(commit_s / n_commits * 1e3, 1), "rss_mib": round(rss / 2**20, 1),
                      "store_bytes_per_report": round(os.path.getsize(c.db) / n), "reports": n, "told_to_come_again": counts.shed,
                      "broken": counts.broken, "not_accepted": counts.bad, "lost": max(n - kept, 0)}))
    print(f"{rate:.0f} reports/s: {rate / RATE:.2f} of the {RATE} asked for, {rate / RATE_AIM:.2f} of the {RATE_AIM} aimed at; "
          f"p99 {p99_ms:.0f} ms of {P99_MS}; {cpu_s / n * 1e6:.0f} us of a core a report, so {n / cpu_s:.0f}/s of one core")
    return counts.bad == 0 and kept >= n


def hold_up(pid, seconds):
    """Stops the controller for a time, so that it then finds all requests waiting."""
    if seconds > 0:
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(seconds, os.kill, (pid, signal.SIGCONT)).start()


def bench_burst(options, where, reports):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < options.burst + 100:
        print(f"bench_controller.py: {hard} descriptors are too few for {options.burst} hosts", file=sys.stderr)
        return False
    with Controller(options.build, where) as c:
        hold_up(c.pid, options.hold_up)
        counts, seconds, left = burst(c.address, options, reports)
        rss, cpu_s = memory(c.pid), cpu_seconds(c.pid)
    kept, hosts = c.kept()
    print(json.dumps({"hosts": options.burst, "acknowledged": options.burst - left, "seconds": round(seconds, 2),
                      "told_to_come_again": counts.shed, "broken": counts.broken, "not_accepted": counts.bad,
                      "kept": kept, "kept_hosts": hosts, "controller_cpu_s": round(cpu_s, 2), "rss_mib": round(rss / 2**20, 1)}))
    print(f"{options.burst} hosts at once: the last one was acknowledged after {seconds:.1f} s of {BURST_S}; "
          f"{options.burst - hosts} lost")
    return left == 0 and hosts == options.burst and counts.bad == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--burst", type=int, default=0)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--hold-up", type=float, default=0, help="seconds that the controller of a burst is stopped at first")
    options = parser.parse_args()
    reports = Reports(options.burst or options.nodes, options.samples)
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        good = (bench_burst if options.burst else bench_rate)(options, where, reports)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
