#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost for the controller of a scrape of /metrics and /metrics/nodes, with 10,000 hosts of 100 checks and 250 parts each.

bench_metrics.py BUILD [--nodes N] [--scrapes N] [--limit MS]

A store of N hosts of three SKUs; each host's last run measured 100 checks on 250 parts, and one host in a hundred has a bad
one. /metrics is scraped every second (Prometheus does every 15 or 30), while another client continuously requests /healthz.
Prints one line of JSON: size and time of the texts, the duration of the walk that counts checks, the CPU share of the loop
meanwhile, and the longest wait of /healthz. Fails if that is above the limit.
"""
import argparse
import http.client
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import store_days

CHECKS, PARTS, SKUS = 100, 250, 3
WALK_S = 180


def make_store(path, nodes):
    store_days.build(path, store_days.Fleet(nodes, 1 / 48), store_days.bodies())
    measured = "".join(f"probe{i % CHECKS // 10}.check_{i % CHECKS}\tgpu:GPU-1cd89253-cb0a-093d-9298-{i:012d}\tB/s\tf\n" for i in range(PARTS))
    db = sqlite3.connect(path)
    db.execute("UPDATE runs SET measured = ?", (measured,))
    db.execute(f"UPDATE nodes SET sku = 'hgx-' || (id % {SKUS}), seen_us = ?", (time.time_ns() // 1000,))
    db.commit()
    db.close()


def ask(address, path):
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    begin = time.monotonic()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        sys.exit(f"bench_metrics: {path}: {answer.status} {body[:200]}")
    return (time.monotonic() - begin) * 1e3, body.decode()


def ran_ms(pid):
    """CPU time of all its threads, by the scheduler's clock."""
    return sum(int(p.read_text().split()[0]) for p in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6


def watch(address, waits, stop):
    while not stop.is_set():
        waits.append(ask(address, "/healthz")[0])


def counted(text):
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith("assay_checks{"))


def measure(process, address, options):
    waits, stop, times = [], threading.Event(), []
    watcher = threading.Thread(target=watch, args=(address, waits, stop))
    begin, ran = time.monotonic(), ran_ms(process.pid)
    watcher.start()
    first, text = ask(address, "/metrics")
    while counted(text) < options.nodes * CHECKS and time.monotonic() - begin < WALK_S:
        time.sleep(1)
        took, text = ask(address, "/metrics")
        times.append(took)
    walk_s, walk_ran = time.monotonic() - begin, ran_ms(process.pid) - ran
    for _ in range(options.scrapes):
        time.sleep(1)
        took, text = ask(address, "/metrics")
        times.append(took)
    nodes_ms, nodes_text = ask(address, "/metrics/nodes")
    stop.set()
    watcher.join()
    return {"nodes": options.nodes, "series": sum(1 for line in text.splitlines() if line[0] != "#"), "bytes": len(text), "first_ms": round(first, 1),
            "scrape_ms": round(sorted(times)[len(times) // 2], 1), "walk_s": round(walk_s, 1), "walk_ran_ms": round(walk_ran),
            "counted": counted(text), "nodes_bytes": len(nodes_text), "nodes_ms": round(nodes_ms, 1), "healthz_worst_ms": round(max(waits), 1)}


def main():
    parser = argparse.ArgumentParser(prog="bench_metrics", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--scrapes", type=int, default=10)
    parser.add_argument("--limit", type=float, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-metrics.") as where:
        where = pathlib.Path(where)
        make_store(where / "assay.db", options.nodes)
        (where / "controller.yaml").write_text("v: 1\nmetrics-nodes: true\n")
        process = subprocess.Popen([options.build / "assay-controller", "--config", where / "controller.yaml", "--listen", "127.0.0.1:0",
                                    "--db", where / "assay.db"], stdout=subprocess.PIPE, text=True)
        try:
            found = measure(process, process.stdout.readline().split()[-1], options)
        finally:
            process.terminate()
            process.wait()
    found["ok"] = found["healthz_worst_ms"] <= options.limit and found["counted"] >= options.nodes * CHECKS
    print(json.dumps(found))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
