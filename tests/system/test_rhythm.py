# SPDX-License-Identifier: Apache-2.0
"""assay rhythm on fake counters: a job with steps of half a second, one that stops, and a device that does not respond."""
import json
import threading
import time

import pytest
from fake_host import FakeHost
from fake_rnic import IB, FakeRnic
from gpu_fixtures import gpu_host, gpu_libraries, gpus  # noqa: F401

STEP_S, BURST_S, BYTES = 0.5, 0.1, 40_000_000
XMIT = "ports/1/counters/port_xmit_data"


class Job(threading.Thread):
    """Advances the counter of a port like a job: a burst at the end of each step, until it stops."""

    def __init__(self, host, device, stops_s=None):
        super().__init__(daemon=True)
        self.path, self.stops_s, self.over = host.root / f"{IB}/{device}/{XMIT}".lstrip("/"), stops_s, threading.Event()
        self.begin = time.monotonic()
        self.move()

    def total(self, t):
        steps, rest = divmod(t, STEP_S)
        return BYTES * (steps + max(0.0, rest - STEP_S + BURST_S) / BURST_S)

    def move(self):
        t = time.monotonic() - self.begin
        new = self.path.with_suffix(".new")
        new.write_text(f"{int(self.total(min(t, self.stops_s or t)) / 4)}\n")  # in units of four bytes
        new.rename(self.path)

    def run(self):
        while not self.over.wait(0.005):
            self.move()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "gpu-host")


@pytest.fixture
def rhythm(host, run, gpus, top):  # noqa: F811
    def start(*args, settings="count=2", expect=0):
        done = run("assay", "rhythm", "-o", "json", "--every", "20", *args, env={**gpus(settings, real=True), **host.env(top / "policies")})
        assert done.returncode == expect, (done.stdout, done.stderr)
        document = json.loads(done.stdout)
        assert document["format"] == "assay-rhythm/1"
        return {row["name"]: row for row in document["counters"]}, document["missing"]
    return start


def test_the_step_of_a_job_is_seen_without_asking_it(host, rhythm):
    FakeRnic(host)
    with Job(host, "mlx5_0"):
        rows, missing = rhythm("--seconds", "6")
    port, gpu0 = rows["mlx5_0:1"], rows["gpu 0"]
    assert missing == [] and set(rows) == {"mlx5_0:1", "gpu 0", "gpu 1"}
    assert abs(port["period_s"] - STEP_S) < 0.05 * STEP_S and not port["stopped"], port
    assert abs(port["rate"] - BYTES / STEP_S) < 0.2 * BYTES / STEP_S, port
    assert gpu0["unit"] == "busy" and abs(gpu0["rate"] - 0.97) < 0.02 and gpu0["period_s"] is None, gpu0


def test_a_job_that_stopped_is_still(host, rhythm):
    FakeRnic(host)
    with Job(host, "mlx5_0", stops_s=4.0):
        rows, _ = rhythm("--seconds", "7", settings="count=2 idle=1")
    assert rows["mlx5_0:1"]["stopped"] and 2.0 < rows["mlx5_0:1"]["still_s"] < 6.5, rows
    assert rows["gpu 0"]["rate"] == 0


def test_a_call_that_never_comes_back_costs_its_kind_alone(host, rhythm):
    FakeRnic(host)
    with Job(host, "mlx5_0"):
        rows, missing = rhythm("--seconds", "2", settings="count=2 stuck=1 at=nvmlDeviceGetUtilizationRates")
    assert set(rows) == {"mlx5_0:1"} and missing == ["gpu: a read of its counters did not return"]


def test_a_port_that_goes_is_told_with_what_it_showed(host, rhythm):
    rnic = FakeRnic(host)
    with Job(host, "mlx5_0") as job:
        threading.Timer(1.5, lambda: (job.over.set(), job.join(), rnic.remove_counter("counters/port_xmit_data"))).start()
        rows, missing = rhythm("--seconds", "3")
    assert "mlx5_0:1" in rows and len(missing) == 1 and missing[0].startswith("mlx5_0:1: its counter could be read "), (rows, missing)


def test_a_host_without_counters_says_so(rhythm):
    rows, missing = rhythm("--seconds", "1", settings="count=0", expect=1)
    assert rows == {} and missing == ["rnic: this host has no RDMA port with counters", "gpu: NVML tells of no GPU"]


def saved(folder, name, rate=1e9, period=2.0, still=0.1, stopped=False):
    row = {"kind": "rnic", "name": "mlx5_0:1", "unit": "B/s", "rate": rate / 2, "period_s": period, "strength": 0.8, "still_s": still,
           "stopped": stopped, "changed_s": None, "change": None}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"format": "assay-rhythm/1", "seconds": 30, "every_ms": 20, "missing": [],
                                "counters": [row, {**row, "name": "mlx5_1:1", "strength": 0.5}, {**row, "kind": "gpu", "name": "gpu 0"}]}))
    return path


@pytest.mark.parametrize("odd, words", [
    ({}, "6 hosts are alike"),
    ({"rate": 0.7e9}, "gpu-3 sends less per step than the others"),
    ({"period": 2.4}, "gpu-3 takes different steps from the others"),
    ({"still": 20, "stopped": True}, "gpu-3 has stopped, but the others have not"),
])
def test_hosts_are_held_against_each_other(run, tmp_path, odd, words):
    files = [saved(tmp_path, f"gpu-{i}", **(odd if i == 3 else {})) for i in range(6)]
    done = run("assay", "rhythm", "--compare", "-o", "json", *files)
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["sentence"] == words
    assert [h["host"] for h in document["hosts"] if h["differs"]] == (["gpu-3"] if odd else [])
    table = run("assay", "rhythm", "--compare", *files).stdout.splitlines()
    assert table[0] == words and len(table) == 8 and (not odd or table[2].startswith("gpu-3 "))
    few = run("assay", "rhythm", "--compare", *files[:3])
    assert few.stdout.startswith("3 hosts: fewer than 4 cannot show which one differs")


def test_what_is_no_rhythm_is_refused_by_its_name(run, tmp_path):
    good, bad = saved(tmp_path, "gpu-1"), tmp_path / "x.json"
    for text, words in (("{}", "expected the output of assay rhythm -o json"), ("{", "x.json"),
                        ('{"format": "assay-rhythm/1", "counters": []}', "contains no RNIC counter")):
        bad.write_text(text)
        done = run("assay", "rhythm", "--compare", good, bad)
        assert done.returncode == 2 and done.stdout == "" and str(bad) in done.stderr and words in done.stderr
    assert run("assay", "rhythm", "--compare").stderr == "assay rhythm: --compare: which files?\n"


@pytest.mark.parametrize("args, words", [
    (["--seconds", "0"], "--seconds: '0' is not a whole number from 1 to 120"),
    (["--every", "5"], "--every: '5' is not a whole number from 10 to 100"),
    (["--seconds", "1", "--every", "100"], "--seconds 1: fewer than 32 samples of 100 ms"),
    (["--seconds", "120", "--every", "10"], "--every 10: more than 8192 samples in 120 s"),
    (["x"], "unexpected argument 'x'"),
])
def test_wrong_use_is_one_line(run, args, words):
    done = run("assay", "rhythm", *args)
    assert done.returncode == 2 and done.stderr.strip() == f"assay rhythm: {words}" and done.stdout == ""
