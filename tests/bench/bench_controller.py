#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reports a second that the controller keeps, the generator included.

bench_controller.py BUILD [--seconds S] [--connections N] [--nodes N]

Each of N connections sends one report after the other (40 samples with 8
sub-window values) and waits for its answer, which comes after the commit.
Prints one line of JSON: rate, p50 and p99 of the answers in ms, memory of the
controller, and bytes of the store a report.
"""
import argparse
import json
import os
import random
import selectors
import socket
import subprocess
import sys
import tempfile
import time

HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n"


def report():
    """Text of a report up to its node and seq, which come first."""
    chance = random.Random(1)
    samples = []
    for i in range(40):
        value = chance.gauss(70e9, 5e8)
        samples.append({"v": 1, "check": f"gemm.rate{i // 8}", "subject": f"gpu:GPU-5d9f0a1c-{i % 8}", "value": value,
                        "unit": "FLOP/s", "better": "higher", "ok": None, "state": "measured", "class": "self",
                        "params": {"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "driver": "550.54.15"}, "n": 64,
                        "min": value * 0.99, "max": value * 1.01, "stddev": 3e8, "p50": value, "p99": value * 1.01,
                        "w": [value * chance.gauss(1, 0.005) for _ in range(8)], "start": 1795224600.125, "seconds": 4.0})
    rest = {"time": "2026-11-20T10:00:00Z", "profile": "quick", "agent": "0.1.0", "sku": "hgx-h100",
            "env": {"kernel": "6.1.0", "driver": "550.54.15"}, "duration_s": 40.5, "samples": samples, "problems": []}
    return json.dumps(rest, separators=(",", ":"))[1:].encode()


class Client:
    """One connection with one report on its way."""

    def __init__(self, address, rest, number, nodes):
        self.socket = socket.create_connection(address)
        self.rest, self.number, self.nodes, self.sent = rest, number, nodes, 0

    def send(self):
        node = self.nodes[self.sent % len(self.nodes)]
        body = b'{"v":1,"kind":"report","node":"%s","boot_id":"b0","seq":%d,%s' % (
            node, self.sent // len(self.nodes) + 1, self.rest)
        self.sent += 1
        self.begin = time.monotonic()
        self.socket.sendall(HEAD % len(body) + body)


def drive(address, options):
    rest = report()
    names = [b"gpu-%d" % i for i in range(options.nodes)]
    clients = [Client(address, rest, i, names[i::options.connections]) for i in range(options.connections)]
    took, bad = [], 0
    poll = selectors.DefaultSelector()
    for c in clients:
        poll.register(c.socket, selectors.EVENT_READ, c)
        c.send()
    begin = time.monotonic()
    end = begin + options.seconds
    while (now := time.monotonic()) < end:
        for key, _ in poll.select(1):
            c = key.data
            answer = c.socket.recv(4096)
            took.append(time.monotonic() - c.begin)
            bad += not answer.startswith(b"HTTP/1.1 202")
            if not answer:
                sys.exit("the controller closed a connection")
            c.send()
    return sorted(took), bad, now - begin


def memory(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        db = os.path.join(where, "assay.db")
        config = os.path.join(where, "controller.yaml")
        with open(config, "w") as f:
            f.write("v: 1\nreport-burst: 100000\n")
        process = subprocess.Popen([os.path.join(options.build, "assay-controller"), "--config", config, "--listen",
                                    "127.0.0.1:0", "--db", db], stdout=subprocess.PIPE, text=True)
        try:
            host, _, port = process.stdout.readline().split()[-1].rpartition(":")
            took, bad, seconds = drive((host, int(port)), options)
            rss = memory(process.pid)
            with open(f"/proc/{process.pid}/stat") as f:
                cpu_s = sum(int(n) for n in f.read().split()[13:15]) / os.sysconf("SC_CLK_TCK")
        finally:
            process.terminate()
            process.wait()
        size = os.path.getsize(db)
    n = len(took)
    print(json.dumps({"reports_per_s": round(n / seconds), "p50_ms": round(took[n // 2] * 1e3, 1),
                      "p99_ms": round(took[n * 99 // 100] * 1e3, 1), "not_202": bad, "rss_mib": round(rss / 2**20, 1),
                      "controller_cpu_us_per_report": round(cpu_s / n * 1e6), "store_bytes_per_report": round(size / n),
                      "reports": n}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
