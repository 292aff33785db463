# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/real_time with a fast clock: it counts, resumes, and reports busy and missed runs."""
import json
import re
import subprocess

import pytest
from gpu_fixtures import gpu_libraries  # noqa: F401

pytestmark = [pytest.mark.once, pytest.mark.alone]  # a GPU heats up only if the burn gets its cores
FAST = ["--times", "1", "--rate", "24"]


@pytest.fixture
def play(top, build, gpu_libraries, tmp_path):  # noqa: F811
    """play("--only", "fan") returns (exit status, output, the rows it has written)."""

    def start(*args):
        results = tmp_path / "results.jsonl"
        done = subprocess.run([top / "tests/gpu/real_time", build, "--results", results, *FAST, *args], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []

    return start


def test_sick_gpus_are_named_and_good_ones_are_not_and_nothing_is_played_twice(play):
    status, printed, rows = play("--only", "fan,memory,good-burn")
    assert status == 0 and printed.endswith("3 passed, 0 failed, 0 skipped\n"), printed
    assert {(row["play"], row["outcome"]) for row in rows} == {("fan", "named"), ("memory", "named"), ("good-burn", "clean")}
    status, printed, again = play("--only", "fan,memory,good-burn")
    assert status == 0 and again == rows and not re.search(r"^fan +1:", printed, re.M) and "fan        throttled after 95 s of load: 1 of 1 right" in printed


@pytest.mark.long  # forty runs of a probe
def test_a_host_that_launches_late_is_named_by_the_judge_of_the_fleet(play):
    status, printed, rows = play("--only", "launches", "--rate", "3")
    assert status == 0 and rows[0]["outcome"] == "named" and "launches take 10 % longer on one of eight hosts: 1 of 1 right" in printed, printed


def test_what_a_burn_is_too_short_for_is_missed(play):
    status, printed, rows = play("--only", "fan", "--burn-s", "60")
    assert status == 1 and "0 of 1 right; 1 missed" in printed and [row["outcome"] for row in rows] == ["missed"]


def test_a_busy_run_is_made_again_and_counted(play):
    status, printed, rows = play("--only", "good-burn", "--burn-s", "60", "--gpus", "busy=2 pid=4242424")
    assert status == 1 and "0 of 1 right; 4 busy and made again" in printed and [row["outcome"] for row in rows] == ["busy"] * 4


def test_an_innocent_is_counted_against_it(play):
    status, printed, _ = play("--only", "good-burn", "--gpus", "fan=5")
    assert status == 1 and "0 of 1 right; 1 blamed" in printed and "gpu:GPU-face0000-0000-0000-0000-000000000005" in printed


def test_an_unknown_play_is_told(play):
    assert play("--only", "fam") == (2, "", [])
