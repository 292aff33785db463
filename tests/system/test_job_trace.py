# SPDX-License-Identifier: Apache-2.0
"""The traces that scripts/quickstart job sends (tests/fleet/job_trace.py): injected faults are found, under realistic conditions."""
import json
import statistics
import subprocess

import pytest

pytestmark = pytest.mark.once


@pytest.fixture
def attribute(top, run, tmp_path):
    """attribute("--dp", "8", ...) -> (the lines of the trace, the output of assay-attribute)"""

    def start(*words):
        path = tmp_path / "trace.jsonl"
        with path.open("w") as out:
            subprocess.run([top / "tests/fleet/job_trace.py", "--job", "a/b", *words], stdout=out, check=True, timeout=60)
        done = run("assay-attribute", path, "-o", "json")
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in path.read_text().splitlines()], json.loads(done.stdout)

    return start


def test_the_slow_host_is_the_slowest_worker_and_the_rest_is_good_silicon(attribute):
    (meta, *operations), said = attribute("--dp", "8", "--pp", "2", "--seed", "4", "--slow", "gpu-11")
    assert {op["step"] for op in operations} == set(range(100, 120))
    host_of = {r["rank"]: r["node"] for r in meta["ranks"]}
    assert sorted(host_of.values()) == [f"gpu-{i:02d}" for i in range(16)] and host_of[88] == "gpu-11"
    seconds = {}
    for op in operations:
        if op["optype"] == "forward-compute":
            seconds.setdefault(host_of[op["rank"]], []).append(op["duration"])
    pace = {host: statistics.mean(values) for host, values in seconds.items()}
    assert max(pace, key=pace.get) == "gpu-11"
    assert 1.07 < said["S"] < 1.13, "10 % slower than silicon that spreads itself"
    assert 0.02 < statistics.stdev(v for host, v in pace.items() if host != "gpu-11") / statistics.mean(pace.values()) < 0.05


def test_good_silicon_spreads_by_what_is_said(attribute):
    (meta, *operations), _ = attribute("--dp", "256", "--pp", "1", "--steps", "3")
    seconds = {}
    for op in operations:
        if op["optype"] == "backward-compute":
            seconds.setdefault(op["rank"], []).append(op["duration"])
    pace = [statistics.mean(values) for values in seconds.values()]
    assert len(pace) == len(meta["ranks"]) == 256
    assert 0.030 < statistics.stdev(pace) / statistics.mean(pace) < 0.038


def test_sequences_are_the_jobs_own_doing(attribute):
    _, said = attribute("--dp", "4", "--pp", "2", "--seed", "3", "--first-host", "16", "--sequences")
    assert said["primary"] == "seqlen"


def test_the_two_hosts_of_a_slow_link_are_suspects_by_it(attribute):
    _, said = attribute("--dp", "4", "--pp", "2", "--steps", "12", "--slow-link", "gpu-02,gpu-06")
    assert [(s["hosts"], s["class"], s["counts"]) for s in said["suspects"]] == [(["gpu-02"], "link", True), (["gpu-06"], "link", True)]
