# SPDX-License-Identifier: Apache-2.0
"""A state directory without space, without inodes, or read-only: no good file is replaced, one line is logged, and it recovers."""
import json
import os
import re
import subprocess

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, stub  # noqa: F401
from conftest import sample

KIB = 1024
SMALL, MANY = "size=256k,nr_inodes=200", "size=16m,nr_inodes=40"


class Disk:
    """The state directory on a small separate file system."""

    def __init__(self, path):
        self.path = path

    def mount(self, options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.path)], check=True)

    def fill(self, names=False):
        """Uses up all bytes, or all inodes."""
        for n in range(100000):
            try:
                with open(self.path / f"filler{n}", "wb", buffering=0) as f:
                    while not names:
                        f.write(b"x" * 4096)
            except OSError as e:
                if e.errno == 28:
                    return
                raise
        raise AssertionError("the disk is not full")

    def clear(self):
        for path in self.path.glob("filler*"):
            path.unlink()

    def files(self):
        """Names and contents of the files that readers open; fails on a truncated file."""
        found = {}
        for name in ("verdict.json", "seq", "history.jsonl"):
            if (self.path / name).exists():
                found[name] = (self.path / name).read_text()
        for path in [*self.path.glob("last/*.json"), *self.path.glob("spool/*.json")]:
            found[str(path.relative_to(self.path))] = path.read_text()
        for name, text in found.items():
            for line in text.splitlines() or [""]:
                json.loads(line)
            assert text, name
        return found


@pytest.fixture
def disk(tmp_path, environ):
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small file system")
    disk = Disk(tmp_path / "state")
    yield disk
    subprocess.run(["umount", "-l", str(disk.path)], capture_output=True, check=False)


@pytest.fixture
def measure(run, says, profiles):
    """measure() runs `assay run --report` once. Returns the CompletedProcess and the report's seq."""
    rates = [sample("gemm.rate", f"cpu:{i}", 70e9 + i * 1e8, unit="FLOP/s", note="x" * 400) for i in range(8)]
    file = profiles(quick=[{"name": "gemm", "exec": says("probe", *rates), "active": False}])

    def once():
        out = run("assay", "run", "--profile", "quick", "--profiles", file, "--report", "-o", "json", env={"ASSAY_NODE": NODE})
        return out, json.loads(out.stdout)["report"]["seq"]

    return once


def problems(out):
    return [(p["probe"], p["code"]) for p in json.loads(out.stdout)["report"]["problems"]]


def break_disk(disk, how):
    disk.remount("ro") if how == "read-only" else disk.fill(names=how == "names")


def mend_disk(disk, how):
    disk.remount("rw") if how == "read-only" else disk.clear()


HOW = {"bytes": (SMALL, "No space left"), "names": (MANY, "No space left"), "read-only": (SMALL, "Read-only")}


@pytest.mark.parametrize("how", HOW)
def test_without_room_the_old_stays_whole_and_one_line_says_so(disk, measure, run, how):
    disk.mount(HOW[how][0])
    used = []
    for _ in range(2):
        out, seq = measure()
        assert out.returncode == 0 and out.stderr == ""
        used.append(seq)
    for path in disk.path.glob("spool/*.json"):
        path.unlink()  # as if sent: no report left to drop for space
    before = disk.files()
    break_disk(disk, how)
    for _ in range(2):
        out, seq = measure()
        assert out.returncode == 3, "a report that was not kept is not a good run"
        assert out.stderr.count("\n") == 1 and HOW[how][1] in out.stderr and str(disk.path) in out.stderr, out.stderr
        assert problems(out) == [("state", "set-up")]
        assert seq == 0 or seq > max(used)
        used.append(seq)
    now = disk.files()
    assert now["verdict.json"] == before["verdict.json"] and set(now) == set(before)
    assert json.loads(run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE}).stdout)["answer"] == "ok"
    mend_disk(disk, how)
    out, seq = measure()
    assert out.returncode == 0 and out.stderr == "" and seq > max(used)
    after = disk.files()
    assert f"spool/{seq}.json" in after and json.loads(after["verdict.json"])["seq"] == seq
    assert not list(disk.path.rglob("*.tmp"))


@pytest.mark.some(1)
@pytest.mark.once
@pytest.mark.parametrize("how", ["bytes", "names"])
def test_reports_that_passed_make_room_for_the_verdict_and_for_newer_ones(disk, measure, how):
    """An outage fills a small disk: the oldest are dropped first, and their number is logged."""
    disk.mount(HOW[how][0])
    last, lost, told = 0, 0, 0
    for _ in range(60):
        out, seq = measure()
        assert out.returncode == 0 and seq > last, out.stderr
        last = seq
        for n in re.findall(r"the spool is full: (\d+) older report", out.stderr):
            lost += int(n)
        files = disk.files()
        assert f"spool/{seq}.json" in files and json.loads(files["verdict.json"])["seq"] == seq
        told = json.loads(files[f"spool/{seq}.json"]).get("lost", 0)
    left = sorted(int(p.stem) for p in disk.path.glob("spool/*.json"))
    assert lost > 0 and len(left) + lost == 60
    assert left == list(range(left[0], last + 1)), "the oldest went first"
    assert 0 < told <= lost


@pytest.mark.parametrize("how", HOW)
def test_assayd_stays_up_and_sends_what_it_can(disk, run, measure, assayd, config, stub, wait_until, how):
    disk.mount(HOW[how][0])
    config(controller=stub.url)
    sent = [measure()[1] for _ in range(3)]
    break_disk(disk, how)
    stub.orders = [{"id": "1", "kind": "opinion", "now": "2026-11-21T00:00:00Z", "opinion": {
        "verdict": "fail", "expires": "2026-11-22T00:00:00Z", "sentence": "the fleet says so"}}]
    daemon = assayd()
    if how == "read-only":  # a report that cannot be removed is not sent repeatedly
        wait_until(lambda: "opinion could not be stored" in daemon.log(), what=daemon.log())
        wait_until(lambda: "reports wait" in daemon.log(), what=daemon.log())
    else:
        wait_until(lambda: stub.seqs() == sent, what=daemon.log())
        wait_until(lambda: not list(disk.path.glob("spool/*.json")), what=daemon.log())
    assert daemon.poll() is None
    mend_disk(disk, how)
    sent.append(measure()[1])
    wait_until(lambda: stub.seqs() == sent, what=daemon.log())
    wait_until(lambda: not list(disk.path.glob("spool/*.json")), what=daemon.log())
    wait_until(lambda: json.loads(run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE}).stdout)["answer"] == "bad")
    assert daemon.log().count("opinion could not be stored") <= 1
    assert daemon.poll() is None and sorted(set(stub.came)) == sent
