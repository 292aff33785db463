# SPDX-License-Identifier: Apache-2.0
"""Which processes make a GPU busy: every compute process except those in policies/gpu-users.yaml, for each probe that checks."""
import json
from pathlib import Path

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

SHAPE = ["--shape", "48,40,56"]
MPS = "nvidia-cuda-mps"  # the kernel keeps 15 characters of a name


@pytest.fixture
def beside(run, gpus):  # noqa: F811
    """beside("Xorg", "count=2 busy=1") runs the probe while process 4242424 has that name. Returns (CompletedProcess, samples)."""

    def start(name, settings, *args, program="assay-probe-gemm", **more):
        env = gpus(f"{settings} pid=4242424", **more)
        proc = Path(env["ASSAY_SYSROOT"]) / "proc"
        (proc / "4242424/comm").write_text(f"{name}\n")
        (proc / "4242425").mkdir()
        (proc / "4242425/comm").write_text("train.py\n")
        done = run(program, *(SHAPE if program == "assay-probe-gemm" else []), *args, env=env)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    return start


def states(samples, check="gemm.rate"):
    return {s["subject"]: (s["state"], s.get("note", "")) for s in samples if s["check"] == check}


@pytest.mark.parametrize("name", [MPS, "nvidia-persiste", "nv-hostengine", "dcgm-exporter", "Xorg"])
def test_who_always_has_the_gpu_is_no_user(beside, name):
    done, samples = beside(name, "count=2 busy=1")
    assert (done.returncode, done.stderr) == (0, "")
    assert {state for state, _ in states(samples).values()} == {"measured"}
    assert not any("4242424" in s.get("note", "") for s in samples)


@pytest.mark.parametrize("name", ["python3", "nv-hostengine2", "nvidia-cuda-mp", "xorg"])
def test_everybody_else_is(beside, name):
    _, samples = beside(name, "count=2 busy=1")
    found = states(samples)
    assert found[gpu(0)][0] == "measured"
    assert found[gpu(1)][0] == "busy" and found[gpu(1)][1].startswith(f"pid 4242424 ({name}) computes on ")


def test_a_client_of_mps_is_a_user_and_the_server_is_not(beside):
    _, samples = beside(MPS, "count=2 busy=1 client=1")
    state, note = states(samples)[gpu(1)]
    assert state == "busy" and note.startswith("pid 4242425 (train.py) computes on ")


def test_the_server_of_mps_is_a_user_where_nobody_tells_of_its_clients(beside):
    _, samples = beside(MPS, "count=2 busy=1 oldmps=1")
    state, note = states(samples)[gpu(1)]
    assert state == "busy" and note.startswith(f"pid 4242424 ({MPS}) computes on ")


@pytest.mark.parametrize("program, check, args", [
    ("assay-probe-memory", "memory.h2d_bw", ["--engine", "cuda", "--size", "16384"]),
    ("assay-probe-all-to-all", "all_to_all.correct", ["--size", "65536", "--set", "quick"]),
])
@pytest.mark.parametrize("name, state", [("nv-hostengine", "measured"), ("python3", "busy")])
def test_every_probe_of_gpus_has_the_same_list(beside, program, check, args, name, state):
    done, samples = beside(name, "count=2 busy=1 copy=500", *args, program=program)
    assert done.returncode == 0, done.stderr
    assert state in {s["state"] for s in samples if s["check"] == check}, samples
    assert state == "busy" or not any(s["state"] == "busy" for s in samples)


def test_the_list_is_a_file_that_a_site_may_change(beside, tmp_path):
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "gpu-users.yaml").write_text("v: 1\nallowed:\n  - {command: site-monitor}\n")
    _, samples = beside("site-monitor", "count=2 busy=1", ASSAY_POLICY_DIR=str(policy))
    assert {state for state, _ in states(samples).values()} == {"measured"}


def test_what_is_wrong_with_it_is_one_line(beside, tmp_path):
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "gpu-users.yaml").write_text("v: 1\nallowed:\n  - {program: x}\n")
    done, samples = beside("python3", "count=2", ASSAY_POLICY_DIR=str(policy))
    assert done.returncode == 2 and not samples and done.stderr.count("\n") == 1
    assert f"{policy}/gpu-users.yaml: allowed[0]" in done.stderr
