# SPDX-License-Identifier: Apache-2.0
"""assayd follows the logs of jobs that run here, and counts the lines that report errors."""
import contextlib
import os
import re
import subprocess

import pytest
from assayd_fixtures import assayd, assayd_path, config, spool, stub  # noqa: F401
from test_processes import tree  # noqa: F401
from test_trace_directory import OTHER, USER, rank  # noqa: F401
from waiting import wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="files of several users take root to make")
OOM, TIMEOUT = "torch.OutOfMemoryError: CUDA out of memory. Tried\n", "[rank3] Watchdog caught collective operation timeout: WorkNCCL\n"


@pytest.fixture
def reader(assayd, config, tree, top, tmp_path):  # noqa: F811
    """reader() is an assayd that reads logs/*.log; .counts() are its counts."""
    (tmp_path / "logs").mkdir(mode=0o755)

    def start(**traces):
        config(traces={"logs": str(tmp_path / "logs/*.log"), **traces})
        daemon = assayd(env={"ASSAY_SYSROOT": str(tree), "ASSAY_RUN_DIR": str(tmp_path / "run"), "ASSAY_POLICY_DIR": str(top / "policies")})

        def counts():
            with contextlib.suppress(OSError):
                text = (tmp_path / "run/job-logs.prom").read_text()
                return {m[1]: int(m[2]) for m in re.finditer(r'lines_total\{pattern="([\w-]+)"\} (\d+)', text) if int(m[2])}
            return None

        daemon.counts = counts
        assert wait_for(lambda: counts() is not None), daemon.log()
        return daemon
    return start


@pytest.fixture
def log(tmp_path):
    def append(name, text, user=USER):
        path = tmp_path / "logs" / name
        with open(path, "a", encoding="utf-8") as file:
            os.fchown(file.fileno(), user, user)  # first, because a file whose owner has no rank is skipped
            file.write(text)
        return path
    return append


def test_what_a_job_writes_while_it_runs_is_counted(reader, rank, log):  # noqa: F811
    rank(0)
    log("old.log", OOM)  # before assayd: not read
    log("strange.log", "", OTHER)
    daemon = reader()
    assert daemon.counts() == {}
    log("new.log", "step 1\n" + OOM + OOM)
    log("strange.log", 9 * OOM, OTHER)  # its owner has no rank here
    assert wait_for(lambda: daemon.counts() == {"cuda-out-of-memory": 2}), (daemon.counts(), daemon.log())
    assert daemon.log().count("log of a job: the job needed more memory than its GPU has pattern=cuda-out-of-memory lines=2") == 1
    assert "Tried" not in daemon.log()


def test_a_log_that_is_read_on_is_read_once(reader, rank, log):  # noqa: F811
    rank(0)
    log("old.log", OOM)
    daemon = reader()
    log("new.log", OOM)
    assert wait_for(lambda: daemon.counts() == {"cuda-out-of-memory": 1}), (daemon.counts(), daemon.log())
    log("old.log", TIMEOUT)
    log("new.log", "step 2\n")
    assert wait_for(lambda: daemon.counts() == {"cuda-out-of-memory": 1, "nccl-timeout": 1}), (daemon.counts(), daemon.log())
    assert wait_for(lambda: "pattern=nccl-timeout lines=1" in daemon.log()), daemon.log()


@pytest.mark.long
@pytest.mark.once
def test_a_log_whose_ranks_were_away_is_not_read_again(reader, rank, log):  # noqa: F811
    first = rank(0)
    daemon = reader()
    log("new.log", OOM)
    assert wait_for(lambda: daemon.counts() == {"cuda-out-of-memory": 1}), (daemon.counts(), daemon.log())
    first.kill()
    first.wait()
    rank(1, OTHER)  # when it is seen, so is the end of the first one
    log("other.log", TIMEOUT, OTHER)
    assert wait_for(lambda: daemon.counts() == {"cuda-out-of-memory": 1, "nccl-timeout": 1}), (daemon.counts(), daemon.log())
    rank(0)
    log("new.log", TIMEOUT)
    assert wait_for(lambda: daemon.counts().get("nccl-timeout") == 2), (daemon.counts(), daemon.log())
    assert daemon.counts() == {"cuda-out-of-memory": 1, "nccl-timeout": 2}


def test_what_is_no_file_is_left_alone(reader, rank, log, tmp_path):  # noqa: F811
    rank(0)
    daemon = reader()
    os.mkfifo(tmp_path / "logs/a.log")
    (tmp_path / "logs/b.log").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(9 * OOM)
    os.chown(elsewhere, USER, USER)
    (tmp_path / "logs/c.log").symlink_to(elsewhere)
    log("d.log", OOM)
    assert wait_for(lambda: daemon.counts() == {"cuda-out-of-memory": 1}), (daemon.counts(), daemon.log())


@pytest.mark.parametrize("traces, words", [
    ({"logs": "x.log"}, "assayd.yaml: traces.logs[0]: expected the absolute path of files, such as /logs/*.log"),
    ({"logs": [1]}, "assayd.yaml: traces.logs[0]: "),
    ({"dirs": ["/a"], "patterns": "/x"}, "assayd.yaml: traces: patterns apply to logs, and none are named"),
    ({"logs": "/a", "patterns": "x"}, "assayd.yaml: traces.patterns: expected the absolute path of a file"),
    ({"logs": "/a", "patterns": "/nowhere.yaml"}, "traces.patterns: /nowhere.yaml: No such file"),
])
def test_a_wrong_configuration_is_one_line(assayd_path, environ, config, traces, words):  # noqa: F811
    config(traces=traces)
    done = subprocess.run([str(assayd_path), "--check"], env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and words in done.stderr, (done.returncode, done.stderr)
