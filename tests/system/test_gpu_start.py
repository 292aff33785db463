# SPDX-License-Identifier: Apache-2.0
"""Hosts with eight GPUs with the start times of real hardware (gpu_fake.h): no GPU is blamed for it, and all are measured."""
import json
import re
import time
from collections import Counter

import pytest
import yaml
from fake_host import FakeHost
from gpu_fixtures import HGX, gpu, gpu_host, gpu_libraries, gpus, run_alone, samples_of  # noqa: F401

STATE, GEMM, MEMORY, ALL = (f"assay-probe-{name}" for name in ("gpu-state", "gemm", "memory", "all-to-all"))
COUNT = 8
# Products and copies small enough for the test's CPUs, at rates at which they take as long as real ones: 8192^3 products at
# 500 TFLOP/s, 32 MiB at 50 GB/s, and at 1.3 TB/s within a GPU. The copies that gemm.chain puts before its work are 32 MiB whatever
# the options: at a GPU's own rate they take 50 ms here (25 us in reality), at that of PCIe 1.3 s.
SMALL = {GEMM: ["--shape", "128,128,128"], MEMORY: ["--size", "16384"], ALL: ["--size", "8388608"]}
RATES = "mflops=2000 copy=25 hbm=26 lazy=1"
# The scaled clock does not make CPUs faster: no host memory, and less NCCL data.
FASTER = {MEMORY: [*SMALL[MEMORY], "--engine", "cuda"], ALL: ["--size", "2097152"]}
SLOW = "slowstart=3 startms=40000"


@pytest.fixture
def host(gpus, tmp_path, top):  # noqa: F811
    """host("serial=100", rate=10) is the environment of such a host; its clock runs `rate` times as fast as the real one."""

    def make(settings="", rate=1, hgx=HGX):
        root = FakeHost(tmp_path / "gpu-host")
        return {**gpus(f"{hgx} {RATES} {settings}".strip(), real=True if rate == 1 else rate), **root.env(top / "policies")}

    return make


def bad(samples):
    return [(s["check"], s["subject"], s.get("code"), s.get("severity", "fail")) for s in samples if s["ok"] is False]


def unmeasured(samples):
    return {s["subject"] for s in samples if s["state"] != "measured" or (s["value"] is None)}


@pytest.fixture
def probe(run, host):
    """probe(STATE, "10s", "serial=100", rate=5): (CompletedProcess, samples)."""

    def start(program, budget, settings="", rate=1, args=(), **kwargs):
        done = run(program, "--budget", budget, *SMALL.get(program, ()), *args, env=host(settings, rate, **kwargs))
        return done, samples_of(done.stdout)

    return start


@pytest.mark.once
@pytest.mark.alone
@pytest.mark.parametrize("serial", [0, 25])
def test_gpus_that_the_driver_starts_when_they_are_looked_at_are_not_stuck(probe, serial):
    done, samples = probe(STATE, "10s", f"serial={serial}", rate=4)
    assert (done.returncode, done.stderr) == (0, "") and bad(samples) == [] and unmeasured(samples) == set()
    answering = [s["subject"] for s in samples if s["check"] == "gpu.nvml" and s["ok"]]
    assert answering == [gpu(i) for i in range(COUNT)]
    assert {s["params"]["setting"] for s in samples if s["check"] == "gpu.persistence"} == {"off"}


@pytest.mark.once
@pytest.mark.alone
def test_gpus_that_start_one_after_the_other_are_still_starting_when_the_time_is_up(probe):
    done, samples = probe(STATE, "10s", "serial=100", rate=4)
    assert done.returncode == 0 and bad(samples) == []
    notes = [s["note"] for s in samples if s["check"] == "gpu.nvml" and not s["ok"]]
    assert notes and all(re.match(r"(slow to start: )?still starting after 9\.\d s[:,] (when )?\d of 8 GPUs had started$", n) for n in notes), notes
    done, samples = probe(STATE, "40s", "serial=100", rate=4)
    assert bad(samples) == [] and len([s for s in samples if s["check"] == "gpu.nvml" and s["ok"]]) == COUNT


@pytest.mark.once
@pytest.mark.alone
def test_a_gpu_that_is_slow_to_start_is_named_as_that_and_the_others_are_read(probe):
    done, samples = probe(STATE, "40s", SLOW, rate=10)
    # At the first run it is unknown which GPU has number 3.
    assert done.returncode == 0 and bad(samples) == [("gpu.nvml", "gpu:3", "slow-start", "warn")]
    note = next(s["note"] for s in samples if s.get("code") == "slow-start")
    assert re.match(r"slow to start: it had not started after 3\d\.\d s, when 7 of 8 GPUs had$", note), note
    answering = [s["subject"] for s in samples if s["check"] == "gpu.nvml" and s["ok"]]
    assert answering == [gpu(i) for i in range(COUNT) if i != 3]


@pytest.mark.once
@pytest.mark.alone
def test_one_that_comes_back_late_is_slow_and_not_stuck(probe):
    done, samples = probe(STATE, "40s", "slowstart=3 startms=24000", rate=10)
    assert done.returncode == 0 and bad(samples) == [("gpu.nvml", gpu(3), "slow-start", "info")]
    assert unmeasured(samples) == set()
    done, samples = probe(STATE, "10s", "lagat=3 lagms=3000 at=nvmlDeviceGetEccMode", hgx=f"count={COUNT}")
    assert bad(samples) == [("gpu.nvml", gpu(3), "nvml-slow", "info")] and unmeasured(samples) == set()


@pytest.mark.once
@pytest.mark.alone
@pytest.mark.parametrize("program, budget, check, subject, expected", [
    (GEMM, "11s", "gemm.rate", "{}", COUNT - 1), (MEMORY, "9s", "memory.h2d_bw", "numa:1>{}", COUNT - 1)])
@pytest.mark.parametrize("startms", [40000, 6000])  # it never returns; it returns while the others are measured
def test_the_others_are_measured_and_who_is_late_says_no_more(probe, program, budget, check, subject, expected, startms):
    done, samples = probe(program, budget, f"slowstart=3 startms={startms}", rate=3, args=["--engine", "cuda"])
    assert (done.returncode, done.stderr) == (0, "") and bad(samples) == []
    late = [s for s in samples if s["state"] != "measured"]
    assert {s["state"] for s in late} == {"timeout"} and all(gpu(3) in s["subject"] for s in late)
    note = next(s["note"] for s in late if (s["check"], s["subject"]) == (check, subject.format(gpu(3))))
    assert re.match(r"slow to start: not ready after \d\.\d s, when 7 of 8 GPUs were$", note), note
    values = [s["value"] for s in samples if s["check"] == check and s["state"] == "measured" and "*" not in s["subject"]]
    assert len(values) == expected


@pytest.mark.once
@pytest.mark.alone
def test_quick_has_time_for_contexts_that_are_made_one_after_the_other(probe):
    for program, budget in ((GEMM, "11s"), (MEMORY, "9s")):
        done, samples = probe(program, budget, "serial=100", rate=3, args=["--engine", "cuda"])
        assert (done.returncode, done.stderr) == (0, "") and bad(samples) == [], program
        assert [s for s in samples if s["state"] != "measured"] == [], program


@pytest.mark.long
@pytest.mark.once
@pytest.mark.alone
def test_a_driver_that_takes_a_millisecond_for_each_question_leaves_time_to_measure(probe):
    """Like NVML calls through the GPU's firmware: the processes on a GPU are queried after each of a hundred rounds of copies."""
    for program, budget in ((GEMM, "11s"), (MEMORY, "9s")):
        done, samples = probe(program, budget, "lag=1", args=["--engine", "cuda"])
        assert (done.returncode, done.stderr) == (0, "") and bad(samples) == [], program
        assert [(s["check"], s["note"]) for s in samples if s["state"] != "measured"][:3] == [], program


# --- profiles as they are shipped


@pytest.fixture
def profile(build, environ, host, top, tmp_path):
    """profile("quick", "serial=100", rate=5) runs a shipped profile with its budgets, with small products and copies. Returns its
    output and duration. Probes for hardware that this machine lacks, such as RDMA, are left out."""
    shipped = (top / "policies/profiles.yaml").read_text()
    file = tmp_path / "shipped.yaml"

    def write(rate):
        text = yaml.safe_load(shipped)
        for value in text["profiles"].values():
            for row in value["probes"]:
                args = {**SMALL, **(FASTER if rate > 1 else {})}
                row["args"] = args.get(f"assay-probe-{row['name']}", []) + row.get("args", [])
        file.write_text(json.dumps(text))

    (tmp_path / "gpu-host/sys/devices").mkdir(parents=True)
    (tmp_path / "gpu-host/sys/devices/system").symlink_to("/sys/devices/system")  # its NUMA nodes, whose memory is measured too

    def start(name, settings="", rate=1, seed=0):
        env = {**environ, **host(f"{settings} spread=3 seed={seed}".strip(), rate)}
        write(rate)
        begun = time.monotonic()
        status, out, err, _ = run_alone([build / "assay", "run", "--profiles", file, "--profile", name, "--busy", "run",
                                         "-o", "json"], env, timeout=400)
        told = json.loads(out)
        told["seconds"] = rate * (time.monotonic() - begun)
        assert status in (0, 3) or told["verdict"]["verdict"] in ("warn", "fail"), err
        return told

    return start


CHECKS = {
    "quick": {"gemm.rate": 8, "gemm.per_clock": 8, "gemm.host_rate": 1, "gemm.correct": 8, "gemm.launch": 8, "memory.h2d_bw": 16, "memory.d2h_bw": 16,
              "memory.bidir_bw": 8, "memory.device_bw": 8, "memory.p2p_bw": 56, "gpu.nvml": 8, "gpu.persistence": 8, "gpu.clocks": 8},
}
CHECKS["full"] = {**CHECKS["quick"], "gemm.chain": 8, "gemm.overlap": 8, "memory.pattern": 8, "all_to_all.busbw": 1,
                  "all_to_all.pair_bw": 56, "all_to_all.correct": 1}
LONGEST = {"quick": 45, "full": 300}


def check_clean(told, name):
    """Every GPU was measured by every check, without findings, and within the time."""
    samples = [s for s in told["report"]["samples"] if s["check"].split(".")[0] in ("gemm", "memory", "gpu", "all_to_all")]
    wrong = [s for s in samples if s["ok"] is False or s["state"] != "measured"]
    assert wrong == [], (len(wrong), [(s["check"], s["subject"], s["state"], s.get("note")) for s in wrong[:4]])
    counts = Counter(s["check"] for s in samples if s["value"] is not None and ("gpu" in s["subject"] or s["subject"] == "host"))
    assert {check: counts[check] for check in CHECKS[name]} == CHECKS[name]
    of_gpus = [p for p in told["report"]["problems"] if p["probe"] in ("gpu-state", "gemm", "memory", "all-to-all")]
    assert of_gpus == [] and told["seconds"] <= LONGEST[name]
    # Launch latency, which dominates the milliseconds of a pair on loaded CPUs, and the rate of host memory depend on this shared
    # machine: they are measured, but not judged here.
    own = {"gemm.launch", "gemm.launch_p99", "gemm.launch_far", "gemm.chain", "gemm.chain_far", "all_to_all.pair_bw", "memory.read_bw", "memory.write_bw", "memory.copy_bw", "memory.triad_bw"}
    found = [i for i in told["verdict"]["items"] if i["verdict"] in ("warn", "fail") and i["check"] not in own]
    assert found == [], [(i["check"], i["subject"], i["sentence"]) for i in found[:6]]


@pytest.mark.once
@pytest.mark.alone
def test_quick_measures_eight_gpus_in_its_time_and_finds_nothing(profile):
    check_clean(profile("quick"), "quick")


@pytest.mark.once
@pytest.mark.alone
@pytest.mark.parametrize("name, rate", [("quick", 3), ("full", 4)])
def test_a_gpu_that_takes_40_s_to_start_is_named_and_the_others_are_measured(profile, full, name, rate):
    if name == "full" and not full:
        pytest.skip("takes half a minute: ASSAY_FULL=1")
    told = profile(name, SLOW, rate=rate)
    assert "stuck" not in json.dumps(told) and "did not return" not in json.dumps(told)
    samples = [s for s in told["report"]["samples"] if s["check"].split(".")[0] in ("gemm", "memory", "gpu")]
    late = {gpu(3), "gpu:3"}
    others = [s for s in samples if not any(subject in s["subject"] for subject in late)]
    assert [s for s in others if s["ok"] is False or (s["state"] != "measured" and s["check"] != "gemm.overlap")] == []
    counts = Counter(s["check"] for s in others if s["value"] is not None and "gpu" in s["subject"])
    assert (counts["gemm.rate"], counts["gemm.correct"], counts["memory.h2d_bw"], counts["memory.p2p_bw"]) == (7, 7, 14, 42)
    named = {s["check"] for s in samples if "slow to start" in s.get("note", "") and any(subject in s["subject"] for subject in late)}
    assert {"gpu.nvml", "gemm.rate", "memory.h2d_bw"} <= named, named
    assert told["verdict"]["verdict"] in ("inconclusive", "warn") and told["seconds"] <= LONGEST[name]


@pytest.mark.once
@pytest.mark.alone
@pytest.mark.parametrize("name, rate, count", [("quick", 1, 20), ("full", 1, 3), ("quick", 4, 70), ("full", 3, 7)])
def test_a_hundred_runs_find_nothing(profile, full, name, rate, count):
    """In real time, scaled; the spread of the GPUs is the noise."""
    if not full:
        pytest.skip("takes an hour: ASSAY_FULL=1")
    for i in range(count):
        check_clean(profile(name, rate=rate, seed=i), name)
