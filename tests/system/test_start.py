# SPDX-License-Identifier: Apache-2.0
"""Starting programs under odd conditions: without standard descriptors, and with a limit on file sizes."""
import os
import resource

from conftest import sample

SMALL = 512  # bytes: less than any report, more than a number


def closing(*descriptors):
    """For preexec_fn: closes these descriptors."""
    return lambda: [os.close(fd) for fd in descriptors]


def test_a_probe_without_standard_output_has_not_run(run, environ):
    """Its samples used to go into the first file it opened, the lock, with exit status 0."""
    done = run("assay-probe-memory", "--budget", "3s", preexec_fn=closing(1))
    assert done.returncode == 1, done.stderr
    lock = os.path.join(environ["ASSAY_RUN_DIR"], "active.lock")
    with open(lock, encoding="utf-8") as f:
        assert "check" not in f.read()


def test_a_limit_on_file_sizes_is_a_problem_of_the_report(run, environ, profiles, says):
    """It used to kill the run by a signal."""
    path = profiles(quick=[{"name": "one", "exec": says("one", sample()), "active": False}])
    state = environ["ASSAY_STATE_DIR"]
    assert run("assay", "run", "--profiles", path, "--report").returncode == 0
    before = sorted(os.listdir(f"{state}/spool"))
    assert "1.json" in before
    done = run("assay", "run", "--profiles", path, "--report", "-o", "kv",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL)))
    assert done.returncode in (0, 3), done.stderr
    assert "File too large" in done.stdout, done.stdout
    assert sorted(os.listdir(f"{state}/spool")) == before
    assert not [name for _, _, names in os.walk(state) for name in names if name.endswith(".tmp")]
