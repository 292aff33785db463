# SPDX-License-Identifier: Apache-2.0
"""assay-probe-gemm on the cores of this machine: its samples, its messages, and a competitor for a core."""
import json
import math
import os
import re
import subprocess
import sys

import pytest

KEYS = {"v", "check", "subject", "value", "unit", "better", "ok", "state", "from", "to", "class", "path", "params",
        "with", "code", "n", "min", "max", "stddev", "p50", "p99", "w", "start", "seconds", "severity", "note"}
STATES = {"measured", "busy", "foreign-traffic", "set-up", "timeout", "aborted"}
SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
try:
    os.nice(-10)  # others may use this machine too: this one shall be the busiest
except PermissionError:
    pass
print("ready", flush=True)
while True:
    pass
"""


@pytest.fixture(autouse=True)
def built(run):
    if "this build has no CPU engine" in run("assay-probe-gemm", "--engine", "cpu", "--budget", "1s").stderr:
        pytest.skip("the CPU engine is not built: no cblas")


@pytest.fixture
def gemm(run):
    """gemm("--option", ...) runs the probe on the CPU engine and returns (CompletedProcess, samples)."""

    def start(*args, **kwargs):
        done = run("assay-probe-gemm", "--engine", "cpu", *args, **kwargs)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    return start


@pytest.fixture
def competitor():
    """competitor(cpu) is a process that uses this core during the test."""
    started = []

    def start(cpu):
        process = subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.communicate()


def check_sample(s):
    """Checks the rules of docs/formats.md for samples, and this probe's own."""
    assert s["v"] == 1 and set(s) <= KEYS and s["state"] in STATES
    assert s["subject"].startswith("cpu:") and s["class"] == "self"
    assert (s["check"], s["unit"], s["better"]) in {("gemm.rate", "FLOP/s", "higher"), ("gemm.correct", "1", "lower")}
    assert {"engine", "dtype", "shape", "version", "algorithm"} <= set(s["params"])
    assert s["start"] > 1.6e9 and s["seconds"] >= 0
    assert s["seconds"] > 0 or s["state"] != "measured"  # a core that was already in use is skipped at once
    if s["state"] != "measured":
        assert s["value"] is None and s["ok"] is None and s["note"]
    elif s["check"] == "gemm.rate":
        assert math.isfinite(s["value"]) and s["value"] > 0 and s["ok"] is None
        assert 8 <= len(s["w"]) <= 32 and s["n"] >= 8 and s["min"] <= s["p50"] == s["value"] <= s["max"]
    else:
        assert (s["value"], s["ok"]) == (0, True) and s["n"] >= 1, s.get("note")


def rates(samples):
    return {s["subject"]: s for s in samples if s["check"] == "gemm.rate"}


TRIES = 5  # runs disturbed by others


def undisturbed(gemm, *args, but=None, **kwargs):
    """A run in which no other process used the cores, except perhaps `but`; skips if there is none."""
    for _ in range(TRIES):
        done, samples = gemm(*args, **kwargs)
        if not any("note" in s for s in samples if s["subject"] != but):
            return done, samples
    pytest.skip("others load this host: " + "; ".join(s["note"] for s in samples if "note" in s))


@pytest.mark.some(1)
@pytest.mark.alone
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_every_core_is_measured_and_verified(gemm, dtype):
    done, samples = undisturbed(gemm, "--budget", "4s", "--busy", "run", "--dtype", dtype)
    assert done.returncode == 0, done.stderr
    for s in samples:
        check_sample(s)
        assert s["state"] == "measured" and s["params"]["dtype"] == dtype
        assert s["params"]["engine"] == "cpu" and s["params"]["version"].startswith("openblas ")
    subjects = [s["subject"] for s in samples]
    cores = set(subjects)
    assert len(subjects) == 2 * len(cores) and 1 <= len(cores) <= len(os.sched_getaffinity(0))
    assert {s["check"] for s in samples} == {"gemm.rate", "gemm.correct"}


def test_only_cores_that_we_may_use_are_measured(gemm):
    cpu = max(os.sched_getaffinity(0))
    done, samples = gemm("--budget", "4s", "--busy", "run", "--shape", "200,300,100",
                         preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    assert done.returncode == 0, done.stderr
    assert {s["subject"] for s in samples} == {f"cpu:{cpu}"}
    assert samples[0]["params"]["shape"] == "200x300x100"


@pytest.mark.alone
def test_a_competing_process_makes_its_core_busy_and_is_named(gemm, competitor, full):
    cpus = sorted(os.sched_getaffinity(0))
    for i in range(20 if full else 1):
        cpu = cpus[i % len(cpus)]
        pid = competitor(cpu)
        for _ in range(TRIES):
            done, samples = gemm("--budget", "4s")
            assert done.returncode == 0, done.stderr
            for s in samples:
                check_sample(s)
            contended = rates(samples).get(f"cpu:{cpu}")
            if contended is None:
                pytest.skip(f"cpu:{cpu} is the second hardware thread of its core")
            assert contended["state"] == "busy", (i, contended)
            assert re.search(rf"pid \d+ \(.* of cpu {cpu}\b", contended["note"]), (i, contended["note"])
            if f"pid {pid} (" in contended["note"]:
                break
        else:
            pytest.skip(f"others use this core more than the competitor: {contended['note']}")
        os.kill(pid, 9)


@pytest.mark.long
@pytest.mark.alone
def test_with_busy_run_the_contended_core_is_measured_and_lowest(gemm, competitor):
    cpu = min(os.sched_getaffinity(0))
    pid = competitor(cpu)
    done, samples = undisturbed(gemm, "--budget", "15s", "--busy", "run", but=f"cpu:{cpu}")
    assert done.returncode == 0, done.stderr
    assert all(s["state"] == "measured" for s in samples), samples
    by_core = rates(samples)
    contended = by_core.pop(f"cpu:{cpu}")
    assert contended["state"] == "measured" and contended["note"].startswith("measured although ")
    assert f"pid {pid} (" in contended["note"]
    if not by_core:
        pytest.skip("one core only: none to compare with")
    assert contended["value"] < min(s["value"] for s in by_core.values())


def test_it_describes_itself(run):
    done = run("assay-probe-gemm", "--describe")
    value = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert (value["kind"], value["probe"], value["active"], value["budget"]) == ("describe", "gemm", True, "10s")
    assert [c["check"] for c in value["checks"]] == [
        "gemm.rate", "gemm.per_clock", "gemm.host_rate", "gemm.launch", "gemm.launch_p99", "gemm.launch_far",
        "gemm.chain", "gemm.chain_far", "gemm.overlap", "gemm.overlap_busbw",
        "gemm.burn_rate", "gemm.burn_kept", "gemm.burn_hbm_temp", "gemm.burn_gpu_temp", "gemm.burn_clock", "gemm.burn_power",
        "gemm.correct"]


@pytest.mark.parametrize("args, words", [
    (["--shape", "1,2"], "--shape: '1,2' is not M,N,K"),
    (["--shape", "1,2,3,4"], "--shape: "),
    (["--shape", "0,2,3"], "--shape: "),
    (["--shape", "-1,2,3"], "--shape: "),
    (["--shape", "1,2,65537"], "--shape: "),
    (["--shape", "99999999999999999999,1,1"], "--shape: "),
    (["--shape", "65536,65536,65536"], "more than a quarter of its memory"),
    (["--dtype", "f16"], "--dtype: 'f16' is not f32, f64, bf16, tf32 or fp8"),
    (["--dtype", "bf16"], "--dtype: not bf16 on the cpu engine"),
    (["--engine", "gpu"], "--engine: 'gpu' is not auto, cpu or cuda"),
    (["--budget", "1s"], "--budget: at least 3s"),
    (["--budget", "ten"], "--budget: "),
    (["--busy", "maybe"], "--busy: "),
    (["--seed", "x"], "--seed: "),
    (["extra"], "'extra'"),
])
def test_bad_usage_is_one_line_and_exit_2(run, args, words):
    done = run("assay-probe-gemm", "--engine", "cpu", *args)
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.fixture
def sysroot(tmp_path):
    """sysroot(gpu=True) is a host with (or without) an NVIDIA GPU on its PCI bus."""

    def make(gpu):
        device = tmp_path / "root/sys/bus/pci/devices/0000:17:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x10de\n" if gpu else "0x8086\n")
        (device / "class").write_text("0x030200\n")
        return {"ASSAY_SYSROOT": str(tmp_path / "root")}

    return make


@pytest.mark.parametrize("gpu, args, status, words", [
    (True, [], 1, "libcuda.so.1"),
    (True, ["--engine", "auto"], 1, "libcuda.so.1"),
    (True, ["--engine", "cuda"], 77, "libcuda.so.1"),
    (False, ["--engine", "cuda"], 77, "no NVIDIA GPU"),
    (False, ["--overlap"], 77, "--overlap needs a GPU engine"),
    (True, ["--engine", "cpu", "--chain"], 77, "--chain needs a GPU engine"),
])
def test_what_needs_a_gpu_engine_never_falls_back(run, sysroot, tmp_path, gpu, args, status, words):
    (tmp_path / "libcuda.so.1").touch()  # a broken driver, on any machine
    done = run("assay-probe-gemm", *args, env={**sysroot(gpu), "LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == status and done.stdout == ""
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_auto_without_a_gpu_measures_the_cores(run, sysroot):
    done = run("assay-probe-gemm", "--budget", "3s", env=sysroot(False))
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert samples and all(s["params"]["engine"] == "cpu" for s in samples)


def test_a_reader_that_is_gone_is_no_crash(build, environ):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([str(build / "assay-probe-gemm"), "--engine", "cpu", "--budget", "3s"], env=environ,
                          stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(write_end)
    assert done.returncode == 1 and "cannot print samples" in done.stderr
