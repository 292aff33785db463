# SPDX-License-Identifier: Apache-2.0
"""A real PyTorch job over gloo hangs (tests/job/hang): its hosts' observations name the rank that stopped it, and no host is cordoned.

Alone and once, like test_real_job.py.
"""
import subprocess

import pytest

PYTHON = "/usr/bin/python3"
RUN_S, IMPORT_S = 500, 60

pytestmark = [pytest.mark.once, pytest.mark.alone]


@pytest.fixture
def hang(top, build, configured):
    """hang("sigstop", seed) -> (exit status, output)"""
    if configured("enable-sanitizers"):
        pytest.skip("the library that shifts clocks cannot be loaded before that of the sanitizers")
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, timeout=IMPORT_S, check=False).returncode:
        pytest.skip(f"{PYTHON} has no torch: install python3-torch")

    def start(how, seed):
        done = subprocess.run([top / "tests/job/hang", "--build", build, "--how", how, "--seed", str(seed)], capture_output=True, text=True,
                              timeout=RUN_S, check=False)
        if "namespaces cannot be made here" in done.stderr or "unshare" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, done.stdout

    return start


def test_a_rank_that_a_signal_stopped_is_named(hang):
    status, said = hang("sigstop", 1)
    assert status == 0 and "right: rank 1 is named, and no host is touched" in said, said


@pytest.mark.long
@pytest.mark.parametrize("how", ["sigstop", "starved", "killed", "none"])
@pytest.mark.parametrize("seed", [2, 3])
def test_each_way_to_stop_a_rank_names_it(hang, how, seed):
    status, said = hang(how, seed)
    assert status == 0, said
