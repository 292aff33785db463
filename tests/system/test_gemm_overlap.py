# SPDX-License-Identifier: Apache-2.0
"""The GEMM rate during an all-reduce on fake GPUs: the loss of each GPU, and a collective that hangs."""
import json
import re

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

SHAPE = ["--shape", "48,40,56"]
RATE_OF_FAKES, BESIDE = 2.5e8, 0.92  # gpu_fake_cuda.c
RATE, CORRECT, OVERLAP, BUSBW = "gemm.rate", "gemm.correct", "gemm.overlap", "gemm.overlap_busbw"


@pytest.fixture
def overlap(run, gpus):  # noqa: F811
    """overlap("count=2 crowded=1", "--option", ...) returns (CompletedProcess, {(check, subject): sample})."""

    def start(settings, *args, flag="--overlap", **kwargs):
        done = run("assay-probe-gemm", *SHAPE, *([flag] if flag else []), *args, env=gpus(settings, **kwargs))
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        by_key = {(s["check"], s["subject"]): s for s in samples}
        assert len(by_key) == len(samples)
        return done, by_key

    return start


def check_overlap(s, part=BESIDE):
    assert (s["state"], s["unit"], s["better"], s["ok"]) == ("measured", "FLOP/s", "higher", None), s
    assert s["value"] == pytest.approx(part * RATE_OF_FAKES, rel=0.02) and 8 <= len(s["w"]) <= 32
    ratio = float(re.match(r"(\S+) % of its rate without an all-reduce; SM clock 1500 MHz", s["note"])[1])
    assert ratio == pytest.approx(100 * part, abs=2)
    assert s["params"].items() >= {"collective": "all-reduce", "nccl": "nccl 2.28.9", "dtype": "bf16", "shape": "48x40x56"}.items()


def check_plain(samples, n):
    for i in range(n):
        assert samples[RATE, gpu(i)]["value"] == pytest.approx(RATE_OF_FAKES, rel=0.02)
        assert samples[CORRECT, gpu(i)]["ok"] is True


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_rate_beside_an_all_reduce_is_told_with_its_ratio(overlap, n):
    done, samples = overlap(f"count={n} clock=1")
    assert done.returncode == 0
    assert float(re.fullmatch(r"fake GPUs: used for (\S+) s\n", done.stderr)[1]) <= 10, "its budget"
    check_plain(samples, n)
    for i in range(n):
        check_overlap(samples[OVERLAP, gpu(i)])
        assert samples[OVERLAP, gpu(i)]["params"]["ranks"] == n
    busbw = samples[BUSBW, "gpus"]
    assert (busbw["state"], busbw["unit"], busbw["better"], busbw["ok"]) == ("measured", "B/s", "none", None)
    assert busbw["value"] > 0 and re.match(r"\d+ % of its rate without products, ", busbw["note"])


def test_a_gpu_that_a_collective_costs_more_than_its_peers_is_lower(overlap):
    done, samples = overlap("count=4 crowded=2")
    assert (done.returncode, done.stderr) == (0, "")
    check_plain(samples, 4)  # invisible in the rate alone
    for i in range(4):
        check_overlap(samples[OVERLAP, gpu(i)], BESIDE * (0.8 if i == 2 else 1))


@pytest.mark.parametrize("fault, subject, words", [
    ("late=2", gpu(2), "did not arrive, 3 others waited"),
    ("frozen=2", gpu(2), "told to abort"),
    ("notready=2", "gpus", "communicators were not ready"),
])
def test_a_collective_that_hangs_names_its_ranks_and_costs_no_rate(overlap, fault, subject, words):
    done, samples = overlap(f"count=4 {fault}")
    assert done.returncode == 0, done.stderr
    check_plain(samples, 4)
    assert samples[BUSBW, subject]["state"] == "timeout" and words in samples[BUSBW, subject]["note"]
    for i in range(4):
        s = samples[OVERLAP, gpu(i)]
        assert (s["state"], s["value"], s["ok"]) == ("timeout", None, None) and words in s["note"]
    ends = [s["start"] + s["seconds"] for s in samples.values()]
    assert max(ends) - min(s["start"] for s in samples.values()) <= 10, "its budget"


def test_a_communicator_that_fails_names_the_gpu(overlap):
    done, samples = overlap("count=4 async=1")
    assert done.returncode == 0, done.stderr
    check_plain(samples, 4)
    s = samples[BUSBW, gpu(1)]
    assert (s["ok"], s["severity"], s["code"]) == (False, "warn", "nccl-error") and "unhandled cuda error" in s["note"]
    assert {samples[OVERLAP, gpu(i)]["state"] for i in range(4)} == {"set-up"}


@pytest.mark.parametrize("fault, state, words", [
    ("busy=1 pid=4242424", "busy", "pid 4242424 (python3) computes on"),
    ("full=1", "set-up", "out of memory"),
    ("lost=1", "measured", "is lost"),
])
def test_without_all_gpus_it_is_not_measured_and_says_without_whom(overlap, fault, state, words):
    done, samples = overlap(f"count=3 {fault}")
    assert done.returncode == 0, done.stderr
    assert samples[OVERLAP, gpu(1)]["state"] == state and words in samples[OVERLAP, gpu(1)]["note"]
    for i in (0, 2):
        s = samples[OVERLAP, gpu(i)]
        assert s["state"] == "set-up" and s["note"].startswith(f"not without {gpu(1)}: ") and words in s["note"]
        assert samples[RATE, gpu(i)]["state"] == "measured"
    assert not any(check == BUSBW for check, _ in samples)


def test_from_a_budget_of_30_s_on_it_is_measured_unasked(overlap):
    done, samples = overlap("count=2 clock=1", "--budget", "60s", flag=None)  # as in profile full
    assert done.returncode == 0
    assert float(re.fullmatch(r"fake GPUs: used for (\S+) s\n", done.stderr)[1]) <= 60
    for i in range(2):
        check_overlap(samples[OVERLAP, gpu(i)])
    done, samples = overlap("count=2", "--budget", "29s", flag=None)
    assert done.returncode == 0 and not any(check == OVERLAP for check, _ in samples)


@pytest.mark.parametrize("settings, words", [
    ("count=1", "an all-reduce needs 2 to 64 GPUs, there is 1"),
    ("count=2 nccl=21200", "libnccl.so.2 is version 21200; at least 21400 (2.14) is needed"),
])
def test_one_gpu_or_no_nccl_is_not_applicable_and_costs_nothing_unasked(overlap, settings, words):
    done, samples = overlap(settings)
    assert done.returncode == 77 and not samples and words in done.stderr and done.stderr.count("\n") == 1
    done, samples = overlap(settings, "--budget", "30s", flag=None)
    assert done.returncode == 0 and words in done.stderr
    assert samples[RATE, gpu(0)]["state"] == "measured" and not any(check.startswith(OVERLAP) for check, _ in samples)


@pytest.mark.some(2)
@pytest.mark.parametrize("fault, verdict, bad, words", [
    ("", "pass", set(), "nothing below its floor"),
    ("crowded=3", "fail", {gpu(3)}, "in gemm.overlap: far below its 7 peers"),
    ("odd=3", "fail", {gpu(3)}, "row 1, column 2 of 48x40 is "),
    ("late=3", "inconclusive", {gpu(i) for i in range(8)}, "did not arrive, 7 others waited (gemm.overlap_busbw"),
    ("delay=20 mflops=20000", "pass", set(), "host-bound: a layer of 10 launches"),
])
def test_a_run_as_in_profile_full_names_the_gpu_and_no_other(build, run, gpus, script, profiles, fault, verdict, bad, words):  # noqa: F811
    """End to end through runner and judge; only the probe's clock is simulated."""
    shape = ["--shape", "256,16,256"] if "delay" in fault else SHAPE
    env = gpus(f"count=8 {fault}" if "mflops" in fault else f"count=8 mflops=2500 {fault}")
    clock = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
    probe = script("gemm", f'exec env {clock} {build}/assay-probe-gemm {" ".join(shape)} "$@"\n')
    file = profiles(full=[{"name": "gemm", "exec": probe, "budget": "60s"}], budget="90s")
    done = run("assay", "run", "--profile", "full", "--profiles", file, "-o", "json", env=env)
    value = json.loads(done.stdout)
    found = value["verdict"]
    assert found["verdict"] == verdict, found
    assert {item["subject"] for item in found["items"] if item["verdict"] != "pass"} == bad, found["items"]
    checks = {s["check"] for s in value["report"]["samples"]}
    assert checks >= {RATE, CORRECT, OVERLAP, BUSBW, "gemm.chain", "gemm.host_rate"}
    told = [found["sentence"], *(item["sentence"] for item in found["items"]), *(s.get("note", "") for s in value["report"]["samples"])]
    assert any(words in text for text in told), told
    assert not bad or gpu(3) in found["sentence"] and gpu(0) not in found["sentence"]
