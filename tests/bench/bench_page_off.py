#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The memory cost of the web page for a controller: off, on, and compared with a build without it.

bench_page_off.py BUILD [--old BUILD] [--nodes N] [--rounds N]

Each variant is started on an empty store in turn, --rounds times: its memory when ready, and after each of N hosts has reported
(send_reports.c), in KiB: anonymous (RssAnon) and total (VmRSS, with the program's pages). Prints one line of JSON with medians and the
differences of RssAnon. Sizes do not affect the exit status: it is 1 only if a route of the page answers while it is off.
"""
import argparse
import http.client
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import bench_watchers

READY_S, REPORTS_S, RATE_MAX = 60, 5, 400
ROUTES = ("/", "/page/", "/v1/session", "/v1/self")


def kib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1]) for name in ("RssAnon", "VmRSS")}


def status(address, path):
    connection = http.client.HTTPConnection(address, timeout=READY_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def once(build, page, options):
    """(memory when ready, memory with a fleet, statuses of the page's routes)"""
    with tempfile.TemporaryDirectory(prefix="bench-page-off.") as where:
        where = pathlib.Path(where)
        (where / "controller.yaml").write_text("v: 1\n" + page)
        process = subprocess.Popen([build / "assay-controller", "--config", where / "controller.yaml", "--listen", "127.0.0.1:0", "--db", where / "assay.db"],
                                   stdout=subprocess.PIPE, text=True)
        try:
            address, deadline = process.stdout.readline().split()[-1], time.monotonic() + READY_S
            while status(address, "/readyz") != 200:
                if time.monotonic() > deadline:
                    sys.exit(f"bench_page_off: {build} does not become ready")
                time.sleep(0.05)
            ready, found = kib(process.pid), [status(address, path) for path in ROUTES]
            rate = min(RATE_MAX, options.nodes / REPORTS_S)
            sent = bench_watchers.Sender(options, where, address).send(rate, options.nodes / rate)
            if sent["refused"]:
                sys.exit(f"bench_page_off: reports were refused: {sent}")
            return ready, kib(process.pid), found
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def main():
    parser = argparse.ArgumentParser(prog="bench_page_off", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--old", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    kinds = {"off": (options.build, "page: false\n"), "on": (options.build, "page: true\n")} | ({"old": (options.old, "")} if options.old else {})
    found, answered = {kind: [] for kind in kinds}, []
    for _ in range(options.rounds):
        for kind, (build, page) in kinds.items():
            *sizes, statuses = once(build, page, options)
            found[kind].append(sizes)
            if kind == "off":
                answered += [path for path, code in zip(ROUTES, statuses) if code != 404]
    out = {kind: {name: {key: statistics.median(sizes[i][key] for sizes in rounds) for key in ("RssAnon", "VmRSS")}
                  for i, name in enumerate(("ready", "fleet"))} for kind, rounds in found.items()}
    less = {f"off_less_{other}": {name: out["off"][name]["RssAnon"] - out[other][name]["RssAnon"] for name in ("ready", "fleet")} for other in kinds if other != "off"}
    print(json.dumps({"nodes": options.nodes, "kib": out, **less, "answered_while_off": sorted(set(answered)), "ok": not answered}))
    return 0 if not answered else 1


if __name__ == "__main__":
    sys.exit(main())
