#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latency from a bad report to the PATCH that cordons its node, on a real API server.

bench_kube_action.py BUILD [--cordons N] [--every S] [--nodes N]

Each of N hosts reports a fatal finding, one every --every seconds; the API server's audit log has the time of the PATCH that
cordoned its node. Prints one line of JSON: p50, p99 and maximum in ms from sending the report, the requests per cordon, and how
many were not done; then a summary. Exit status 1: a cordon was not done or done twice, or a request was refused. The target is
for an otherwise idle machine.
"""
import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kube"), os.path.join(HERE, "..", "system")]
from acting import CONFIG, POLICY  # noqa: E402
from apiserver import Missing  # noqa: E402
from bench_action import bad_request  # noqa: E402
from server import CONTROLLER, Server  # noqa: E402
from waiting import wait_for  # noqa: E402

P99_MS = 1000
LAST_S = 60


def start(build, where, kube):
    for name, text in (("policy.yaml", POLICY % 0), ("controller.yaml", CONFIG % f"{where}/policy.yaml")):
        with open(os.path.join(where, name), "w") as f:
            f.write(text)
    log = open(os.path.join(where, "controller.log"), "w")
    process = subprocess.Popen([os.path.join(build, "assay-controller"), "--config", f"{where}/controller.yaml", "--listen", "127.0.0.1:0",
                                "--db", f"{where}/assay.db", "--cluster", "kubernetes", "--kubeconfig", kube.kubeconfig("ctl")],
                               stdout=subprocess.PIPE, stderr=log, text=True)
    host, _, port = process.stdout.readline().split()[-1].rpartition(":")
    return process, (host, int(port))


def knows_nodes(address):
    connection = http.client.HTTPConnection(*address, timeout=LAST_S)
    connection.request("POST", "/v1/nodes/bad-0/silence", json.dumps({"reason": "ready?", "for": "1s"}))
    return connection.getresponse().status == 200


def send_all(address, options):
    """{node: wall clock time its report was sent}."""
    sent = {}
    connection = http.client.HTTPConnection(*address, timeout=LAST_S)
    begin = time.monotonic()
    for number in range(options.cordons):
        while (left := begin + number * options.every - time.monotonic()) > 0:
            time.sleep(left)
        body = bad_request(number).split(b"\r\n\r\n", 1)[1]
        sent[f"bad-{number}"] = time.time()
        connection.request("POST", "/v1/reports", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 202:
            raise SystemExit(f"a report was answered with {answer.status}")
    return sent


def measure(build, where, kube, options):
    for number in range(options.nodes):
        kube.admin.create_node(f"bad-{number}")
    kube.audit.begin()
    process, address = start(build, where, kube)
    try:
        if not wait_for(lambda: knows_nodes(address), LAST_S):
            raise SystemExit("the controller did not see its nodes")
        sent = send_all(address, options)
        wait_for(lambda: len(kube.audit.cordons()) >= len(sent), LAST_S)
        return sent, kube.audit
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--cordons", type=int, default=200)
    parser.add_argument("--every", type=float, default=0.05)
    parser.add_argument("--nodes", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
        try:
            server = Server(os.path.join(where, "kube"))
        except Missing as e:
            print(f"bench_kube_action: {e}")
            return 0
        with server as kube:
            sent, audit = measure(options.build, where, kube, options)
    cordons, requests = audit.cordons(), audit.find(user=CONTROLLER)
    took = sorted((r.began - sent[r.name]) * 1e3 for r in cordons if r.name in sent)
    missing, twice = len(set(sent) - {r.name for r in cordons}), len(cordons) - len({r.name for r in cordons})
    refused = audit.refused(CONTROLLER)
    p99 = took[len(took) * 99 // 100] if took else float("inf")
    print(json.dumps({"cordons": len(took), "not_done": missing, "twice": twice, "refused": len(refused), "nodes": options.nodes,
                      "p50_ms": round(took[len(took) // 2]) if took else None, "p99_ms": round(p99) if took else None,
                      "longest_ms": round(took[-1]) if took else None, "requests_per_cordon": round(len(requests) / max(1, len(took)), 1)}))
    print(f"from a bad report to the PATCH of its node, {len(took)} times: p99 {p99:.0f} ms of {P99_MS}; {missing} not done")
    return 0 if took and missing == 0 and twice == 0 and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
