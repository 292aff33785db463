# SPDX-License-Identifier: Apache-2.0
"""Hosts with GPUs that are fakes (tests/fakes/gpu_fake.h), for the programs of a build."""
import os
import subprocess

import pytest

LIBRARIES = [f"tests/fakes/gpu/{name}" for name in ("libcuda.so.1", "libcublasLt.so.13", "libnvidia-ml.so.1",
                                                  "libnccl.so.2")]
CLOCK = "tests/fakes/clock_fake.so"


def gpu(i):
    """The subject of GPU number `i`."""
    return f"gpu:GPU-face0000-0000-0000-0000-{i:012x}"


@pytest.fixture(scope="session")
def gpu_libraries(build):
    """The directory of the fakes, made."""
    subprocess.run(["make", "-s", "-C", str(build), *LIBRARIES, CLOCK], check=True, capture_output=True)
    return build / "tests/fakes/gpu"


@pytest.fixture
def gpu_host(tmp_path):
    """gpu_host(4) is the environment of a host whose PCI bus shows so many GPUs; process 4242 runs there."""

    def make(count):
        root = tmp_path / "gpu-host"
        for i in range(count):
            device = root / f"sys/bus/pci/devices/0000:{0x17 + i:02x}:00.0"
            device.mkdir(parents=True, exist_ok=True)
            for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("numa_node", i % 2), ("local_cpulist", "0-1")):
                (device / name).write_text(f"{text}\n")
        process = root / "proc/4242"
        process.mkdir(parents=True, exist_ok=True)
        (process / "comm").write_text("python3\n")
        return {"ASSAY_SYSROOT": str(root)}

    return make


@pytest.fixture
def gpus(build, configured, gpu_libraries, gpu_host):
    """gpus("count=4 slow=2") is the environment of a host with such GPUs; its clock passes without waiting unless real=True."""

    def make(settings="", real=False, **replaced):
        words = dict(word.split("=") for word in settings.split())
        env = {**gpu_host(int(words.get("count", 2))), "ASSAY_FAKE_GPUS": settings, "LD_LIBRARY_PATH": str(gpu_libraries)}
        if not real:
            env["LD_PRELOAD"] = str(build / CLOCK)
        if configured("enable-sanitizers"):
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        return {**env, **replaced}

    return make
