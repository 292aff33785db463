# SPDX-License-Identifier: Apache-2.0
"""assay run repeats measurements disturbed by others, within its limits of count and time."""
import json

import pytest
from conftest import sample

GOOD = sample("gemm.rate", "cpu:1", 40e9, unit="FLOP/s")
BUSY = sample("gemm.rate", "cpu:1", None, unit="FLOP/s", state="busy", note="pid 7 (kworker) took 7 % of cpu 1")
FIRST = sample("gemm.rate", "cpu:0", 41e9, unit="FLOP/s")


@pytest.fixture
def coming_and_going(script, profiles, tmp_path):
    """coming_and_going(n, ...) is a profiles file with a gemm that another process disturbs in its first n runs; .runs() counts them."""
    calls = tmp_path / "calls"

    def make(busy, budget="60s", more=""):
        probe = script("gemm", f"echo x >>{calls}\n{more}\necho '{FIRST}'\n"
                               f"if [ $(wc -l <{calls}) -le {busy} ]; then echo '{BUSY}'; else echo '{GOOD}'; fi\n")
        return profiles(budget=budget, quick=[{"name": "gemm", "exec": probe}])

    make.runs = lambda: len(calls.read_text().splitlines())
    return make


def verdict_of(done):
    return json.loads(done.stdout)["verdict"]


@pytest.mark.parametrize("busy", [0, 1, 2])
def test_a_load_that_goes_leaves_no_check_open(run, coming_and_going, busy):
    done = run("assay", "run", "--profiles", coming_and_going(busy), "-o", "json")
    assert done.returncode == 0 and coming_and_going.runs() == busy + 1
    verdict = verdict_of(done)
    assert verdict["verdict"] == "pass" and verdict["counts"]["inconclusive"] == 0
    assert {i["subject"]: i["value"] for i in verdict["items"]} == {"cpu:0": 41e9, "cpu:1": 40e9}


def test_a_load_that_stays_is_busy_after_three_tries(run, coming_and_going):
    done = run("assay", "run", "--profiles", coming_and_going(99), "-o", "json")
    assert done.returncode == 3 and coming_and_going.runs() == 3
    assert verdict_of(done)["sentence"].startswith("inconclusive: cpu:1 was busy")


def test_there_is_no_repeat_beyond_the_budget_of_the_run(run, coming_and_going):
    # A probe of 5 s in a run of 5 s: less than that is left.
    done = run("assay", "run", "--profiles", coming_and_going(99, budget="5s"), "-o", "json")
    assert done.returncode == 3 and coming_and_going.runs() == 1


def test_who_measures_though_it_is_busy_has_his_values(run, coming_and_going):
    done = run("assay", "run", "--profiles", coming_and_going(99), "--busy", "run", "-o", "json")
    assert done.returncode == 3 and coming_and_going.runs() == 1


def test_a_repeat_never_hides_what_the_first_one_found(run, script, profiles, tmp_path):
    calls = tmp_path / "calls"
    wrong = sample("gemm.correct", "cpu:0", 3, unit="1", better="lower", ok=False)
    right = sample("gemm.correct", "cpu:0", 0, unit="1", better="lower", ok=True)
    probe = script("gemm", f"echo x >>{calls}\nif [ $(wc -l <{calls}) = 1 ]; then echo '{wrong}'; echo '{BUSY}'\n"
                           f"else echo '{right}'; echo '{GOOD}'; fi\n")
    done = run("assay", "run", "--profiles", profiles(quick=[{"name": "gemm", "exec": probe}]), "-o", "json")
    assert done.returncode == 1 and len(calls.read_text().splitlines()) == 2
    assert verdict_of(done)["items"][0]["check"] == "gemm.correct" and verdict_of(done)["counts"]["inconclusive"] == 0
