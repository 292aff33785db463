# SPDX-License-Identifier: Apache-2.0
"""The burn on fake GPUs that heat up: it finds GPUs that slow down after minutes or have hot memory, and no others."""
import json
import re

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

SHAPE = ["--shape", "48,40,56"]
# Products of 9 ms and five times faster heating, so a burn of a minute acts like five; without NCCL it takes seconds.
FAST = "count=8 mflops=25 heat=1 tau=12"
ALONE = f"{FAST} nccl=21200"
RATE, KEPT, HBM, CHIP = "gemm.burn_rate", "gemm.burn_kept", "gemm.burn_hbm_temp", "gemm.burn_gpu_temp"
CLOCK, POWER, CORRECT = "gemm.burn_clock", "gemm.burn_power", "gemm.correct"


@pytest.fixture
def burn(run, gpus):  # noqa: F811
    """burn("fan=5", "--option", ...) returns (CompletedProcess, {(check, subject): sample})."""

    def start(settings, *args, budget="60s", base=ALONE, **kwargs):
        env = gpus(f"{base} {settings}".strip(), **kwargs)
        done = run("assay-probe-gemm", *SHAPE, "--burn", "--budget", budget, *args, env=env)
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        by_key = {(s["check"], s["subject"]): s for s in samples}
        assert len(by_key) == len(samples)
        return done, by_key

    return start


def check_well(samples, i):
    """GPU `i` was measured over the whole burn, and lost only what good GPUs lose as they heat up."""
    for check, low, high in ((KEPT, 0.98, 1), (HBM, 75, 80), (CHIP, 70, 75), (POWER, 685, 695), (CLOCK, 1.46e9, 1.5e9)):
        s = samples[check, gpu(i)]
        assert s["state"] == "measured" and low <= s["value"] <= high and s["ok"] is None and "code" not in s, s
    rate = samples[RATE, gpu(i)]
    assert len(rate["w"]) == 30 and rate["w"][0] > rate["w"][-1] and rate["params"]["burn_s"] == 60
    assert samples[HBM, gpu(i)]["w"][0] < 60 and samples[CORRECT, gpu(i)]["ok"] is True


def bad(samples):
    return {(check, subject, s.get("code")) for (check, subject), s in samples.items() if s["ok"] is False}


def test_good_gpus_lose_a_little_and_nobody_is_named(burn):
    done, samples = burn("clock=1")
    assert done.returncode == 0
    assert float(re.search(r"used for (\S+) s", done.stderr)[1]) <= 60, "its budget"
    assert "NVLinks are not loaded: libnccl.so.2 is version 21200" in done.stderr
    for i in range(8):
        check_well(samples, i)
        assert samples[RATE, gpu(i)]["params"]["links"] is False
    assert bad(samples) == set()


@pytest.mark.parametrize("fault, check, code, words", [
    # Five times faster heating: after 19 s instead of 95.
    ("fan=5", KEPT, "throttled", r"from second 1[5-9] on, thermally throttled: fan, paste, airflow; (9\.\d|10) % slower in its last 8 s than in its "
     r"first, the others [01]\.\d %; at the end SM clock 13\d\d MHz, 57\d W, 87 C, HBM 9[12] C while the others are at 7\d to 7\d"),
    ("hotmemory=5", HBM, "hot-memory", r"its memory is 1\d C hotter than that of the others, with a limit of 95 C: contact of its heat sink, fan; "
     r"[01]\.\d % slower .* 690 W, 7\d C, HBM 9[45] C while the others are at 7\d to 7\d"),
])
def test_one_sick_gpu_is_named_with_its_reason_and_the_others_are_well(burn, fault, check, code, words):
    done, samples = burn(fault)
    assert done.returncode == 0
    # Without airflow its memory is also about 15 C too hot, or just below.
    assert {(check, gpu(5), code)} <= bad(samples) <= {(check, gpu(5), code), (HBM, gpu(5), "hot-memory")}
    s = samples[check, gpu(5)]
    assert s["severity"] == "warn" and re.fullmatch(words, s["note"]), s["note"]
    for i in (0, 1, 2, 3, 4, 6, 7):
        check_well(samples, i)


def test_seconds_of_load_do_not_show_what_a_burn_does(run, gpus):  # noqa: F811
    """The same host in the profile full."""
    done = run("assay-probe-gemm", *SHAPE, "--budget", "20s", env=gpus("count=8 mflops=25 heat=1 fan=5"))
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [s for s in samples if s["check"] == "gemm.rate" and s.get("code")] == []


def test_links_are_loaded_beside_it(burn):
    done, samples = burn("", base=FAST, budget="30s")
    assert (done.returncode, done.stderr) == (0, "")
    busbw = samples["gemm.overlap_busbw", "gpus"]
    assert (busbw["state"], busbw["unit"], busbw["ok"]) == ("measured", "B/s", None) and busbw["value"] > 0
    assert all(samples[RATE, gpu(i)]["params"]["links"] is True and len(samples[RATE, gpu(i)]["w"]) == 30 for i in range(8))
    assert bad(samples) == set()


def test_an_all_reduce_that_hangs_is_told_and_the_burn_goes_on(burn):
    done, samples = burn("late=2", base=FAST, budget="30s")
    assert done.returncode == 0, done.stderr
    s = samples["gemm.overlap_busbw", gpu(2)]
    assert s["state"] == "timeout" and "did not arrive, 7 others waited" in s["note"]
    assert all(samples[KEPT, gpu(i)]["state"] == "measured" for i in range(8)) and bad(samples) == set()


@pytest.mark.parametrize("fault, state", [("hang=1", "timeout"), ("lost=1", "measured"), ("busy=1 pid=4242424", "busy")])
def test_a_gpu_that_fails_in_it_is_told_of_and_the_others_are_measured(burn, fault, state):
    done, samples = burn(fault)
    assert done.returncode == 0, done.stderr
    assert samples[RATE, gpu(1)]["state"] == state and samples[RATE, gpu(1)]["value"] is None
    assert (KEPT, gpu(1)) not in samples and (HBM, gpu(1)) not in samples
    for i in (0, 2, 3, 4, 5, 6, 7):
        check_well(samples, i)


@pytest.mark.parametrize("args, status, words", [
    (["--budget", "10s", "--burn"], 2, "--burn: needs a --budget of at least 30s"),
    (["--budget", "60s", "--burn", "--chain"], 2, "--burn: cannot be combined with --overlap or --chain"),
    (["--budget", "60s", "--burn", "--engine", "cpu"], 77, "--burn needs a GPU engine"),
])
def test_it_says_what_it_cannot_do(run, gpus, args, status, words):  # noqa: F811
    done = run("assay-probe-gemm", *args, env=gpus("count=2"))
    assert done.returncode == status and words in done.stderr and done.stdout == ""


@pytest.mark.alone  # waiting for a core would stop the heating
@pytest.mark.parametrize("fault, verdict, words", [
    ("", "pass", "nothing below its floor"),
    ("fan=5", "warn", "thermally throttled"),
    ("hotmemory=5", "warn", "hotter than that of the others"),
])
def test_the_profile_names_the_gpu_and_draws_it_over_time(run, gpus, build, script, profiles, fault, verdict, words):  # noqa: F811
    """End to end through runner and judge, with a clock 12 times faster than the real one."""
    env = gpus(f"{ALONE} {fault}", real=12)
    probe = script("gemm", f'exec {build}/assay-probe-gemm {" ".join(SHAPE)} "$@"\n')
    file = profiles(burn=[{"name": "gemm", "exec": probe, "budget": "60s", "args": ["--burn"]}], budget="90s")
    done = run("assay", "run", "--profile", "burn", "--profiles", file, env=env)
    assert done.returncode == {"pass": 0, "warn": 0}[verdict], done.stderr
    assert done.stdout.startswith(verdict.upper()) and words in done.stdout.replace("\n", " ")
    rows = re.findall(r"^(\S.*?) +([.=#-]{28,30})  (\S+)(?: MFLOP/s)? to (\S+) (?:MFLOP/s|C)$", done.stdout, re.M)
    assert len(rows) == 16, done.stdout
    sick = {i for i, (_, marks, *_) in enumerate(rows) if "=" in marks or "#" in marks}
    assert sick == {"": set(), "fan=5": {5, 13}, "hotmemory=5": {13}}[fault], rows
