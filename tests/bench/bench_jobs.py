#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Windows of jobs analysed per second, the latency of reports meanwhile, and the memory of jobs.

bench_jobs.py BUILD [--seconds S] [--rate N] [--reports N] [--nodes N] [--jobs N] [--hosts N] [--only pace|limit|memory]

Three parts, each with its own controller:

pace    Windows of the size of the published trace AR (dp 4, pp 4, tp 4, 32 micro-batches, 44 steps: 117,216 operations, generated here)
        arrive at --rate per second, each of a different job than the previous one, while a separate program (send_reports.c) sends
        --reports reports per second of --nodes hosts. Measures the time from when a report is due to its acknowledgement, with the
        windows and, just before in the same run, without them.
limit   The maximum of waiting windows (64) is there at once: how many are analysed per second without pacing.
memory  --jobs jobs of --hosts hosts, whose agents report their ranks, and three small windows per job: the additional resident
        memory of the controller compared with one job, at its peak and after a restart.

Targets: 4 analyses per second on two cores with a 99th percentile of at most 500 ms; at most 32 MiB for 1,000 jobs of 10 hosts.
Prints a line of JSON per part. Exit status 1: a target is missed. Other programs on the machine affect the result: `load` is the load
when the part began.
"""
import argparse
import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time

import bench_controller
import bench_watchers

AR = ("dp=4", "pp=4", "tp=4", "mb=32", "steps=44")
AR_OPERATIONS = 117216
SMALL = ("pp=1", "tp=8", "mb=2", "steps=12")
RANKS = 8  # per host of the small jobs
AGES = ((1300, 1100), (900, 700), (130, 10))  # of the windows of a job
QUEUED = 64
SENDERS = 4
ENDS_S = 300
WANTED_RATE, WANTED_P99_MS, WANTED_MIB = 4, 500, 32
DONE = 'assay_windows_total{result="analysed"}'
LOST = ('assay_windows_total{result="rejected"}', 'assay_windows_total{result="failed"}')


def make_trace(build, *shape):
    """A gzip-compressed trace. Like AR it names no hosts: agents report them."""
    made = subprocess.run([build / "tests/attribution/generate", "slow-worker", "1", *shape], check=True, stdout=subprocess.PIPE).stdout
    first, _, rest = made.partition(b"\n")
    meta = json.loads(first)
    for rank in meta["ranks"]:
        rank.pop("node", None)
    return rest.count(b"\n"), gzip.compress(json.dumps(meta).encode() + b"\n" + rest, 6, mtime=0)


def another(trace, number):
    """The same trace with a different digest, by another gzip timestamp."""
    return trace[:4] + struct.pack("<I", number) + trace[8:]


def memory_kib(pid):
    """(now, peak)."""
    with open(f"/proc/{pid}/status") as f:
        found = {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith(("VmRSS", "VmHWM"))}
    return found["VmRSS"], found["VmHWM"]


def cpu_of_children(pid):
    with open(f"/proc/{pid}/stat") as f:
        return sum(int(n) for n in f.read().rpartition(")")[2].split()[13:15]) / os.sysconf("SC_CLK_TCK")


class Sender:
    """One connection."""

    def __init__(self, c):
        self.connection = http.client.HTTPConnection("%s:%d" % c.address, timeout=120)

    def ask(self, method, path, body=None, **headers):
        """(status, text, seconds to wait)."""
        self.connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, text, int(answer.headers.get("Retry-After") or 0)

    def send(self, trace, job, ages):
        return self.ask("POST", f"/v1/traces?job={job}", trace, Assay_First_Step_Age=str(ages[0]), Assay_Last_Step_Age=str(ages[1]))


def fail(what, told):
    sys.exit(f"bench_jobs: {what}: {told}")


def analysed(c):
    found = bench_controller.metrics(c.address)
    lost = {key: found[key] for key in LOST if float(found[key])}
    if lost:
        fail("windows came to nothing", lost)
    return int(float(found[DONE]))


def until_analysed(c, n):
    """Waits until this many are analysed. Returns the time."""
    deadline = time.monotonic() + ENDS_S
    while analysed(c) < n:
        if time.monotonic() > deadline:
            fail("windows are not analysed in time", f"{analysed(c)} of {n}")
        time.sleep(0.02)
    return time.monotonic()


class Windows:
    """Window i is of job i % jobs, so that no job exceeds its limit."""

    def __init__(self, c, trace, n, prefix):
        self.c, self.trace, self.n, self.prefix, self.waits, self.shed = c, trace, n, prefix, [], 0
        self.jobs = -(-n // len(AGES))

    def send(self, sender, i):
        for _ in range(ENDS_S):
            began = time.monotonic()
            status, text, wait = sender.send(another(self.trace, i + 1), f"{self.prefix}/{i % self.jobs}", AGES[i // self.jobs])
            if status == 202:
                self.waits.append(time.monotonic() - began)
                return
            if status not in (429, 503):
                break
            self.shed += 1
            time.sleep(max(wait, 1))
        fail("a window was not taken", (status, text))

    def send_at(self, rate):
        """Sends each when it is due, independent of earlier ones."""
        sender, begin = Sender(self.c), time.monotonic()
        for i in range(self.n):
            time.sleep(max(0, begin + i / rate - time.monotonic()))
            self.send(sender, i)


def part_pace(options, where, trace):
    n = int(options.seconds * options.rate)
    with bench_controller.Controller(options.build, where) as c:
        reports = bench_watchers.Sender(options, where, "%s:%d" % c.address)
        reports.send(options.reports, options.nodes / options.reports)  # all hosts are known
        load = os.getloadavg()[0]
        before = reports.send(options.reports, options.seconds)
        windows = Windows(c, trace, n, "pace")
        own, children = bench_controller.cpu_seconds(c.pid), cpu_of_children(c.pid)
        process, begin = reports.begin(options.reports, options.seconds), time.monotonic()
        thread = threading.Thread(target=windows.send_at, args=(options.rate,))
        thread.start()
        beside = reports.end(process, options.seconds)
        thread.join()
        seconds = until_analysed(c, n) - begin
        own, children = bench_controller.cpu_seconds(c.pid) - own, cpu_of_children(c.pid) - children
    waits = sorted(windows.waits)
    out = {"part": "pace", "load": load, "windows": n, "asked_per_s": options.rate, "analyses_per_s": round(n / seconds, 2),
           "told_to_come_again": windows.shed, "window_taken_p50_ms": round(waits[n // 2] * 1e3, 1),
           "window_taken_p99_ms": round(waits[n * 99 // 100] * 1e3, 1), "analysis_cpu_ms": round(children / n * 1e3, 1),
           "controller_cpu_ms_per_s": round(own / seconds * 1e3), "reports_per_s": round(beside["rate"], 1),
           "report_p50_ms": beside["p50_ms"], "report_p99_ms": beside["p99_ms"], "without_p50_ms": before["p50_ms"],
           "without_p99_ms": before["p99_ms"], "refused": beside["refused"] + before["refused"]}
    return out, out["analyses_per_s"] >= 0.95 * options.rate and beside["p99_ms"] <= WANTED_P99_MS and out["refused"] == 0


def part_limit(options, where, trace):
    with bench_controller.Controller(options.build, where) as c:
        load, windows, begin = os.getloadavg()[0], Windows(c, trace, QUEUED, "limit"), time.monotonic()
        sender = Sender(c)
        for i in range(QUEUED):
            windows.send(sender, i)
        sent = time.monotonic() - begin
        seconds = until_analysed(c, QUEUED) - begin
        children = cpu_of_children(c.pid)
    rate = QUEUED / seconds
    return {"part": "limit", "load": load, "windows": QUEUED, "all_taken_s": round(sent, 2), "analyses_per_s": round(rate, 2),
            "analysis_cpu_ms": round(children / QUEUED * 1e3, 1)}, rate >= WANTED_RATE


def claim(sender, job, nth, hosts):
    processes = [{"start": 1000, "age_s": 3600, "env": {"RANK": str(nth * RANKS + r), "ASSAY_JOB": f"memory/{job}"}} for r in range(RANKS)]
    body = json.dumps({"format": "assay-processes/1", "boot_id": "b1", "processes": processes})
    status, text, _ = sender.ask("PUT", f"/v1/nodes/gpu-{job * hosts + nth:05}/processes", body)
    if status != 200:
        fail("ranks were not taken", (status, text))


def load_jobs(options, c, trace, jobs):
    """Sends the hosts' ranks, then the windows, with a few senders: as many at once as may wait, so that none has to retry."""
    windows = Windows(c, trace, 0, "memory")
    windows.jobs = options.jobs

    def one(job):
        sender = Sender(c)
        for nth in range(options.hosts):
            claim(sender, job, nth, options.hosts)
        for nth in range(len(AGES)):
            windows.send(sender, job + nth * options.jobs)
        sender.connection.close()
    at_once = QUEUED // len(AGES)
    for first in range(jobs[0], jobs[-1] + 1, at_once):
        some = range(first, min(jobs[-1] + 1, first + at_once))
        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(one, some))
        until_analysed(c, (some[-1] + 1) * len(AGES))


def look(c):
    """Reads the list of jobs, and one job in full. Returns their number, and its suspects."""
    sender, seen, cursor = Sender(c), [], ""
    while cursor is not None:
        page = json.loads(sender.ask("GET", f"/v1/jobs?limit=100{cursor}")[1])
        seen += page["items"]
        cursor = f"&cursor={page['next']}" if page.get("next") else None
    json.loads(sender.ask("GET", f"/v1/jobs/{seen[-1]['id']}")[1])
    bench_controller.metrics(c.address)
    return seen


def part_memory(options, where, _):
    _, trace = make_trace(options.build, f"dp={options.hosts}", *SMALL)
    load = os.getloadavg()[0]
    with bench_controller.Controller(options.build, where) as c:
        load_jobs(options, c, trace, [0])
        look(c)
        now, peak = memory_kib(c.pid)
        load_jobs(options, c, trace, range(1, options.jobs))
        seen = look(c)
        grown, at_most = (after - before for after, before in zip(memory_kib(c.pid), (now, peak)))
    with bench_controller.Controller(options.build, where) as c:
        again = look(c)
        restarted = memory_kib(c.pid)[1] - peak
    if len(seen) != options.jobs or len(again) != options.jobs:
        fail("jobs are missing", (len(seen), len(again)))
    suspects = {job["suspect"] for job in seen}
    most = max(at_most, restarted)
    return {"part": "memory", "load": load, "jobs": options.jobs, "hosts": options.jobs * options.hosts, "first_job_mib": round(now / 1024, 1),
            "more_mib": round(grown / 1024, 1), "more_at_peak_mib": round(at_most / 1024, 1), "more_after_restart_mib": round(restarted / 1024, 1),
            "bytes_a_job": round(most * 1024 / options.jobs), "suspects": len([s for s in suspects if s and re.match("gpu-", s)])}, most <= WANTED_MIB * 1024


PARTS = {"pace": part_pace, "limit": part_limit, "memory": part_memory}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rate", type=float, default=WANTED_RATE)
    parser.add_argument("--reports", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    options.build = options.build.resolve()
    subprocess.run(["make", "-s", "-C", options.build, "tests/attribution/generate", "tests/bench/send_reports"], check=True, stdout=subprocess.DEVNULL)
    operations, trace = make_trace(options.build, *AR)
    if operations != AR_OPERATIONS:
        fail("the trace is not as large as AR", operations)
    good = True
    for name, part in PARTS.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(dir=os.environ.get("ASSAY_BENCH_DIR")) as where:
                out, holds = part(options, pathlib.Path(where), trace)
            print(json.dumps({"bench": "jobs", **out, "holds": holds}), flush=True)
            good &= holds
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
