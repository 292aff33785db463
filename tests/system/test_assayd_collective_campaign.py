# SPDX-License-Identifier: Apache-2.0
"""The controller, several assayds and collective probes with default settings: which hosts are good, and which are left out."""
import fcntl
import json
import os
import random

import pytest
from collective_fixtures import fake_probes, host  # noqa: F401
from conftest import sample
from fixtures_controller import controller  # noqa: F401
from gpu_fixtures import gpu_libraries  # noqa: F401
from nccl_hosts import nccl_host  # noqa: F401

NAMES = ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]


@pytest.fixture
def addresses():
    """A separate loopback address for each host, so all can listen on the default port."""
    dice = random.Random(os.urandom(8))
    return {name: f"127.{dice.randrange(1, 255)}.{dice.randrange(256)}.{i + 1}" for i, name in enumerate(NAMES)}


@pytest.fixture
def fleet(controller, host, addresses, run, says, profiles, wait_until, tmp_path):
    """fleet(timeout) has four hosts below one switch that passed their own tests; .play(c) runs a campaign and returns its final state.

    dress(name): the environment of a host with the real probes."""
    hosts = {}

    def start(timeout="1m", dress=None):
        (tmp_path / "neighbors.yaml").write_text(json.dumps(
            {"v": 1, "switches": [{"name": "leaf-1", "nodes": ["gpu-*"]}], "addresses": addresses}))
        (tmp_path / "controller.yaml").write_text(json.dumps(
            {"v": 1, "collectives": {"address": "file", "file": str(tmp_path / "neighbors.yaml"), "timeout": timeout}}))
        c = controller("--config", tmp_path / "controller.yaml")
        url, quick = f"http://127.0.0.1:{c.port}", profiles(quick=[{"name": "p", "exec": says("p", sample())}])
        for name in NAMES:
            more = {"env": dress(name), "probes": None} if dress else {}
            one = hosts[name] = host(name, controller=url, collectives={}, **more)
            run("assay", "run", "--profiles", quick, "--report", env=one.env)
        wait_until(lambda: all(c.get(f"/v1/nodes/{n}").json.get("connection") == "connected" for n in NAMES))
        wait_until(lambda: all(c.get(f"/v1/nodes/{n}").json["profile"] == "quick" for n in NAMES))
        return c

    def play(c, **more):
        answer = c.call("POST", "/v1/campaigns", json.dumps({"reason": "a job was slow", "domain": "leaf-1", **more}).encode())
        assert answer.status == 202, answer.body
        path = f"/v1/campaigns/{answer.json['id']}"
        wait_until(lambda: c.get(path).json["state"] != "running", what="the end of the campaign")
        return c.get(path).json

    start.play, start.hosts = play, hosts
    return start


def groups_of(campaign):
    return [g for r in campaign["rounds"] for g in r["groups"]]


@pytest.mark.long
def test_good_hosts_are_found_good_and_none_is_named(fleet):
    done = fleet.play(fleet())
    assert done["state"] == "done" and all(g["state"] == "measured" for g in groups_of(done)) and not done["blames"], done


def test_a_host_that_is_busy_is_left_out_and_blames_nobody(fleet):
    c = fleet(timeout="20s")
    with open(fleet.hosts["gpu-1"].root / "run" / "active.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = fleet.play(c)
    assert done["state"] == "done" and not [b for b in done["blames"] if b["kind"] != "undecided"], done
    (left_out,) = [n for n in done["nodes"] if n["gone"]]
    assert left_out["node"] == "gpu-1" and "active.lock" in left_out["why"], left_out
    # Each of the others was measured with another host.
    measured = {n for g in groups_of(done) if g["state"] == "measured" for n in g["nodes"]}
    assert measured == {"gpu-0", "gpu-2", "gpu-3"}, done


def test_gpus_of_the_hosts_are_measured_by_nccl_and_one_without_it_blames_nobody(fleet, nccl_host, wait_until):  # noqa: F811
    """The real probe on fake GPUs, RNICs and NCCL."""
    def dress(name):
        env = nccl_host(name, "nccl=21300" if name == "gpu-2" else "")
        return {k: v for k, v in env.items() if k not in ("ASSAY_RUN_DIR", "ASSAY_STATE_DIR", "ASSAY_NODE")}  # assayd has its own

    c = fleet(dress=dress)
    done = fleet.play(c, memory="gpu", engine="nccl")
    assert done["state"] == "done" and done["check"] == "all_reduce.nccl_busbw" and not [b for b in done["blames"] if b["kind"] != "undecided"], done
    for group in groups_of(done):
        if "gpu-2" in group["nodes"]:
            assert group["state"] == "not-run" and "libnccl.so.2 is version 21300; at least 21400 (2.14) is needed" in group["why"], group
        else:
            assert group["state"] == "measured" and len(group["rails"]) == 2 and group["value"] > 0, group
    measured = {n for g in groups_of(done) if g["state"] == "measured" for n in g["nodes"]}
    assert measured >= {"gpu-0", "gpu-1", "gpu-3"}, done
