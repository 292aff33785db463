# SPDX-License-Identifier: Apache-2.0
"""Parses the output of guest scenarios with RDMA probes, step by step; and the common result of RDMA probes without RDMA."""
import json
import re
from pathlib import Path

import pytest


class Step:
    """The output of one run of a probe: samples, stderr, status."""

    def __init__(self, body, family):
        lines = body.splitlines()
        self.family = family
        self.samples = [json.loads(line) for line in lines if line.startswith("{")]
        self.words = [line for line in lines if not line.startswith(("{", "status "))]
        self.status = [int(line.split()[1]) for line in lines if line.startswith("status ")]

    def __getitem__(self, check):
        """{subject: sample} of FAMILY.CHECK."""
        return {s["subject"]: s for s in self.samples if s["check"] == f"{self.family}.{check}"}

    def one(self, check):
        found = list(self[check].values())
        assert len(found) == 1, (found, self.words, self.status)
        return found[0]


def steps_of(text, family):
    """{name: [Step]} of a scenario's output; its checks are FAMILY.CHECK."""
    found = {}
    for name, body in re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", text, re.MULTILINE | re.DOTALL):
        found.setdefault(name, []).append(Step(body, family))
    return found


def needs(build, program):
    """The program's name; skips if the build does not have it."""
    if not (build / program).exists():
        pytest.skip("built without libibverbs")
    return program


def blames_nobody(sample, state, words):
    """Does the sample have no value but a reason?"""
    return (sample["state"], sample["value"], sample["ok"]) == (state, None, None) and words in sample["note"]


def assert_not_applicable(run, probe):
    if Path("/sys/class/infiniband").exists():
        pytest.skip("this host has RDMA")
    done = run(probe)
    assert done.returncode == 77 and "RDMA" in done.stderr and not done.stdout


def assert_refused(run, probe, words, message):
    done = run(probe, *words)
    assert done.returncode == 2 and message in done.stderr and not done.stdout
