# SPDX-License-Identifier: Apache-2.0
"""RDMA devices without reliable connections (EFA, MANA, iWARP): skipped with one message, without cells that cannot be set up."""
import re
import subprocess
from pathlib import Path

import pytest
from gpu_fixtures import gpu_host, gpu_libraries, gpus, samples_of  # noqa: F401
from guest_steps import needs

LIBRARY = "tests/fakes/verbs/libibverbs.so.1"
WHY = "left out: no reliable connections (like EFA, usNIC, iWARP), which are what is measured here"
LOOPBACK = ["assay-probe-loopback", "--budget", "5s"]
PAIRS = ["assay-probe-rnic-pair", "--budget", "5s"]
ALL = ["assay-probe-all-to-all", "--engine", "verbs", "--budget", "5s"]


@pytest.fixture
def probe(build, run, tmp_path):
    """probe([PROGRAM, ...], "efa_0=efa") is (CompletedProcess, samples) on a host with those devices."""

    def start(program, devices, env=None):
        needs(build, program[0])
        subprocess.run(["make", "-s", "-C", str(build), LIBRARY], check=True, capture_output=True)
        env = env or {"ASSAY_SYSROOT": str(tmp_path)}
        for device in devices.split():
            (Path(env["ASSAY_SYSROOT"]) / "sys/class/infiniband" / device.split("=")[0]).mkdir(parents=True, exist_ok=True)
        libraries = [str(build / "tests/fakes/verbs"), *env.get("LD_LIBRARY_PATH", "").split()]
        done = run(*program, env={**env, "LD_LIBRARY_PATH": ":".join(libraries), "ASSAY_FAKE_VERBS": devices})
        return done, samples_of(done.stdout)

    return start


@pytest.mark.parametrize("program", [LOOPBACK, PAIRS, ALL])
@pytest.mark.parametrize("kind", ["efa", "mana", "iwarp"])
def test_a_host_of_such_devices_alone_is_not_applicable(probe, program, kind):
    done, samples = probe(program, f"rdmap0={kind} rdmap1={kind}")
    assert (done.returncode, samples) == (77, []), done.stderr
    assert f"rdmap0:1 (100 Gb/s), rdmap1:1 (100 Gb/s) {WHY}" in done.stderr


def make_node(root):
    node = root / "sys/devices/system/node"
    (node / "node0").mkdir(parents=True)
    (node / "online").write_text("0\n")
    (node / "node0/cpulist").write_text("0-1\n")
    (node / "node0/meminfo").write_text("Node 0 MemTotal:  4194304 kB\nNode 0 MemFree:  2097152 kB\n")


def test_beside_another_it_has_no_cell(probe, tmp_path):
    make_node(tmp_path)
    done, samples = probe(LOOPBACK, "mlx5_0=roce rdmap0=efa")
    assert samples and {s["subject"].split(":")[0] for s in samples} == {"mlx5_0"}, done.stderr
    assert f"rdmap0:1 (100 Gb/s) {WHY}" in done.stderr


def test_what_uses_gpus_does_not_wait_for_the_driver_to_end_their_contexts(probe, gpus, tmp_path):  # noqa: F811
    """It takes a part of a second for each, one after the other: longer than a probe may take once its samples are out."""
    env = gpus("count=8 closems=3000 clock=1")
    make_node(tmp_path / "gpu-host")
    done, samples = probe(LOOPBACK, "mlx5_0=roce", env)
    assert len({s["subject"] for s in samples if "gpu:" in s["subject"]}) == 8, done.stderr
    assert float(re.search(r"fake GPUs: used for (\S+) s", done.stderr)[1]) < 3, done.stderr


def test_one_that_is_sick_is_none_of_them(probe):
    done, _ = probe(LOOPBACK, "mlx5_0=sick")
    assert "reliable connections" not in done.stderr
