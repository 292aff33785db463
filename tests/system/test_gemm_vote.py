# SPDX-License-Identifier: Apache-2.0
"""The vote of assay-probe-gemm on fake GPUs: errors that no exact product shows, and which GPU is to blame."""
import json
import re

import pytest
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

SHAPE = ["--shape", "48,40,56"]
CORRECT = "gemm.correct"


@pytest.fixture
def correct(run, gpus):  # noqa: F811
    """correct("count=3 odd=1", "--option", ...) is gemm.correct of each GPU."""

    def start(settings, *args):
        done = run("assay-probe-gemm", *SHAPE, *args, env=gpus(settings))
        assert (done.returncode, done.stderr) == (0, "")
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        return {s["subject"]: s for s in samples if s["check"] == CORRECT}

    return start


def check_right(s, way="exact+vote"):
    assert (s["value"], s["ok"], s["params"]["way"]) == (0, True, way), s
    assert not {"note", "code", "with"} & {*s}


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
@pytest.mark.parametrize("bad", [0, 2])
def test_an_element_that_is_wrong_in_random_data_only_names_its_gpu(correct, dtype, bad):
    samples = correct(f"count=4 odd={bad}", "--dtype", dtype)
    wrong = samples.pop(gpu(bad))
    for s in samples.values():
        check_right(s)
    assert (wrong["value"], wrong["ok"], wrong["severity"], wrong["code"]) == (1, False, "fatal", "wrong-product")
    assert wrong["params"]["way"] == "vote" and "with" not in wrong
    found = re.fullmatch(r"random product, run 1: row 1, column 2 of 48x40 is (\S+) where 3 others have (\S+), 1 such; "
                         r"in (\d+) of (\d+) runs; again in other memory and with another shape", wrong["note"])
    assert found and found[1] != found[2] and found[3] == found[4], wrong["note"]


def test_one_wrong_run_of_many_says_so(correct):
    samples = correct("count=3 odd1=1")
    wrong = samples.pop(gpu(1))
    for s in samples.values():
        check_right(s)
    assert (wrong["ok"], wrong["severity"]) == (False, "warn")
    found = re.search(r"run 3: row 1, column 2 .* where 2 others have .* in 1 of (\d+) runs; not again", wrong["note"])
    assert found and int(found[1]) >= 8, wrong["note"]


def test_two_gpus_that_differ_are_undecided_and_neither_is_condemned(correct):
    samples = correct("count=2 odd=1")
    for i in range(2):
        s, other = samples[gpu(i)], gpu(1 - i)
        assert (s["ok"], s["severity"], s["code"], s["with"]) == (False, "warn", "undecided", [other])
        assert f" where {other} has " in s["note"] and "which of them is wrong is undecided" in s["note"]


def test_of_two_gpus_the_exact_check_tells(correct):
    samples = correct("count=2 wrong=1")
    check_right(samples[gpu(0)])
    assert samples[gpu(1)]["severity"] == "fatal" and samples[gpu(1)]["params"]["way"] == "exact"


def test_one_run_of_the_only_gpu_is_held_against_its_others(correct):
    s = correct("count=1 odd1=0")[gpu(0)]
    assert (s["ok"], s["severity"]) == (False, "warn") and " where its other runs gave " in s["note"]


@pytest.mark.parametrize("settings", ["count=3 other=1", "count=2 other=0", "count=1"])
def test_gpus_of_another_model_do_not_vote_with_these(correct, settings):
    for s in correct(settings).values():
        check_right(s)


def test_a_vote_takes_those_who_are_there(correct):
    samples = correct("count=4 odd=1 busy=2 pid=4242424")
    assert samples[gpu(2)]["state"] == "busy" and samples[gpu(1)]["code"] == "wrong-product"
    check_right(samples[gpu(0)])
    check_right(samples[gpu(3)])


@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_product_that_is_never_the_same_condemns_nobody(correct, n):
    samples = correct(f"count={n} loose=1")
    for s in samples.values():
        assert (s["value"], s["ok"], s["params"]["way"]) == (0, True, "exact") and "code" not in s
        assert s["note"] == f"no vote: random products differ from run to run on {n} of {n} GPUs"
