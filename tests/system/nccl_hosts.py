# SPDX-License-Identifier: Apache-2.0
"""Hosts of fake GPUs and RNICs whose processes form groups of the fake NCCL."""
import os
import subprocess
from pathlib import Path

import pytest

VERBS = "tests/fakes/verbs/libibverbs.so.1"
GPUS, PORTS = 2, ["mlx5_0", "mlx5_1"]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def make_host(root, counters):
    """GPUs and RNICs on one node; the first RNIC's port counters count the traffic."""
    for i in range(GPUS):
        for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("numa_node", 0), ("local_cpulist", "0-1")):
            write(root / f"sys/bus/pci/devices/0000:{0x17 + i:02x}:00.0/{name}", text)
    node = root / "sys/devices/system/node"
    write(node / "online", "0")
    write(node / "node0/cpulist", "0-1")
    write(node / "node0/meminfo", "Node 0 MemTotal: 4194304 kB\nNode 0 MemFree: 2097152 kB")
    write(root / "proc/4242424/comm", "python3")
    write(root / "proc/sys/kernel/random/boot_id", Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    for port in PORTS:
        (root / f"sys/class/infiniband/{port}/ports/1").mkdir(parents=True)
        for name in ("port_xmit_data", "port_rcv_data") if counters else ():
            write(root / f"sys/class/infiniband/{port}/ports/1/counters/{name}", 0)
    for name in ("run", "state"):
        (root / name).mkdir()


@pytest.fixture
def nccl_host(build, gpu_libraries, configured, tmp_path):
    """nccl_host("a", "busy=1 pid=4242424") creates a host whose fakes have these settings. Returns the environment for its probes.

    counters: its ports have counters, and the first RNIC's count NCCL's traffic."""
    subprocess.run(["make", "-s", "-C", str(build), VERBS], check=True, capture_output=True)

    def make(name, words="", counters=False):
        root = tmp_path / f"gpus-{name}"
        make_host(root, counters)
        env = {"ASSAY_SYSROOT": str(root), "ASSAY_RUN_DIR": str(root / "run"), "ASSAY_STATE_DIR": str(root / "state"),
               "ASSAY_FAKE_GPUS": f"count={GPUS} {words}", "ASSAY_FAKE_VERBS": " ".join(f"{port}=roce" for port in PORTS),
               "LD_LIBRARY_PATH": f"{gpu_libraries}:{(build / VERBS).parent}", "ASSAY_FAKE_NCCL_HOSTS": str(tmp_path),
               "ASSAY_FAKE_NCCL_TOLD": str(root / "told"), "ASSAY_NODE": name,
               "ASSAY_FAKE_NCCL_COUNTERS": str(root / "sys/class/infiniband/mlx5_0/ports/1/counters") if counters else ""}
        if configured("enable-sanitizers"):
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        return env

    return make
