#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latencies from a window to a suspect, and from the last failed test to the PATCH that cordons the node, on a real API server.

bench_investigation.py BUILD [--rounds N] [--keep LOG]

One controller, and per round a job on its own eight hosts, whose agents are simulated here. Two windows blame the fourth; once it is
suspected its job ends, its tests are ordered, and fail. The API server's audit log has the time of the PATCH. Prints one line of JSON: p50,
p99 and maximum in ms of each: `suspected` from sending the second window until the job is shown as suspected, `ordered` from the end of the
job until the order of its first test, `cordoned` from sending the report of the last failed test until the PATCH; how many rounds needed a
third test, and what was not done; then a summary. Exit status 1: something was not done, done to another host, done twice, or refused. The
targets are for an otherwise idle machine.
"""
import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kube"), os.path.join(HERE, "..", "system")]
from apiserver import Missing  # noqa: E402
from fixtures_controller import Controller, report, sample  # noqa: E402
from server import CONTROLLER, Server  # noqa: E402
from test_placement import process  # noqa: E402
from waiting import wait_for  # noqa: E402

CORDON_P99_MS, SUSPECT_P99_MS = 1000, 2000
LAST_S = 60
HOSTS_OF_JOB, SLOW = 8, 3
TESTS = 2  # minimum of failed tests
TEST_S = 1.1  # duration of a test: longer than jobs.retest_spacing, so that the second one counts
AGENT_S = 30  # how long an agent's call for orders is held
AGES = ((900, 700), (130, 10))  # in seconds, of two separate windows
TOKEN = "a" * 32
POLICY = """v: 1
mode: enforce
budget: {total: {percent: 100}, domain: {label: none, max: 1000}, rate: {cordons: 1000, per: 10m}}
breaker: {silent_percent: 100, alike: {percent: 100, nodes: 1000, per: 10m}, storm: {cordons: 1000, per: 10m}}
coverage: {max_age: 3650d}
retest: {times: %d, spacing: 1s, timeout: 20m}
jobs: {mode: enforce, retest_spacing: 1s, born: {percent: 100}}
rules: [{name: slow, match: {check: "gemm.*"}, windows: {k: 1, n: 1}, action: retest}]
""" % TESTS


class Round:
    """A job on its own hosts."""

    def __init__(self, c, kube, number):
        self.c, self.kube = c, kube
        self.job, self.first = f"research/llm-{number}", number * HOSTS_OF_JOB
        self.slow, self.seq, self.sent = hosts_of(number)[SLOW], 1, 0

    def trace(self):
        return subprocess.run([os.path.join(HERE, "../fleet/job_trace.py"), "--job", self.job, "--dp", "4", "--pp", "2", "--steps", "12",
                               "--first-host", str(self.first), "--slow", f"{self.slow}/30"], stdout=subprocess.PIPE, check=True, timeout=LAST_S).stdout

    def call(self, method, path, body=None, **more):
        answer = self.c.call(method, path, body, token=TOKEN, **more)
        if answer.status >= 400:
            raise SystemExit(f"{method} {path} was answered with {answer.status}: {answer.body.decode()}")
        return answer

    def claim(self, ranks):
        """Reports an agent's ranks of the job."""
        body = {"format": "assay-processes/1", "boot_id": "b0", "processes": [process(r, ASSAY_JOB=self.job) for r in ranks]}
        self.call("PUT", f"/v1/nodes/{self.slow}/processes", json.dumps(body).encode())

    def send(self, trace, ages):
        """Sends a window. Returns the number of the job."""
        self.sent += 1
        headers = {"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])}
        body = trace + b"\n" * self.sent  # one more byte makes it a different trace
        return self.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": self.job}), body, headers=headers).json

    def until(self, condition, what):
        found = wait_for(condition, LAST_S)
        if not found:
            raise SystemExit(f"{self.job}: {what} did not come within {LAST_S} s")
        return found

    def is_analysed(self, sent):
        items = self.call("GET", f"/v1/jobs/{sent['id']}/windows").json["items"]
        return any(w["id"] == sent["window"] and w["state"] == "analysed" for w in items)

    def suspected(self):
        """Seconds from the second window to the suspicion."""
        trace = self.trace()
        meta = json.loads(trace.split(b"\n", 1)[0])
        rank = next(r["rank"] for r in meta["ranks"] if r["node"] == self.slow)
        self.claim(range(rank, rank + meta["tp_size"]))
        sent = self.send(trace, AGES[0])
        self.until(lambda: self.is_analysed(sent), "the first window")
        began = time.monotonic()
        sent = self.send(trace, AGES[1])
        self.until(lambda: self.call("GET", f"/v1/jobs/{sent['id']}").json["state"] == "suspected", "the suspicion")
        return time.monotonic() - began

    def order(self, wait_s=1):
        answer = self.call("GET", f"/v1/nodes/{self.slow}/orders?wait={wait_s}")
        found = [o for o in (answer.json if answer.status == 200 else []) if o["kind"] == "deep"]
        return {"id": found[0]["id"], "kind": "deep"} if found else None

    def fail(self, order):
        """Fails its test. Returns the wall clock time at which the report was sent."""
        time.sleep(TEST_S)
        self.seq += 1
        cores = [sample(subject=f"cpu:{i}", value=35e9 if i == SLOW else 70e9 + i * 1e8) for i in range(8)]
        sent = time.time()
        if self.c.post(report(self.slow, self.seq, samples=cores, profile="full", order=order), token=TOKEN).status != 202:
            raise SystemExit(f"{self.job}: the report of a test was refused")
        return sent

    def cordon(self):
        return self.kube.audit.cordons(self.slow)

    def cordoned(self):
        """(seconds to its first order, seconds from the last failed test to the PATCH, tests)"""
        began = time.monotonic()
        self.claim([])
        order, tests = self.until(lambda: self.order(AGENT_S), "an order"), 0
        ordered_s = time.monotonic() - began
        while order:
            sent, tests = self.fail(order), tests + 1
            # A third one is ordered if one of the two does not count.
            order = self.until(lambda: self.is_over(tests) or self.order(), "the cordon")
            order = None if order is True else order
        return ordered_s, self.cordon()[0].began - sent, tests

    def is_over(self, tests):
        return tests >= TESTS and bool(self.cordon())


def hosts_of(number):
    return [f"gpu-{number * HOSTS_OF_JOB + i:02d}" for i in range(HOSTS_OF_JOB)]


def start(build, where, kube):
    files = {"policy.yaml": POLICY, "tokens.yaml": f"v: 1\ntokens: [{{sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}, role: admin}}]\n",
             "controller.yaml": f"v: 1\nmode: enforce\npolicy: {where}/policy.yaml\nreport-burst: 100000\nkubernetes: {{young: 0s}}\n"}
    for name, text in files.items():
        with open(os.path.join(where, name), "w") as f:
            f.write(text)
    log = open(os.path.join(where, "controller.log"), "w")
    process = subprocess.Popen([os.path.join(build, "assay-controller"), "--config", f"{where}/controller.yaml", "--tokens", f"{where}/tokens.yaml",
                                "--listen", "127.0.0.1:0", "--db", f"{where}/assay.db", "--cluster", "kubernetes", "--kubeconfig", kube.kubeconfig("ctl")],
                               stdout=subprocess.PIPE, stderr=log, text=True)
    return process, Controller(process, process.stdout.readline().split()[-1], f"{where}/assay.db")


def knows_nodes(c, node):
    return c.call("POST", f"/v1/nodes/{node}/silence", json.dumps({"reason": "ready?", "for": "0s"}).encode(), token=TOKEN).status == 200


def measure(options, where, kube):
    """A list of (seconds to the suspicion, to the order, to the PATCH, tests), one per round."""
    nodes = [node for number in range(options.rounds) for node in hosts_of(number)]
    for node in nodes:
        kube.admin.create_node(node)
    process, c = start(options.build, where, kube)
    done = []
    try:
        if not wait_for(lambda: knows_nodes(c, nodes[0]), LAST_S):
            raise SystemExit("the controller did not see its nodes")
        for node in nodes:
            if c.post(report(node, profile="full"), token=TOKEN).status != 202:
                raise SystemExit("a report was refused")
        for number in range(options.rounds):
            one = Round(c, kube, number)
            suspected_s = one.suspected()
            done.append((suspected_s, *one.cordoned()))
    finally:
        process.terminate()
        process.wait()
        if options.keep:
            shutil.copy(os.path.join(where, "controller.log"), options.keep)
    return done


def figures(values):
    values = sorted(values)
    return {"p50_ms": round(values[len(values) // 2] * 1e3), "p99_ms": round(values[len(values) * 99 // 100] * 1e3),
            "longest_ms": round(values[-1] * 1e3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--keep", metavar="LOG", help="of the controller")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")))
        try:
            kube = stack.enter_context(Server(os.path.join(where, "kube")))
        except Missing as e:
            print(f"bench_investigation: {e}")
            return 0
        done = measure(options, where, kube)
        cordons, refused = [r.name for r in kube.audit.cordons()], kube.audit.refused(CONTROLLER)
    wanted = sorted(hosts_of(number)[SLOW] for number in range(options.rounds))
    said = {what: figures([d[i] for d in done]) for i, what in enumerate(("suspected", "ordered", "cordoned"))}
    print(json.dumps({"rounds": len(done), **said, "third_tests": sum(d[3] > TESTS for d in done), "refused": len(refused)}))
    print(f"from the second window to the suspect: p99 {said['suspected']['p99_ms']} ms of {SUSPECT_P99_MS}; from the last failed test to the PATCH of its "
          f"node: p99 {said['cordoned']['p99_ms']} ms of {CORDON_P99_MS}; {len(done)} times")
    return 0 if sorted(cordons) == wanted and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
