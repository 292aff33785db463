#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latency of reports with many concurrent readers.

bench_readers.py BUILD [--old BUILD] [--readers N,N] [--reports N]

N readers request the largest page of samples, each again as soon as it is answered (after Retry-After if told to retry), while one host
reports every 50 ms. Prints the p50 and p99 of the report's latency in ms for each N, and with --old the ratio of the p99 of the two
builds in this run. Exit status 1: a report was refused, or with --old the latency is higher than before.
"""
import argparse
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import bench_controller

SAMPLES = 1000
PATH = "/v1/nodes/gpu-0/samples?limit=1000"


def text_of(number, samples):
    return b'{"v":1,"kind":"report","node":"gpu-0","boot_id":"b0","seq":%d,%s' % (number, bench_controller.report(number, samples))


def read_all_the_while(address, over):
    connection = http.client.HTTPConnection(address, timeout=120)
    while not over.is_set():
        try:
            connection.request("GET", PATH)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 503:
                over.wait(int(answer.headers["Retry-After"]))
        except (OSError, http.client.HTTPException):
            connection.close()


def measure(build, readers, reports):
    """Latencies of the reports in ms, sorted."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where, \
            bench_controller.Controller(build, where) as c:
        connection, over = http.client.HTTPConnection("%s:%d" % c.address, timeout=120), threading.Event()

        def send(number, samples):
            began = time.monotonic()
            connection.request("POST", "/v1/reports", text_of(number, samples))
            answer = connection.getresponse()
            told = answer.read()
            if answer.status != 202:
                sys.exit(f"bench_readers: {answer.status} {told}")
            return (time.monotonic() - began) * 1e3

        send(1, SAMPLES)
        threads = [threading.Thread(target=read_all_the_while, args=("%s:%d" % c.address, over), daemon=True) for _ in range(readers)]
        for thread in threads:
            thread.start()
        waits = []
        for number in range(2, reports + 2):
            time.sleep(0.05)
            waits.append(send(number, 8))
        over.set()
        for thread in threads:
            thread.join()
        return sorted(waits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--old", type=pathlib.Path)
    parser.add_argument("--readers", default="100,400")
    parser.add_argument("--reports", type=int, default=30)
    options = parser.parse_args()
    good = True
    for readers in map(int, options.readers.split(",")):
        out = {"bench": "readers", "readers": readers}
        for name, build in (("old", options.old), ("new", options.build)):
            if build:
                waits = measure(build, readers, options.reports)
                out[name] = {"p50_ms": round(waits[len(waits) // 2], 1), "p99_ms": round(waits[len(waits) * 99 // 100], 1)}
        if options.old:
            out["ratio"] = round(out["old"]["p99_ms"] / out["new"]["p99_ms"], 1)
            good &= out["ratio"] >= 1
        print(json.dumps(out))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
