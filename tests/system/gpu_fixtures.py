# SPDX-License-Identifier: Apache-2.0
"""Hosts with fake GPUs (tests/fakes/gpu_fake.h) for the programs of a build."""
import json
import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

TOGETHER = 8  # programs run in parallel, because they only wait for a call that never returns
LIBRARIES = [f"tests/fakes/gpu/{name}" for name in ("libcuda.so.1", "libcublasLt.so.13", "libnvidia-ml.so.1",
                                                  "libnccl.so.2")]
CLOCK = "tests/fakes/clock_fake.so"
SCALE = "tests/fakes/clock_scale.so"
# Start and teardown times of an HGX host with eight GPUs (gpu_fake.h), and its number of NVLinks.
HGX = "count=8 initms=1500 ctxms=400 ltms=150 firstms=100 closems=250 firsttouch=3000"


def gpu(i):
    """The subject of GPU number `i`."""
    return f"gpu:GPU-face0000-0000-0000-0000-{i:012x}"


@pytest.fixture(scope="session")
def gpu_libraries(build):
    """The directory of the fakes, built."""
    subprocess.run(["make", "-s", "-C", str(build), *LIBRARIES, CLOCK, SCALE], check=True, capture_output=True)
    return build / "tests/fakes/gpu"


@pytest.fixture
def gpu_host(tmp_path):
    """gpu_host(4) is the environment of a host with this many GPUs on its PCI bus; process 4242424, a PID no kernel assigns, runs there."""

    def make(count):
        root = tmp_path / "gpu-host"
        for i in range(count):
            device = root / f"sys/bus/pci/devices/0000:{0x17 + i:02x}:00.0"
            device.mkdir(parents=True, exist_ok=True)
            for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("numa_node", i % 2), ("local_cpulist", "0-1")):
                (device / name).write_text(f"{text}\n")
        process = root / "proc/4242424"
        process.mkdir(parents=True, exist_ok=True)
        (process / "comm").write_text("python3\n")
        return {"ASSAY_SYSROOT": str(root)}

    return make


@pytest.fixture
def gpus(build, configured, gpu_libraries, gpu_host):
    """gpus("count=4 slow=2") is the environment of a host with such GPUs. Its clock is simulated unless real=True,
    or a number: how many times faster than the real clock it runs."""

    def make(settings="", real=False, **replaced):
        words = dict(word.split("=") for word in settings.split())
        env = {**gpu_host(int(words.get("count", 2))), "ASSAY_FAKE_GPUS": settings, "LD_LIBRARY_PATH": str(gpu_libraries)}
        if not real:
            env["LD_PRELOAD"] = str(build / CLOCK)
        elif real is not True:
            env.update(LD_PRELOAD=str(build / SCALE), ASSAY_CLOCK_RATE=str(real))
        if configured("enable-sanitizers"):
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        return {**env, **replaced}

    return make


def functions(top, header, table):
    """{name in the library: (needed, name of the member)} of a table of our prototypes."""
    text = (top / "probes" / header).read_text()
    rows = re.search(rf"#define {table}\(X\)(.*?[^\\])\n", text, re.DOTALL)[1]
    found = re.findall(r"X\(([01]),\s*[\w *]+?,\s*(\w+),\s*(\w+),", rows)
    assert len(found) > 10, header
    return {symbol: (needed == "1", member) for needed, member, symbol in found}


@pytest.fixture
def older_libraries(gpu_libraries, tmp_path):
    """older_libraries("libcuda.so.1", ["cuInit"]) is a directory of the fakes in which that library lacks these functions."""

    def make(library, names):
        place = tmp_path / f"older-{len(list(tmp_path.glob('older-*')))}"
        place.mkdir()
        for file in gpu_libraries.iterdir():
            if file.name != library:
                (place / file.name).symlink_to(file)
        content = (gpu_libraries / library).read_bytes()
        for name in names:
            old = f"\0{name}\0".encode()
            assert old in content, name
            content = content.replace(old, b"\0x" + old[2:])  # never looked up, and its hash matches nothing
        (place / library).write_bytes(content)
        return str(place)

    return make


def left_behind(session):
    """Processes of that session, including zombies."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[3]) == session:  # proc_pid_stat(5): state, ppid, pgrp, session
            found.append((int(pid), fields[0]))
    return found


def run_alone(command, env, timeout=120):
    """(exit status, stdout, stderr, seconds) of a program in its own session, of which no process may be left."""
    start = time.monotonic()
    with subprocess.Popen([str(word) for word in command], env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as program:
        out, err = program.communicate(timeout=timeout)
    assert left_behind(program.pid) == []
    return program.returncode, out, err, time.monotonic() - start


@pytest.fixture
def at_once(build, environ, tmp_path):
    """at_once([(key, program, args, env)], kept=DIR) runs them, TOGETHER at a time, each with its own state directory,
    initially a copy of `kept`. Returns {key: result of run_alone()}."""

    def one(item):
        number, (key, program, args, env, kept) = item
        place = tmp_path / f"at-once-{number}"
        place.mkdir()
        if kept:
            shutil.copytree(kept, place / "state")
        own = {f"ASSAY_{name.upper()}_DIR": str(place / name) for name in ("state", "run")}
        (place / "run").mkdir()
        (place / "state").mkdir(exist_ok=True)
        return key, run_alone([build / program, *args], {**environ, **env, **own})

    def run_all(items, kept=None):
        with ThreadPoolExecutor(TOGETHER) as pool:
            return dict(pool.map(one, enumerate((*item, kept) for item in items)))

    return run_all


def samples_of(text):
    """The samples of a probe; asserts that no two have the same check, subject and code."""
    samples = [json.loads(line) for line in text.splitlines()]
    keys = [(s["check"], s["subject"], s.get("code")) for s in samples]
    assert len(set(keys)) == len(keys), keys
    return samples
