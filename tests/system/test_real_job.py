# SPDX-License-Identifier: Apache-2.0
"""A real PyTorch job over gloo (tests/job/run): its profiles make the slow host a suspect, and none if no host is slow.

Hosts are namespaces, each with an agent that reports its rank: the profiles name no host.

Alone and once: other load would delay all ranks in turn, and then rightly no host is blamed.
"""
import re
import subprocess

import pytest

PYTHON = "/usr/bin/python3"
RUN_S, IMPORT_S = 500, 60
DISTURBED = 1.05  # slowdown of a job without a slow host from which on other load on this machine delays its ranks

pytestmark = [pytest.mark.once, pytest.mark.alone]


@pytest.fixture
def job(top, build, configured):
    """job("--slow", "host-1", ...) -> (exit status, output)"""
    if configured("enable-sanitizers"):
        pytest.skip("the plain build is enough: none of the job is our C")
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, timeout=IMPORT_S, check=False).returncode:
        pytest.skip(f"{PYTHON} has no torch: install python3-torch")

    def start(*words, program="run"):
        done = subprocess.run([top / "tests/job" / program, "--build", build, *map(str, words)], capture_output=True, text=True, timeout=RUN_S,
                              check=False)
        if "namespaces cannot be made here" in done.stderr:
            pytest.skip(done.stderr.strip())
        if "no kube-apiserver" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, done.stdout

    return start


def others_slow_it(job):
    """The maximum slowdown of a job without a slow host; 0 if its windows do not show it."""
    _, said = job("--slow", "none", "--seed", 1, "--steps", 32)
    return max((float(x) for x in re.findall(r"^ +\d+ +\d+ +([\d.]+) \[", said, re.M)), default=0)


def test_the_slow_host_is_the_only_suspect(job):
    """A host that is not slow is never suspected; the slow one always, unless other load hides it, which a control job shows."""
    status, said = job("--slow", "host-1", "--seed", 1, "--steps", 32)
    if status and re.search(r"suspected is (nobody|host-1) ", said):
        slowdown = others_slow_it(job)
        if slowdown >= DISTURBED:
            pytest.skip(f"what else runs on this machine slows a job of which no host is slow {slowdown:.2f} times")
    assert status == 0 and "right: host-1 was slow; suspected is host-1 (suspected)" in said, said


@pytest.mark.long
def test_nobody_is_accused_where_none_is_slow(job):
    status, said = job("--slow", "none", "--seed", 1, "--steps", 32)
    assert status == 0 and "right: no host was slow" in said, said


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("words", [("--slow", "host-0"), ("--slow", "host-3"), ("--slow", "host-2", "--model", "wide"),
                                   ("--slow", "host-1", "--model", "deep"), ("--slow", "host-0", "--model", "attention"),
                                   ("--model", "deep"), ("--model", "attention"), ("--control", "own-code"), ("--control", "noisy-neighbour")])
def test_more_hosts_and_controls(job, words, seed):
    status, said = job(*words, "--seed", seed)
    assert status == 0, said


@pytest.mark.long
@pytest.mark.parametrize("words", [("--slow", "host-1"), ("--slow", "none"), ("--slow", "none", "--control", "own-code"),
                                   ("--slow", "none", "--control", "noisy-neighbour")])
def test_the_whole_loop(job, words):
    """Two trainings and four tests, one after the other."""
    status, said = job(*words, program="loop")
    assert status == 0, said
