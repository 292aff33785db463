# SPDX-License-Identifier: Apache-2.0
"""The ranks on a host: assayd finds them by the processes that have its GPUs open, and sends nothing else about them."""
import contextlib
import json
import os
import sqlite3
import subprocess

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Answer
from fixtures_controller import controller  # noqa: F401
from waiting import wait_for

CANARY = "canary-51f0c6e2a9"
BOOT = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def tree(tmp_path):
    """A fake host with two GPUs."""
    root = tmp_path / "tree"
    (root / "dev" / "infiniband").mkdir(parents=True)
    for name in ("nvidia0", "nvidia1", "nvidiactl", "infiniband/uverbs0"):
        (root / "dev" / name).touch()
    (root / "proc" / "sys" / "kernel" / "random").mkdir(parents=True)
    (root / "proc" / "sys" / "kernel" / "random" / "boot_id").write_text(BOOT + "\n")
    return root


def environment(process):
    with open(f"/proc/{process.pid}/environ", "rb") as file:
        return file.read()


@pytest.fixture
def holder(tree):
    """holder("nvidia0", RANK=3) is a process that has the device open; all are killed at the end."""
    running = []

    def start(device, **env):
        held = os.open(tree / "dev" / device, os.O_RDONLY)
        process = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], **{k: str(v) for k, v in env.items()}},
                                   pass_fds=[held])
        os.close(held)
        running.append(process)
        assert wait_for(lambda: environment(process))  # the kernel shows it a moment after the program has started
        return process

    def stop(process):
        process.kill()
        process.wait()

    start.stop = stop
    yield start
    for process in running:
        stop(process)


@pytest.fixture
def told(stub):
    """The received lists of processes, in order."""
    came = []

    def on_processes(body):
        came.append(body)
        return Answer(*told.answer)

    def told():
        return [json.loads(body) for body in came]

    told.bytes = came
    told.answer = (200, {"processes": 1})
    stub.on_processes = on_processes
    return told


def envs(message):
    return sorted((p["env"] for p in message["processes"]), key=json.dumps)


def written(tmp_path):
    """The contents of all files in assayd's directories, and its log."""
    return b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_the_ranks_that_hold_a_gpu_are_told_and_no_secret_of_theirs(assayd, stub, told, holder, tree, tmp_path):
    secrets = {"AWS_SECRET_ACCESS_KEY": CANARY, "RANK_TOKEN": CANARY, "PASSWORD": f"x{CANARY}", "LONG": CANARY * 5000}
    holder("nvidia0", RANK=3, LOCAL_RANK=1, WORLD_SIZE=16, ASSAY_JOB="research/llm-7", ASSAY_RUN=2, **secrets)
    holder("nvidia1", SLURM_PROCID=4, SLURM_JOB_ID="77", SLURM_RESTART_COUNT=0, RANK=CANARY, ASSAY_JOB=f"{CANARY}!", **secrets)
    holder("nvidia0", RANK=9, **secrets)                                  # of no job
    holder("nvidia0", ASSAY_JOB="a", **secrets)                           # without a rank
    holder("infiniband/uverbs0", RANK=5, ASSAY_JOB="a", **secrets)        # no GPU
    subject = holder("nvidia1", RANK=3, LOCAL_RANK=1, WORLD_SIZE=16, ASSAY_JOB="research/llm-7", ASSAY_RUN=2,
                     TOKEN=CANARY)  # like a fork of the first
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    assert wait_for(told), daemon.log()
    (message,) = told()
    assert message["format"] == "assay-processes/1" and message["boot_id"] == BOOT
    assert envs(message) == sorted([
        {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "16", "ASSAY_JOB": "research/llm-7", "ASSAY_RUN": "2"},
        {"SLURM_PROCID": "4", "SLURM_JOB_ID": "77", "SLURM_RESTART_COUNT": "0"}], key=json.dumps)
    assert all(set(p) <= {"start", "age_s", "env", "pod"} and 0 <= p["age_s"] < 600 for p in message["processes"])
    assert all(CANARY.encode() not in body for body in told.bytes)
    assert CANARY.encode() not in written(tmp_path)
    assert subject.poll() is None
    # The search does find the canary where it is.
    assert CANARY.encode() in environment(subject)


@pytest.mark.long
@pytest.mark.once
def test_what_changes_is_told_and_what_does_not_is_not(assayd, told, holder, tree):
    first = holder("nvidia0", RANK=0, ASSAY_JOB="a")
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    assert wait_for(lambda: len(told()) == 1), daemon.log()
    second = holder("nvidia1", RANK=1, ASSAY_JOB="a")
    daemon.send_signal(1)  # a reload, which scans again
    assert wait_for(lambda: len(told()) == 2), daemon.log()
    assert [e["RANK"] for e in envs(told()[1])] == ["0", "1"]
    assert min(p["start"] for p in told()[1]["processes"]) == told()[0]["processes"][0]["start"]
    holder.stop(first)
    holder.stop(second)
    # Within a minute, on its own.
    assert wait_for(lambda: len(told()) == 3, 150), daemon.log()
    assert told()[2]["processes"] == []


def test_a_host_without_ranks_says_so_once_and_an_older_controller_is_left_alone(assayd, stub, spool, told, holder, tree):
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    spool(1)
    assert wait_for(lambda: stub.came and told()), daemon.log()
    assert [one["processes"] for one in told()] == [[]]  # a previous assayd may have reported some
    told.answer = (404, {"title": "Not Found", "detail": "no such path"})
    holder("nvidia0", RANK=0, ASSAY_JOB="a")
    daemon.send_signal(1)
    assert wait_for(lambda: "cannot tell the controller which ranks run here" in daemon.log()), daemon.log()
    spool(2)
    assert wait_for(lambda: 2 in stub.came), daemon.log()
    assert len(told()) == 2


def test_a_controller_keeps_what_is_told_and_no_more(assayd, config, controller, holder, tree, tmp_path):
    c = controller()
    config(controller=f"http://{c.host}:{c.port}")
    holder("nvidia0", RANK=3, ASSAY_JOB="research/llm-7", ASSAY_RUN=2, TOKEN=CANARY)
    holder("nvidia1", RANK=4, ASSAY_JOB="research/llm-7", ASSAY_RUN=2, TOKEN=CANARY)
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    assert wait_for(lambda: "ranks sent n=2" in daemon.log()), daemon.log()
    c.kill()
    with contextlib.closing(sqlite3.connect(f"file:{c.db}?mode=ro", uri=True)) as db:
        kept = sorted(db.execute("SELECT job, run, rank, node, boot_id, until_us FROM placements"))
    assert kept == [("research/llm-7", 2, rank, NODE, BOOT, None) for rank in (3, 4)]
    assert CANARY.encode() not in written(tmp_path)
