# SPDX-License-Identifier: Apache-2.0
"""Hosts whose GPU is not on a visible PCI bus (gVisor, Kata, some containers), and hosts with a GPU of another vendor."""
import json
import shutil

import pytest
from gpu_fixtures import gpu_host, gpu_libraries, gpus  # noqa: F401

GEMM = ["assay-probe-gemm", "--shape", "48,40,56", "--budget", "10s"]
SIGNS = ["dev/nvidiactl", "proc/driver/nvidia/version"]


@pytest.fixture
def hidden(gpus, tmp_path):  # noqa: F811
    """hidden("dev/nvidiactl") is the environment of a host whose GPU shows only by this file."""

    def make(sign):
        env = gpus("count=1")
        root = tmp_path / "gpu-host"
        shutil.rmtree(root / "sys")
        (root / "sys").mkdir()
        (root / sign).parent.mkdir(parents=True, exist_ok=True)
        (root / sign).touch()
        return env

    return make


@pytest.mark.parametrize("sign", SIGNS)
def test_a_gpu_without_pci_is_measured_and_not_the_cpu(run, hidden, sign):
    done = run(*GEMM, env=hidden(sign))
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and {s["params"]["engine"] for s in samples} == {"cuda"}, done.stderr
    assert [s["state"] for s in samples if s["check"] == "gemm.rate"] == ["measured"]
    done = run("assay-probe-memory", "--engine", "cuda", "--size", "16384", env=hidden(sign))
    states = {s["check"]: s["state"] for s in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0 and states["memory.device_bw"] == "measured", done.stderr


@pytest.mark.parametrize("sign", SIGNS)
def test_without_pci_and_a_driver_to_load_nothing_passes(run, hidden, tmp_path, sign):
    env = {**hidden(sign), "LD_LIBRARY_PATH": str(tmp_path)}
    for program in (GEMM, ["assay-probe-memory"]):
        done = run(*program, env=env)
        assert (done.returncode, done.stdout) == (1, "") and "cannot load libcuda.so.1" in done.stderr


@pytest.mark.parametrize("program", [GEMM, ["assay-probe-memory", "--budget", "3s"]])
def test_a_gpu_of_amd_is_one_sentence(run, hidden, program):
    env = hidden("dev/kfd")
    done = run(*program, env=env)
    assert (done.returncode, done.stdout) == (77, "")
    assert "this host has an AMD GPU (/dev/kfd), which Assay cannot measure" in done.stderr and done.stderr.count("\n") == 1
