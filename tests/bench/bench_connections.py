#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of a controller that knows many hosts and holds their calls for orders, over TLS and plain.

bench_connections.py BUILD [--nodes N] [--connections N] [--seconds S]

Each of N hosts has sent one report (40 samples with 8 sub-window values); then
N connections hold GET orders?wait=30, and repeat it when it is answered.
Prints memory with and without them, the cost of one more, and the CPU share
over S seconds. Fails above 200 MiB with TLS.
"""
import argparse
import json
import os
import pathlib
import resource
import selectors
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system")]
from bench_controller import Reports, memory  # noqa: E402
from controller_stub import make_certificates  # noqa: E402

RSS_MAX_MIB = 200
WAIT_S = 30
SENDERS = 200
STEPS = 4
SAMPLES = 40  # per report


def cpu_s(pid):
    """CPU seconds, by the scheduler's clock instead of ticks."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


class Bench:
    """One controller, over TLS or not."""

    def __init__(self, build, directory, tls):
        config = directory / "controller.yaml"
        config.write_text("v: 1\nreport-burst: 100000\n")
        keys = ["--tls-cert", directory / "server.pem", "--tls-key", directory / "server.key"] if tls else []
        self.tls = ssl.create_default_context(cafile=directory / "ca.pem") if tls else None
        self.process = subprocess.Popen([build / "assay-controller", "--config", config, "--listen", "127.0.0.1:0", "--db",
                                         directory / f"{'tls' if tls else 'plain'}.db", *keys], stdout=subprocess.PIPE, text=True)
        host, _, port = self.process.stdout.readline().split()[-1].rpartition(":")
        self.address = (host, int(port))
        self.poll = selectors.DefaultSelector()
        self.answered, self.partly = 0, {}

    def connect(self):
        s = socket.create_connection(self.address)
        return self.tls.wrap_socket(s, server_hostname="127.0.0.1") if self.tls else s

    def introduce(self, nodes):
        """Sends a report of each host."""
        reports = Reports(nodes, SAMPLES)
        sockets = [self.connect() for _ in range(SENDERS)]
        for first in range(0, nodes, SENDERS):
            batch = list(zip(sockets, range(first, min(nodes, first + SENDERS))))
            for s, i in batch:
                s.sendall(reports.request(i))
            for s, i in batch:
                text = b""
                while not text.endswith(b"}"):
                    text += s.recv(4096) or b"}"
                if not text.startswith(b"HTTP/1.1 202"):
                    sys.exit(f"bench_connections: the report of gpu-{i} was not taken")
        for s in sockets:
            s.close()

    def ask(self, s, i):
        s.setblocking(True)
        s.sendall(b"GET /v1/nodes/gpu-%d/orders?wait=%d HTTP/1.1\r\nHost: bench\r\n\r\n" % (i, WAIT_S))
        s.setblocking(False)

    def hold(self, begin, end):
        for i in range(begin, end):
            s = self.connect()
            self.ask(s, i)
            self.poll.register(s, selectors.EVENT_READ, i)

    def rest(self, seconds):
        """Repeats each call when its wait is over or an opinion arrives."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for key, _ in self.poll.select(left):
                try:
                    text = key.fileobj.recv(4096)
                except (ssl.SSLWantReadError, BlockingIOError):
                    continue
                text = self.partly.pop(key.data, b"") + text
                if text.startswith(b"HTTP/1.1 200") and not text.endswith(b"]"):
                    self.partly[key.data] = text  # orders come in two records
                    continue
                if not text.startswith((b"HTTP/1.1 204", b"HTTP/1.1 200")):
                    sys.exit(f"bench_connections: gpu-{key.data} was cut or refused: {text[:40]!r}")
                self.answered += 1
                self.ask(key.fileobj, key.data)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure(build, directory, tls, options, seconds):
    bench = Bench(build, directory, tls)
    pid = bench.process.pid
    try:
        bench.introduce(options.nodes if tls else SENDERS)
        bench.rest(1)
        known = memory(pid)
        each = []
        for step in range(STEPS):
            n = [options.connections * k // STEPS for k in (step, step + 1)]
            before = memory(pid)
            bench.hold(*n)
            bench.rest(0.5)
            each.append((memory(pid) - before) / (n[1] - n[0]))
        began = cpu_s(pid)
        bench.rest(seconds)
        # The first may reuse memory freed after the reports, so take the most expensive quarter.
        return {"known_mib": round(known / 2**20, 1), "held_mib": round(memory(pid) / 2**20, 1),
                "kib_per_connection": round(max(each) / 1024, 1), "kib_by_quarter": [round(e / 1024, 1) for e in each],
                "core_percent": round((cpu_s(pid) - began) / seconds * 100, 2), "asked_again": bench.answered}
    finally:
        bench.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    if not (options.build / "assay-controller").exists() or not shutil.which("openssl"):
        print("connections: assay-controller is not built, or openssl is missing: not measured")
        return 0
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as name:
        directory = pathlib.Path(name)
        make_certificates(directory)
        plain = measure(options.build.resolve(), directory, False, options, 1)
        tls = measure(options.build.resolve(), directory, True, options, options.seconds)
    good = tls["held_mib"] <= RSS_MAX_MIB
    print(json.dumps({"nodes": options.nodes, "connections": options.connections, "tls": tls,
                      "plain": {k: plain[k] for k in ("kib_per_connection", "kib_by_quarter")},
                      "target_mib": RSS_MAX_MIB, "met": good}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
