# SPDX-License-Identifier: Apache-2.0
"""assay-probe-gemm on fake GPUs: every fault is found on the right GPU with its cause, and nothing else."""
import json
import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

SHAPE = ["--shape", "48,40,56"]
RATE_OF_FAKES = 2.5e8
RATE, PER_CLOCK, CORRECT, HOST = "gemm.rate", "gemm.per_clock", "gemm.correct", "gemm.host_rate"
SLOW = ("slow at a normal clock: a defect or another user: memory, ECC, leftover MIG or MPS, another process; "
        "SM clock 1500 MHz on average, 1500 at least; at most 650 W, 61 C, HBM 66 C")


@pytest.fixture
def gemm(run, gpus):  # noqa: F811
    """gemm("count=2 slow=1", "--option", ...) returns (CompletedProcess, {(check, GPU): sample})."""

    def start(settings, *args, **kwargs):
        done = run("assay-probe-gemm", *SHAPE, *args, env=gpus(settings, **kwargs))
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        by_key = {(s["check"], s["subject"]): s for s in samples}
        assert len(by_key) == len(samples)
        return done, by_key

    return start


def check_healthy(samples, i):
    """GPU `i` was measured, correct, and as fast as the fakes' model: 250 MFLOP/s."""
    rate, per_clock, correct = (samples[check, gpu(i)] for check in (RATE, PER_CLOCK, CORRECT))
    assert rate["state"] == "measured" and rate["value"] == pytest.approx(RATE_OF_FAKES, rel=0.02), rate
    assert 8 <= len(rate["w"]) <= 32 and min(rate["w"]) > 0.97 * rate["value"]
    assert rate["params"].items() >= {
        "engine": "cuda", "power_limit_w": 700, "ecc": "on",
        "version": "cublaslt 130100, driver 580.65.06 (cuda 13.0)",
        "algorithm": "id 66 tile 1 stages 6 split-k 1 reduce 0 swizzle 4 custom 5 inner 7 cluster 8"}.items()
    assert rate["note"] == "SM clock 1500 MHz on average, 1500 at least; at most 650 W, 61 C, HBM 66 C"
    assert per_clock["value"] == pytest.approx(RATE_OF_FAKES / 1.5e9 / 8, rel=0.02)  # 8 SMs
    assert (correct["value"], correct["ok"], correct["params"]["way"]) == (0, True, "exact+vote") and correct["n"] >= 2
    assert not {"code", "severity"} & {*rate, *per_clock, *correct}


def check_clean(done):
    """It succeeded, and freed all objects of the libraries."""
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("dtype", ["bf16", "fp8", "tf32", "f32", "f64"])
def test_all_gpus_are_measured_at_once_and_verified(gemm, dtype):
    done, samples = gemm("count=3", "--dtype", dtype)
    check_clean(done)
    assert len(samples) == 16 and {s["params"]["dtype"] for s in samples.values()} == {dtype}
    for i in range(3):
        check_healthy(samples, i)
    assert samples[HOST, "gpus"]["value"] == min(samples[RATE, gpu(i)]["value"] for i in range(3))
    assert len({(s["start"], s["seconds"]) for (check, _), s in samples.items() if check == RATE}) == 1


@pytest.mark.some(1)
@pytest.mark.parametrize("budget", [10, 60])  # those of the profiles quick and full
def test_no_clean_run_raises_an_alarm(gemm, full, budget):
    for seed in range(100 if full else 3):
        done, samples = gemm("count=8 mflops=2500 clock=1", "--seed", seed, "--budget", f"{budget}s")
        assert done.returncode == 0 and len(samples) == (41 if budget == 10 else 58)
        assert float(re.fullmatch(r"fake GPUs: used for (\S+) s\n", done.stderr)[1]) <= budget
        for s in samples.values():
            assert s["state"] == "measured" and s["ok"] in (True, None), s
            assert (s.get("code"), s.get("severity")) in ((None, None), ("host-bound", None)), s
        for i in range(8):
            assert samples[RATE, gpu(i)]["value"] == pytest.approx(10 * RATE_OF_FAKES, rel=0.02)


@pytest.mark.alone
def test_by_the_clock_on_the_wall_it_keeps_its_budget(gemm):
    start = time.monotonic()
    done, samples = gemm("count=2", "--budget", "4s", real=True)
    check_clean(done)
    assert all(s["state"] == "measured" for s in samples.values())
    assert samples[CORRECT, gpu(0)]["ok"] and samples[CORRECT, gpu(1)]["ok"]
    assert 1.5 < time.monotonic() - start < 30  # warm-up and measurement are real


def test_a_slow_gpu_is_slow_at_a_normal_clock(gemm):
    done, samples = gemm("count=2 slow=1")
    check_clean(done)
    check_healthy(samples, 0)
    assert samples[RATE, gpu(1)]["value"] == pytest.approx(0.9 * RATE_OF_FAKES, rel=0.02)
    assert samples[PER_CLOCK, gpu(1)]["value"] == pytest.approx(0.9 * RATE_OF_FAKES / 1.5e9 / 8, rel=0.02)
    rate = samples[RATE, gpu(1)]
    assert (rate["code"], rate["note"]) == ("slow-at-clock", SLOW) and samples[CORRECT, gpu(1)]["ok"]


def test_a_host_is_as_good_as_its_slowest_gpu(gemm):
    done, samples = gemm("count=8 slow=5")
    check_clean(done)
    host = samples[HOST, "gpus"]
    assert host["value"] == samples[RATE, gpu(5)]["value"] == pytest.approx(0.9 * RATE_OF_FAKES, rel=0.02)
    assert host["note"] == f"{gpu(5)}, the slowest of 8, which drew 5200 W together" and host["params"]["gpus"] == 8
    done, samples = gemm("count=3 busy=1 pid=4242424")  # not on all of them
    assert done.returncode == 0 and (HOST, "gpus") not in samples


@pytest.mark.parametrize("fault, code, cause, degrees, reason", [
    ("hot", "throttled", "thermally throttled: cooling", 88, "HW thermal slowdown"),
    ("braked", "throttled", "throttled by the power brake: power supply or rack", 61, "HW power brake"),
    ("thirsty", "lottery", "silicon lottery: it reaches its power limit at a lower clock than its peers", 61, "SW power cap"),
    ("locked", "clock-setting", "its clock is held down by a leftover setting", 61, "application clocks"),
])
def test_a_gpu_slow_by_its_clock_says_why(gemm, fault, code, cause, degrees, reason):
    done, samples = gemm(f"count=3 {fault}=0")
    check_clean(done)
    check_healthy(samples, 1)
    check_healthy(samples, 2)
    assert samples[RATE, gpu(0)]["value"] == pytest.approx(0.9 * RATE_OF_FAKES, rel=0.02)
    assert samples[PER_CLOCK, gpu(0)]["value"] == pytest.approx(RATE_OF_FAKES / 1.5e9 / 8, rel=0.02)  # no defect
    assert (samples[RATE, gpu(0)]["code"], samples[RATE, gpu(0)]["ok"]) == (code, None)
    assert samples[RATE, gpu(0)]["note"] == (f"{cause}; SM clock 1350 MHz on average, 1350 at least; at most 650 W, {degrees} C, HBM 66 C; "
                                             f"held back by {reason}")


@pytest.mark.parametrize("times, known", [(1, True), (9, False)])
def test_a_driver_that_was_slow_once_is_asked_again_and_one_that_stays_so_is_not(gemm, times, known):
    done, samples = gemm(f"count=2 lagat=0 lagms=2100 lagtimes={times} at=nvmlDeviceGetClockInfo", "--budget", "20s", real=5)
    assert done.returncode == 0, done.stderr
    note = samples[RATE, gpu(0)]["note"]
    assert note.startswith("SM clock 1500 MHz on average" if known else "clock unknown: NVML does not answer"), note


def test_a_clock_that_the_driver_does_not_know_well_blames_no_poor_silicon(gemm):
    """NVML's clock of a GPU at its power limit is wrong by 2 %, in all of a run."""
    for seed in range(3):
        done, samples = gemm(f"count=8 thirsty={seed} clockerror=2 seed={seed}", "--budget", "5s")
        check_clean(done)
        assert samples[RATE, gpu(seed)]["code"] == "lottery"
        assert [s["subject"] for s in samples.values() if "code" in s] == [gpu(seed)]
        values = sorted(samples[PER_CLOCK, gpu(i)]["value"] for i in range(8))
        assert values[-1] > 1.015 * values[0]  # the error is there


def test_a_gpu_slow_by_its_clock_and_at_it_says_both(gemm):
    done, samples = gemm("count=3 hot=0 slow=0")
    check_clean(done)
    rate = samples[RATE, gpu(0)]
    assert rate["value"] == pytest.approx(0.81 * RATE_OF_FAKES, rel=0.02) and rate["code"] == "slow-at-clock"
    assert rate["note"].startswith("thermally throttled: cooling; and also slow at that clock: a defect or another user; SM clock 1350 MHz")


@pytest.mark.some(1)
@pytest.mark.parametrize("kernels", ["kernels=3", "streamk=1"])
def test_products_of_several_kernels_never_fill_the_queue_of_the_driver(gemm, kernels):
    """A launch would block there, and behind a GPU that hangs for ever: the others would be lost with it."""
    done, samples = gemm(f"count=2 hang=1 mflops=2000000 {kernels}", "--budget", "5s")
    assert done.returncode == 0 and "call to the GPU driver" not in done.stdout
    assert {samples[check, gpu(0)]["state"] for check in (RATE, PER_CLOCK, CORRECT, "gemm.launch")} == {"measured"}
    assert samples[RATE, gpu(1)]["note"] == "finished 0 of at least 8 windows in time"


def test_launches_of_several_kernels_are_not_timed_against_a_full_queue(gemm):
    """A product takes the GPU 33 us, and its launch the host 5: of 512 in a row the last quarter would find the queue full."""
    done, samples = gemm("count=1 kernels=3 launchns=5000", "--budget", "5s")
    check_clean(done)
    windows = samples["gemm.launch", gpu(0)]["w"]
    assert len(windows) == 16 and max(windows) < 15e-6, windows


def test_a_host_that_launches_late_does_not_make_its_gpus_slow(gemm):
    done, samples = gemm("count=2 delay=20")
    check_clean(done)
    for i in range(2):
        check_healthy(samples, i)


@pytest.mark.some(1)
@pytest.mark.parametrize("delay, least, most, code, words", [
    (0, 0, 10, None, "not host-bound: a layer of 10 launches takes "),
    (20, 60, 99, "host-bound", "host-bound: a layer of 10 launches takes "),
])
def test_a_chain_tells_a_host_that_launches_late(run, gpus, delay, least, most, code, words):  # noqa: F811
    done = run("assay-probe-gemm", "--chain", "--shape", "256,16,256", env=gpus(f"count=2 mflops=20000 delay={delay}"))
    check_clean(done)
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    chains = [s for s in samples if s["check"] == "gemm.chain"]
    assert [s["subject"] for s in chains] == [gpu(0), gpu(1)]
    for s in samples:
        if s["check"] == RATE:
            assert s["value"] == pytest.approx(2e10, rel=0.02)  # invisible in gemm.rate
    for s in chains:
        assert (s["unit"], s["better"], s["ok"], s.get("code")) == ("s", "lower", None, code)
        assert s["note"].startswith(words) and len(s["w"]) == 16 and s["params"]["chain"] == "16x64"
        share = int(re.search(r"waits for the host (\d+) %", s["note"])[1])
        assert least <= share <= most, s["note"]


@pytest.mark.parametrize("fault, severity, then", [("wrong", "fatal", "wrong again"), ("once", "warn", "correct")])
@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_a_wrong_element_names_its_gpu(gemm, fault, severity, then, dtype):
    done, samples = gemm(f"count=3 {fault}=1", "--dtype", dtype)
    check_clean(done)
    check_healthy(samples, 0)
    check_healthy(samples, 2)
    wrong = samples[CORRECT, gpu(1)]
    assert (wrong["ok"], wrong["severity"], wrong["code"]) == (False, severity, "wrong-product")
    assert re.match(rf"product 1: row 1, column 2 of 48x40 is \S+ instead of -?\d+, 1 wrong; {then} in other memory", wrong["note"])


@pytest.mark.parametrize("fault, state, code, severity, words", [
    ("hang=1", "timeout", None, None, "finished 0 of at least 8 windows in time"),
    ("lost=1", "measured", "device-lost", "fatal", "is lost (NVML: GPU_IS_LOST): cannot multiply: CUDA_ERROR_UNKNOWN 999"),
    ("ecc=1", "measured", "device-error", "warn", "cannot multiply: CUDA_ERROR_ECC_UNCORRECTABLE 214"),
    ("full=1", "set-up", None, None, "out of memory: 32 MiB wanted, 3 of 65536 MiB free"),
    ("taken=1", "set-up", None, None, "cannot make a context: CUDA_ERROR_DEVICE_UNAVAILABLE 46"),
    ("busy=1 pid=4242424", "busy", None, None, "pid 4242424 (python3) computes on {}"),
    ("busy=1 pid=4242424 foreign=1", "busy", None, None, "pid 4242424 (python3) computes on {}"),
])
def test_a_gpu_that_fails_is_told_of_and_the_others_are_measured(gemm, fault, state, code, severity, words):
    done, samples = gemm(f"count=3 {fault}")
    assert done.returncode == 0, done.stderr
    check_healthy(samples, 0)
    check_healthy(samples, 2)
    ends = [s["start"] + s["seconds"] for s in samples.values()]
    assert max(ends) - min(s["start"] for s in samples.values()) <= 10, ends  # its budget
    assert (PER_CLOCK, gpu(1)) not in samples
    for check in (RATE, CORRECT):
        s = samples[check, gpu(1)]
        assert (s["state"], s.get("code"), s.get("severity")) == (state, code, severity), s
        assert s["value"] is None and s["ok"] is (False if code else None)
        assert s["note"].startswith(words.format(gpu(1).replace(":", " ", 1))), s["note"]


def test_a_driver_that_does_not_come_back_names_the_gpu_and_ends(gemm):
    done, samples = gemm("count=3 block=1", "--budget", "5s", ASSAY_FAKE_PATIENCE="1")
    assert (done.returncode, done.stderr) == (0, "")
    for check in (RATE, CORRECT, "gemm.launch", "gemm.launch_p99"):
        s = samples.pop((check, gpu(1)))
        assert s["state"] == "timeout" and re.match(r"slow to start: not ready after .*, when 2 of 3 GPUs were$", s["note"]), s
    assert {s["state"] for s in samples.values()} == {"measured"} and {(RATE, gpu(0)), (RATE, gpu(2))} < set(samples)


def test_one_that_stops_answering_in_mid_work_is_named(gemm):
    done, samples = gemm("count=3 block=1 at=cuEventElapsedTime", "--budget", "5s", ASSAY_FAKE_PATIENCE="1")
    assert done.returncode == 1 and f"{gpu(1)}: a call to the GPU driver did not return" in done.stderr
    assert set(samples) == {(RATE, gpu(1))} and samples[RATE, gpu(1)]["state"] == "timeout"


@pytest.mark.parametrize("fault, verdict, words", [
    ("", "pass", "nothing below its floor"),
    ("slow=3", "warn", "runs at 225 of 250 MFLOP/s (90 %) in gemm.rate: below its 7 peers"),
    ("wrong=3", "fail", "wrong again in other memory and with another shape"),
    ("lost=3", "fail", "is lost (NVML: GPU_IS_LOST)"),
    ("hang=3", "inconclusive", "did not finish in time"),
    ("busy=3 pid=4242424", "inconclusive", "pid 4242424 (python3) computes on"),
])
def test_a_run_names_the_gpu_and_no_other(build, run, gpus, script, profiles, fault, verdict, words):  # noqa: F811
    """End to end through runner and judge; only the probe's clock is simulated."""
    env = gpus(f"count=8 {fault}")
    clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
    probe = script("gemm", f'exec env {clock} {build}/assay-probe-gemm {" ".join(SHAPE)} "$@" --budget 20s\n')
    file = profiles(budget="120s", quick=[{"name": "gemm", "exec": probe, "budget": "110s"}])  # in real time, for a loaded machine
    done = run("assay", "run", "--profiles", file, "-o", "json", env=env)
    found = json.loads(done.stdout)["verdict"]
    assert found["verdict"] == verdict, found
    bad = {item["subject"] for item in found["items"] if item["verdict"] != "pass"}
    assert bad == ({gpu(3)} if fault else set()), found["items"]
    assert words in " ".join([found["sentence"], *(item["sentence"] for item in found["items"])])


@pytest.mark.parametrize("fault, budget", [("hang=1", "5s"), ("block=1", "3s"), ("stuck=1", "5s")])
def test_what_hangs_leaves_no_process_behind(build, run, gpus, script, profiles, tmp_path, fault, budget):  # noqa: F811
    env = {**gpus(f"count=2 {fault}"), "ASSAY_TEST_MARK": str(tmp_path), "ASSAY_FAKE_PATIENCE": "1"}
    clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
    probe = script("gemm", f'exec env {clock} {build}/assay-probe-gemm {" ".join(SHAPE)} "$@"\n')
    file = profiles(quick=[{"name": "gemm", "exec": probe, "budget": budget}])
    done = run("assay", "run", "--profiles", file, "-o", "json", env=env)
    assert json.loads(done.stdout)["report"]["duration_s"] < 60
    assert not marked(tmp_path)


def marked(mark):
    """Processes with this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"ASSAY_TEST_MARK={mark}".encode() in (entry / "environ").read_bytes():
                found.append((entry.name, (entry / "comm").read_text()))
        except OSError:
            pass
    return found


def test_with_busy_run_a_gpu_in_use_is_measured_and_says_so(gemm):
    done, samples = gemm("count=2 busy=1 pid=4242424", "--busy", "run")
    check_clean(done)
    check_healthy(samples, 0)
    rate = samples[RATE, gpu(1)]
    assert rate["state"] == "measured" and rate["note"].startswith("measured although pid 4242424 (python3) computes on")


def test_our_own_process_under_another_number_is_no_other(gemm):
    done, samples = gemm("count=2 foreign=1")
    check_clean(done)
    for i in range(2):
        check_healthy(samples, i)


@pytest.mark.parametrize("settings, words", [
    ("nvml=9", "clock unknown: no NVML: NVML does not start: Driver Not Loaded"),
    ("stuck=1", "clock unknown: NVML does not answer: a call took more than 2 s"),
])
def test_without_nvml_rates_are_measured_all_the_same(gemm, settings, words):
    done, samples = gemm(settings, ASSAY_FAKE_PATIENCE="1")
    check_clean(done)
    for i in range(2):
        assert samples[RATE, gpu(i)]["value"] == pytest.approx(RATE_OF_FAKES, rel=0.02)
        assert samples[RATE, gpu(i)]["note"] == words and samples[CORRECT, gpu(i)]["ok"]


@pytest.mark.parametrize("settings, words", [
    ("driver=10020", "the GPU driver supports only CUDA 10.2; at least 11.4 is needed"),
    ("driver=12040", "cannot load libcublasLt.so.12 or an older one down to .11"),
    ("init=803", "the GPU driver failed to start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH 803"),
    ("init=999", "the GPU driver failed to start: CUDA_ERROR_UNKNOWN 999"),
    ("init=12345", "the GPU driver failed to start: CUDA error 12345"),
])
def test_a_driver_that_cannot_be_used_is_one_sentence(run, gpus, settings, words):  # noqa: F811
    env = gpus(settings)
    for engine, status in (("cuda", 77), ("auto", 1)):  # auto never falls back to the CPU
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("assay-probe-gemm", "--engine", engine, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert (done.returncode, done.stdout) == (status, "") and words in done.stderr
        assert done.stderr.count("\n") == 1
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.05 or "ASAN_OPTIONS" in env


def test_no_gpu_that_the_driver_sees_is_one_sentence(run, gpus, gpu_host):  # noqa: F811
    done = run("assay-probe-gemm", "--engine", "cuda", env={**gpus("count=0"), **gpu_host(1)})
    assert done.returncode == 77 and "the GPU driver shows no GPU although PCI does" in done.stderr


def test_gpus_that_are_hidden_from_the_agent_leave_no_good_verdict(run, gpu_host, profiles, build):  # noqa: F811
    """As in a container without GPUs: they are on the PCI bus, but no driver can be loaded."""
    names = ("gpu-state", "gemm", "memory")
    path = profiles(quick=[{"name": name, "exec": build / f"assay-probe-{name}"} for name in names])
    done = run("assay", "run", "-o", "json", "--profiles", str(path), env={**gpu_host(2), "ASSAY_NODE": "n1"})
    value = json.loads(done.stdout)
    assert value["verdict"]["verdict"] == "inconclusive", value["verdict"]
    problems = {p["probe"]: (p["code"], p["detail"]) for p in value["report"]["problems"]}
    assert all(problems[name][0] == "exit" and "cannot load libcuda.so.1" in problems[name][1] for name in ("gemm", "memory")), problems
    assert not [s for s in value["report"]["samples"] if s["check"].startswith("gemm.")], "never the CPU instead of the GPU"


def test_the_stub_of_the_toolkit_is_no_driver(run, gpu_host, tmp_path):  # noqa: F811
    stub = Path("/usr/local/cuda/lib64/stubs/libcuda.so")
    if not stub.exists():
        pytest.skip(f"no {stub}")
    (tmp_path / "libcuda.so.1").symlink_to(stub)
    done = run("assay-probe-gemm", "--engine", "cuda", env={**gpu_host(1), "LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 77 and "this libcuda.so.1 is the stub for linking" in done.stderr


@pytest.mark.parametrize("args, status, words", [
    (["--dtype", "fp8"], 2, "--dtype: not fp8 on the cuda engine"),
])
def test_what_this_gpu_cannot_do_is_one_line(run, gpus, args, status, words):  # noqa: F811
    done = run("assay-probe-gemm", *SHAPE, *args, env=gpus("capability=80"))
    assert (done.returncode, done.stdout) == (status, "") and words in done.stderr


def test_no_program_links_a_library_of_cuda(build):
    programs = [p for p in build.iterdir() if p.name.startswith("assay") and os.access(p, os.X_OK) and p.is_file()
                and p.read_bytes()[:4] == b"\x7fELF"]
    assert build / "assay-probe-gemm" in programs
    for program in programs:
        linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"libcuda|cublas|nvidia|nccl", linked), (program, linked)


@pytest.mark.once
def test_a_gpu_with_another_power_limit_is_compared_all_the_same(run, gpus, script, profiles, build):  # noqa: F811
    """A GPU limited to 500 W by its firmware is slow; without a comparison that would go unnoticed."""
    probe = script("gemm", f'exec {build}/assay-probe-gemm --shape 48,40,56 "$@"\n')
    file = profiles(quick=[{"name": "gemm", "exec": probe, "budget": "10s"}], budget="20s")
    done = run("assay", "run", "--profile", "quick", "--profiles", file, "-o", "json", env=gpus("count=8 mflops=2500 capped=3 thirsty=3"))
    told = json.loads(done.stdout)
    rates = {s["subject"]: s for s in told["report"]["samples"] if s["check"] == "gemm.rate"}
    assert [rates[gpu(i)]["params"]["power_limit_w"] for i in (2, 3)] == [700, 500]
    low = {i["subject"] for i in told["verdict"]["items"] if i["check"] == "gemm.rate" and i["verdict"] in ("warn", "fail")}
    assert low == {gpu(3)}, told["verdict"]["sentence"]
