# SPDX-License-Identifier: Apache-2.0
"""The memory that many jobs and hosts cost a controller, compared with one of each in the same run."""
import concurrent.futures
import json

import pytest
from fixtures_controller import controller  # noqa: F401
from test_jobs import build, number, send, summary  # noqa: F401
from test_placement import process, put
from waiting import wait_for

MOST_KIB = 32 * 1024
HOSTS, RANKS = 10, 8  # per job, per host
WINDOWS = ((1300, 1100), (900, 700), (130, 10))  # ages of a job's windows
SENDERS = 4
AT_ONCE = 20  # jobs, and their windows fill the queue
END_S = 60


def peak_kib(c):
    with open(f"/proc/{c.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def name(j):
    return f"research/job-{j:04}"


def place(c, host):
    job, nth = divmod(host, HOSTS)
    told = [process(nth * RANKS + r, ASSAY_JOB=name(job)) for r in range(RANKS)]
    assert put(c, f"gpu-{host:05}", told).status == 200


def trace(j, nth):
    """A trace whose suspect only its host names; the map has a cell per worker."""
    suspect = {"hosts": [], "dp": 3, "stage": 0, "ranks": [24, 31], "class": "compute", "share": number(0.94), "alone": number(0.9),
               "gain": number(0.07), "identifiable": True, "counts": True}
    heat = {"rows": HOSTS, "columns": 1, "row": "dp", "column": "stage", "values": [[1.0 + j / 1e6]] * HOSTS}
    body = json.dumps(summary(ranks=HOSTS * RANKS, hosts=HOSTS, suspects=[suspect], heat=heat, sentence=f"{j}/{nth}"))
    return f"answer {j}/{nth}\n{body}\n".encode()


def submit(c, jobs):
    """Sends all windows of these jobs; retries while the queue is full."""
    def one(window):
        j, nth = window
        assert wait_for(lambda: send(c, trace(j, nth), job=name(j), ages=WINDOWS[nth]).status in (200, 202), END_S)
    with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(one, [(j, nth) for nth in range(len(WINDOWS)) for j in jobs]))
    analysed = (jobs[-1] + 1) * len(WINDOWS)
    assert wait_for(lambda: c.metrics()['assay_windows_total{result="analysed"}'] == analysed, 4 * END_S), c.log()


def load(c, jobs):
    with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(lambda host: place(c, host), range(jobs[0] * HOSTS, (jobs[-1] + 1) * HOSTS)))
    submit(c, jobs)


def look(c):
    """Reads the list of jobs, one job in full, the metrics, and the blame of a host."""
    seen, cursor = [], None
    while cursor or not seen:
        page = c.get("/v1/jobs?limit=100" + (f"&cursor={cursor}" if cursor else "")).json
        seen += page["items"]
        cursor = page.get("next")
    assert c.get(f"/v1/jobs/{seen[-1]['id']}").json["suspects"][0]["placed"]["source"] == "agents"
    assert c.metrics()
    return seen


@pytest.mark.long
@pytest.mark.once
def test_jobs_and_hosts_cost_little_memory(controller, tmp_path, full):  # noqa: F811
    config = tmp_path / "controller.yaml"
    config.write_text("v: 1\nreport-rate: 100000\nreport-burst: 100000\n")
    n = 1000 if full else 60
    c = controller("--config", config)
    load(c, [0])
    look(c)
    without = peak_kib(c)
    for first in range(1, n, AT_ONCE):  # a host's claim is valid for some minutes
        load(c, range(first, min(n, first + AT_ONCE)))
    seen = look(c)
    assert len(seen) == n and {j["state"] for j in seen} == {"suspected"} and {j["windows"] for j in seen} == {len(WINDOWS)}
    assert {j["job"]: j["suspect"] for j in seen} == {name(j): f"gpu-{j * HOSTS + 3:05}" for j in range(n)}
    grown = peak_kib(c) - without
    assert c.stop()[0] == 0
    c = controller("--config", config)
    assert look(c) and peak_kib(c) - without <= MOST_KIB
    print(f"{n} jobs, {n * HOSTS} hosts: {without} KiB and {grown} KiB more, {peak_kib(c) - without} KiB after a restart")
    assert grown <= MOST_KIB
