# SPDX-License-Identifier: Apache-2.0
"""GPUs that are not whole devices behind PCIe: confidential computing, MIG, vGPU, superchips. Each is handled, or skipped with a message."""
import json

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus, samples_of  # noqa: F401

GEMM = ["assay-probe-gemm", "--engine", "cuda", "--shape", "48,40,56", "--budget", "10s"]
MEMORY = ["assay-probe-memory", "--engine", "cuda", "--size", "16384", "--budget", "5s"]
ALL = ["assay-probe-all-to-all", "--size", "262144", "--budget", "10s"]
# Floors above the rate of every fake: comparing with them gives a finding.
SKU = """v: 1
sku: whole
match: {gpu: ["10de:*"]}
expect:
  - {check: gemm.rate, floor: 1e15, unit: FLOP/s, source: a whole GPU}
  - {check: "memory.[hd]2?_bw", floor: 1e15, unit: B/s, source: a whole GPU}
"""


@pytest.fixture
def nodes(tmp_path):
    """Gives the host the NUMA nodes of a superchip: CPU memory is node 0, GPU memory is node 1, which has no CPUs."""

    def make(bare=True):
        base = tmp_path / "gpu-host/sys/devices/system"
        for node, cpus in ((0, "0-1"), (1, "" if bare else "0-1")):
            (base / f"node/node{node}").mkdir(parents=True)
            (base / f"node/node{node}/cpulist").write_text(f"{cpus}\n")
            (base / f"node/node{node}/meminfo").write_text(
                f"Node {node} MemTotal:  4194304 kB\nNode {node} MemFree:  2097152 kB\n")
        (base / "node/online").write_text("0-1\n")
        for file in (tmp_path / "gpu-host/sys/bus/pci/devices").glob("*/numa_node"):
            file.write_text("0\n")

    return make


@pytest.fixture
def probe(run, gpus):  # noqa: F811
    """probe([PROGRAM, ...], "count=2 cc=1") is (CompletedProcess, samples)."""

    def start(program, settings):
        done = run(*program, env=gpus(settings))
        return done, samples_of(done.stdout)

    return start


@pytest.mark.parametrize("program", [GEMM, MEMORY, ALL])
def test_a_gpu_that_others_share_is_left_out_with_one_sentence(probe, program):
    done, samples = probe(program, "count=2 vgpu=1")
    assert (done.returncode, samples) == (77, []), done.stderr
    assert f"{gpu(1)} is a virtual GPU (vGPU), whose speed depends on who else shares it" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("program, check", [(GEMM, "gemm.rate"), (MEMORY, "memory.h2d_bw"), (ALL, "all_to_all.busbw")])
def test_confidential_computing_is_in_the_params_and_stops_nothing(probe, nodes, program, check):
    nodes(bare=False)  # so pinned memory is requested on a node that cannot provide it
    done, samples = probe(program, "count=2 cc=1 copy=500")
    assert done.returncode == 0, done.stderr
    found = [s for s in samples if s["check"] == check]
    assert found and all(s["state"] == "measured" and s["params"]["cc"] == "on" for s in found), found
    assert not [s for s in samples if s["state"] != "measured"]


@pytest.mark.parametrize("program, check", [(GEMM, "gemm.rate"), (MEMORY, "memory.device_bw")])
def test_an_instance_of_mig_says_how_large_it_is(probe, program, check):
    _, samples = probe(program, "count=2 mig=1 copy=500")
    params = {s["subject"]: s["params"] for s in samples if s["check"] == check}
    assert params[gpu(1)]["mig"] == "on" and params[gpu(1)]["sms"] == 8
    assert "mig" not in params[gpu(0)] and "cc" not in params[gpu(0)] and "c2c" not in params[gpu(0)]


@pytest.mark.parametrize("settings, held", [("count=2", True), ("count=2 cc=1", False), ("count=2 mig=1", True)])
def test_no_floor_of_a_whole_gpu_is_held_against_a_share_of_one(run, gpus, script, profiles, tmp_path, build, settings, held):  # noqa: F811
    sku, env = tmp_path / "whole.yaml", gpus(settings)
    sku.write_text(SKU)
    clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"  # only for the probe
    exe = script("gemm", f"exec env {clock} {build}/{' '.join(GEMM[:-2])} \"$@\" --budget 10s\n")
    file = profiles(budget="120s", quick=[{"name": "gemm", "exec": exe, "budget": "110s"}])
    done = run("assay", "run", "--profiles", file, "--sku", sku, "-o", "json", env=env)
    items = [i for i in json.loads(done.stdout)["verdict"]["items"] if i["check"] == "gemm.rate"]
    low = {i["subject"] for i in items if i["verdict"] in ("warn", "fail") and i["source"] == "sku"}
    assert len(items) == 2 and low == ({gpu(0)} if "mig" in settings else {gpu(0), gpu(1)} if held else set()), items


def test_copies_over_c2c_are_called_so_and_cross_no_pcie_link(probe, tmp_path):
    link = tmp_path / "gpu-host/sys/bus/pci/devices/0000:17:00.0"
    link.mkdir(parents=True)
    for name, text in (("current_link_speed", "2.5 GT/s PCIe"), ("max_link_speed", "32.0 GT/s PCIe"), ("current_link_width", "1"),
                       ("max_link_width", "16")):
        (link / name).write_text(f"{text}\n")
    done, samples = probe(MEMORY, "count=1 c2c=1 copy=500")
    copies = [s for s in samples if s["check"] in ("memory.h2d_bw", "memory.d2h_bw")]
    assert done.returncode == 0 and copies, done.stderr
    assert all(s["params"]["c2c"] == "on" and not s.get("path") and "PCIe" not in s.get("note", "") for s in copies)


LEFT_OUT = "numa:1 has memory but no processors, like that of a GPU: it is left out"


def test_memory_of_a_gpu_that_is_a_node_is_no_memory_of_the_host(probe, nodes):
    nodes()
    done, samples = probe(MEMORY, "count=1 c2c=1 copy=500")
    assert done.returncode == 0 and samples, done.stderr
    assert LEFT_OUT in done.stderr
    assert not [s for s in samples if "numa:1" in s["subject"]]
    assert [s for s in samples if "numa:0" in s["subject"] and s["state"] == "measured"]


@pytest.mark.long
def test_processors_do_not_measure_it_either(probe, nodes):
    """Whether they finish does not matter here: their work is real, but the clock is simulated."""
    nodes()
    done, samples = probe(["assay-probe-memory", "--budget", "5s", "--engine", "cpu"], "count=1 c2c=1 copy=500")
    assert LEFT_OUT in done.stderr
    assert not [s for s in samples if "numa:1" in s["subject"]]
