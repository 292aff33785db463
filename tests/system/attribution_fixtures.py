# SPDX-License-Identifier: Apache-2.0
"""Traces of simulated jobs (tests/attribution/generate) for the tests of assay-attribute."""
import json
import subprocess

import pytest


@pytest.fixture(scope="session")
def generator(build):
    program = build / "tests/attribution/generate"
    if not program.exists():
        subprocess.run(["make", "-C", build, "tests/attribution/generate"], check=True, capture_output=True)
    return program


@pytest.fixture
def trace(generator, tmp_path):
    """trace(injection, seed, "dp=4", ...) -> (path, the truth that must be found)"""

    def make(injection, seed=1, *words):
        path, truth = tmp_path / f"{injection}-{seed}.jsonl", tmp_path / "truth.json"
        with path.open("wb") as out:
            subprocess.run([generator, injection, str(seed), f"truth={truth}", *words], stdout=out, check=True)
        return path, json.loads(truth.read_text())

    return make


@pytest.fixture
def attribute(run):
    """attribute(path, "-o", "table") -> its output; it must not fail."""

    def start(*words):
        result = run("assay-attribute", *words)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    return start
