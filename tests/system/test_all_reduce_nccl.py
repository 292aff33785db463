# SPDX-License-Identifier: Apache-2.0
"""assay-probe-all-reduce --engine nccl: processes with fake GPUs and RNICs, one per host, form a group of the fake NCCL."""
import json
import os
import subprocess
from pathlib import Path

import pytest
from collective_fixtures import free_port
from gpu_fixtures import gpu_libraries  # noqa: F401
from guest_steps import needs
from nccl_hosts import PORTS, nccl_host, write  # noqa: F401

pytestmark = pytest.mark.once  # several processes, each with its own fakes
CHECKS = ["all_reduce.nccl_busbw", "all_reduce.nccl_skew", "all_reduce.nccl_correct"]
BUDGET_S = 30


@pytest.fixture
def hosts(build, nccl_host):  # noqa: F811
    """hosts("", "busy=1 pid=4242424") runs a rank for each, with these settings of its fakes: [(exit status, samples, stderr)].

    options: extra arguments of rank n; settings: extra environment of all; counters: ports have counters, the first RNIC's count NCCL's traffic."""
    needs(build, "assay-probe-all-reduce")

    def start(*fakes, options=(), counters=False, **settings):
        peers = ",".join(f"127.0.0.1:{free_port()}" for _ in fakes)
        started = []
        for rank, words in enumerate(fakes):
            env = {**os.environ, **nccl_host(f"node-{rank}", words, counters), **settings}
            root = Path(env["ASSAY_SYSROOT"])
            write(root / "token", "word")
            args = ["--peers", peers, "--rank", str(rank), "--force", "--token-file", str(root / "token"), "--memory", "gpu",
                    "--budget", f"{BUDGET_S}s", *(options[rank] if options else ["--engine", "nccl"])]
            started.append(subprocess.Popen([build / "assay-probe-all-reduce", *args], env=env, text=True, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        ended = [(process, *process.communicate(timeout=2 * BUDGET_S)) for process in started]
        return [(process.returncode, [json.loads(line) for line in out.splitlines()], err) for process, out, err in ended]

    return start


def notes(samples):
    return {s.get("note") for s in samples}


def test_each_rail_is_a_group_of_one_gpu_of_each_host(hosts, tmp_path):
    write(tmp_path / "conf/rdma.yaml", "v: 1\ntclass: 106\ngid_index: 3")
    for status, samples, err in hosts("", "", "", ASSAY_CONF_DIR=str(tmp_path / "conf")):
        assert status == 0, err
        assert [(s["check"], s["subject"], s["state"]) for s in samples] == [(c, f"{p}:1", "measured") for p in PORTS for c in CHECKS]
        assert all(s["params"].items() >= {"engine": "nccl", "version": "nccl 2.28.9", "memory": "gpu", "ranks": 3}.items() for s in samples)
        assert all((s["value"], s["ok"], s["n"]) == (1, True, 2) for s in samples if s["check"] == CHECKS[2])
        assert all(s["value"] > 0 and len(s["w"]) == 8 for s in samples if s["check"] == CHECKS[0])
    told = (tmp_path / "gpus-node-0/told").read_text().splitlines()
    assert {"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "NCCL_IB_TC=106", "NCCL_IB_GID_INDEX=3", "NCCL_ALGO=Ring", "NCCL_PROTO=Simple", "NCCL_NET=IB",
            "NCCL_MNNVL_ENABLE=0"} <= set(told)


def test_a_wrong_sum_is_told_by_who_has_it(hosts):
    for rank, (_, samples, err) in enumerate(hosts("", "wrongsum=1")):
        correct = [s for s in samples if s["check"] == CHECKS[2]]
        assert len(correct) == 2, err
        assert all((s["ok"], "wrong sums; the first is element 1" in s.get("note", "")) == (rank == 0, rank == 1) for s in correct)


def test_a_host_that_dies_is_named_to_the_others(hosts):
    ended = hosts("", "", "leaves=3")
    for status, samples, err in ended[:2]:
        assert status == 1 and {s["state"] for s in samples} == {"aborted"}, err
        assert all(note.startswith("rank 2 (") for note in notes(samples)), notes(samples)


@pytest.mark.parametrize("words, state, note", [
    ("busy=0 pid=4242424", "busy", "pid 4242424 (python3) computes on gpu:"),
    ("nccl=21300", "set-up", "libnccl.so.2 is version 21300; at least 21400 (2.14) is needed"),
    ("init=100", "set-up", "the GPU driver failed to start: CUDA error 100"),
    ("cc=1", "set-up", "confidential computing is on, and keeps RNICs out"),
])
def test_what_a_host_lacks_is_told_by_all_and_blames_nobody(hosts, words, state, note):
    for status, samples, err in hosts("", words):
        assert status == 1 and len(samples) == 2 * len(CHECKS), err
        assert all(s["state"] == state and s["ok"] is None and note in s["note"] for s in samples), samples


def test_all_are_started_with_one_engine(hosts):
    for status, samples, err in hosts("", "", options=[["--engine", "nccl"], ["--engine", "verbs"]]):
        assert status == 1 and {s["state"] for s in samples} == {"set-up"}, err
        assert all("with --engine nccl and" in note and "with verbs: give all hosts the same" in note for note in notes(samples)), samples


def test_data_that_takes_another_port_says_nothing_of_this_one(hosts):
    for status, samples, err in hosts("", "", counters=True):
        assert status == 0, err
        of = {(s["subject"], s["check"]): s for s in samples}
        assert of["mlx5_0:1", CHECKS[0]]["state"] == "measured" and "note" not in of["mlx5_0:1", CHECKS[0]]
        other = of["mlx5_1:1", CHECKS[0]]
        assert (other["state"], other["note"]) == ("set-up", "NCCL sent its data another way: 0 % of it through this port")
        assert of["mlx5_1:1", CHECKS[2]]["ok"] is True


@pytest.mark.parametrize("args, message", [
    (["--engine", "tcp"], "--engine: 'tcp' is neither verbs nor nccl"),
    (["--engine", "nccl"], "--engine nccl: needs --memory gpu"),
])
def test_bad_options_are_refused(run, build, args, message):
    needs(build, "assay-probe-all-reduce")
    done = run("assay-probe-all-reduce", *args)
    assert done.returncode == 2 and message in done.stderr
