#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long each route of the API blocks the controller's loop, with 10,000 hosts.

bench_routes.py BUILD [--nodes N] [--runs N] [--limit MS] [--labels]

A store of N hosts that reported twice, each with its own topology that names its switch by LLDP (with --labels:
controller.yaml names the switches), 64 hosts per switch, one host in a hundred with an incident, and one incident of a
switch. Each route is requested in turn, --runs times, without other requests. It measures the CPU time of the controller's
loop per answer, by the scheduler's clock, and the longest wait of a second client that continuously requests /healthz.
Prints one line of JSON; fails if a route blocks the loop for longer than the limit, by the wait of /healthz.
"""
import argparse
import gzip
import http.client
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import store_days

BELOW = 64  # hosts per switch
READY_S = 60
POLICY = "v: 1\nmode: observe\nrules: [{name: all, match: {check: '*'}, action: alert}]\n"
REPLAY = b'{"v": 1, "rules": [{"name": "all", "match": {"check": "*"}, "action": "alert"}]}'


def order(**more):
    return json.dumps({"reason": "a bench", **more}).encode()


def routes(digest):
    """(name, method, path, body): lists with the largest page size, and some with the default size."""
    host = "/v1/nodes/gpu-00099"
    lists = ["/v1/nodes", "/v1/incidents", "/v1/incidents?state=open", "/v1/actions", "/v1/coverage", "/v1/baselines", "/v1/drift",
             "/v1/campaigns", f"{host}/samples", f"{host}/verdicts"]
    yield from (("GET", path, None) for path in ["/healthz", "/readyz", "/metrics", host, f"{host}/why", f"{host}/evidence",
                                                 f"{host}/orders?wait=0", "/v1/breaker", "/v1/policy", "/v1/incidents/1",
                                                 f"/v1/topologies/{digest}"])
    for path in lists:
        yield "GET", path, None
        yield "GET", f"{path}{'&' if '?' in path else '?'}limit=1000", None
    yield "POST", "/v1/policy/replay?since=1d", REPLAY
    yield "POST", "/v1/campaigns", order(domain="leaf-7")
    yield "POST", "/v1/campaigns", order(domain="nowhere")
    yield "POST", "/v1/campaigns", order(nodes=[store_days.name(i) for i in range(256)])
    yield "GET", "/v1/campaigns/1", None
    for what, body in (("silence", order(**{"for": "1h"})), ("override", order(until="1h")), ("cordon", order()), ("uncordon", order()),
                       ("repair-done", order())):
        yield "POST", f"{host}/{what}", body
    yield "POST", "/v1/breaker/reset", order()


def topology(number):
    """A topology the size of a host with 8 GPUs and 8 RNICs, unique to this host like its neighbours."""
    objects = [{"id": f"0000:{i:02x}:00.0", "kind": "pci", "parent": f"bridge-{i // 4}", "class": "0302", "numa": i // 32,
                "link": {"speed": 32.0, "width": 16}} for i in range(64)]
    neighbors = [{"rnic": f"mlx5_{i}", "switch": f"leaf-{number // BELOW}", "port": f"Ethernet{number}/{i}"} for i in range(8)]
    return json.dumps({"v": 1, "objects": objects, "neighbors": neighbors}).encode()


def fill(path, nodes):
    store_days.build(path, store_days.Fleet(nodes, 1 / 48), store_days.bodies())
    db = sqlite3.connect(path)
    now = time.time_ns() // 1000
    for number in range(nodes):
        digest = f"{number:064x}"
        db.execute("INSERT INTO topologies (digest, seen_us, coding, body) VALUES (?,?,1,?)", (digest, now, gzip.compress(topology(number), 6, mtime=0)))
        env = {"kernel": "6.1.0", "driver": "550.54.15" if number % 3 else "550.90.07", "bios": "2.1", "firmware": f"28.39.{number % 7}"}
        db.execute("UPDATE nodes SET topology = ?, env = ? WHERE id = ?", (digest, json.dumps(env), number + 1))
    db.execute("INSERT INTO incidents VALUES (NULL,'domain:leaf-3','all_reduce.busbw','leaf-3',2,0,NULL,'alert','leaf-3 is slow',?,?,NULL,?,NULL)",
               (now, now, now))
    db.commit()
    db.close()
    return f"{7:064x}"


class Controller:
    def __init__(self, build, where, nodes, labels, *more):
        config = where / "controller.yaml"
        (where / "policy.yaml").write_text(POLICY)
        lines = ["v: 1", f"policy: {where / 'policy.yaml'}", *more]
        if labels:
            (where / "neighbors.yaml").write_text("v: 1\nswitches:\n" + "".join(
                f"  - {{name: leaf-{first // BELOW}, nodes: {json.dumps([store_days.name(i) for i in range(first, min(nodes, first + BELOW))])}}}\n"
                for first in range(0, nodes, BELOW)))
            lines.append(f"collectives: {{file: {where / 'neighbors.yaml'}}}")
        config.write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen([build / "assay-controller", "--config", config, "--listen", "127.0.0.1:0", "--db", where / "assay.db"],
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]
        deadline = time.monotonic() + READY_S
        while self.connect().ask("GET", "/readyz")[0] != 200:
            if time.monotonic() > deadline:
                sys.exit("bench_routes: the controller does not become ready")
        while self.connect().ask("POST", "/v1/campaigns", order(domain="nowhere"))[0] == 409:  # it reads data this store does not have yet
            if time.monotonic() > deadline:
                sys.exit("bench_routes: the switches of hosts are not read")
            time.sleep(0.2)

    def connect(self):
        return Client(self.address)

    def loop_ms(self):
        """CPU time of the loop's thread, by the scheduler's clock."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e6

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Client:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


class Waiter(threading.Thread):
    """Continuously requests /healthz; has the longest wait since the last query."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.over, self.longest, self.began = client, threading.Event(), 0.0, None

    def run(self):
        while not self.over.is_set():
            begin = time.monotonic()
            self.client.ask("GET", "/healthz")
            self.longest = max(self.longest, time.monotonic() - begin)
            self.over.wait(0.001)

    def take_ms(self):
        longest, self.longest = self.longest, 0.0
        return longest * 1e3


def measure(c, runs, digest):
    client, waiter, idle = c.connect(), Waiter(c.connect()), c.loop_ms()
    out = []
    for method, path, body in routes(digest):
        row = {"route": f"{method} {path}" + (f" {body[:60].decode()}" if body and "campaigns" in path else "")}
        ran, took = [], []
        for _ in range(runs):
            before, at = c.loop_ms(), time.monotonic()
            row["status"], text = client.ask(method, path, body)
            took.append((time.monotonic() - at) * 1e3)
            ran.append(c.loop_ms() - before)
        row |= {"loop_ms": round(max(ran), 1), "took_ms": round(max(took), 1), "bytes": len(text)}
        out.append(row)
    waiter.start()
    for row, (method, path, body) in zip(out, routes(digest)):
        waiter.take_ms()
        for _ in range(runs):
            client.ask(method, path, body)
        row["other_waited_ms"] = round(waiter.take_ms(), 1)
    waiter.over.set()
    waiter.join()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=100)
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        where = pathlib.Path(where)
        digest = fill(where / "assay.db", options.nodes)
        c = Controller(options.build, where, options.nodes, options.labels)
        try:
            rows = measure(c, options.runs, digest)
        finally:
            c.stop()
    rows.sort(key=lambda row: -row["loop_ms"])
    slow = [row["route"] for row in rows if row["other_waited_ms"] > options.limit]
    for row in rows:
        print(f"{row['loop_ms']:8.1f} {row['took_ms']:8.1f} {row['other_waited_ms']:8.1f} {row['status']} {row['bytes']:9} {row['route']}",
              file=sys.stderr)
    print(json.dumps({"nodes": options.nodes, "labels": options.labels, "limit_ms": options.limit, "over": slow,
                      "worst_ms": max(row["other_waited_ms"] for row in rows), "ok": not slow}))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
