# SPDX-License-Identifier: Apache-2.0
"""Wrong usage of any program: one error line, exit status 2, nothing on standard output."""
import pytest

WRONG = [
    ("assay", "run", "--bogus"), ("assay", "run", "--profile"), ("assay", "run", "--budget", "x"), ("assay", "run", "surplus"),
    ("assay", "admit", "surplus"), ("assay", "admit", "--job-nodes", "0"), ("assay", "admit", "-q"), ("assay", "topology", "a", "b"),
    ("assay", "list", "--bogus"), ("assay", "localise", "--reference"), ("assay", "nothing"),
    ("assayd", "surplus"), ("assayd", "--bogus"), ("assayd", "--config"),
    ("assay-controller", "surplus"), ("assay-controller", "--bogus"), ("assay-controller", "--listen"), ("assay-controller", "--help=x"),
    ("assay-probe-gemm", "surplus"), ("assay-probe-gemm", "--bogus"), ("assay-probe-gemm", "--budget", "1s"),
    ("assay-probe-gemm", "--engine", "abacus"), ("assay-probe-memory", "--engine", "abacus"), ("assay-probe-memory", "-z"),
    ("assay-probe-host-state", "--seed"), ("assay-probe-loopback", "--qps", "0"),
    ("assayctl", "nothing"), ("assayctl", "nodes", "--bogus"), ("assayctl", "nodes", "surplus"),
]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_use_is_one_line(run, build, words):
    if not (build / words[0]).exists():
        pytest.skip(f"{words[0]} is not built")
    done = run(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.endswith("\n") and done.stderr.count("\n") == 1 and "Try" not in done.stderr
    assert len(done.stderr) > 15 and any(word.lstrip("-").partition("=")[0] in done.stderr for word in words[1:])


@pytest.mark.parametrize("program", ["assay", "assayd", "assay-controller", "assay-probe-gemm", "assayctl"])
def test_help_is_no_wrong_use(run, build, program):
    if not (build / program).exists():
        pytest.skip(f"{program} is not built")
    done = run(program, "--help")
    assert done.returncode == 0 and "Usage" in done.stdout.replace("usage", "Usage") and done.stderr == ""
