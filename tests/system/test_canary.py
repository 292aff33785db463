# SPDX-License-Identifier: Apache-2.0
"""A secret in a job's environment stays on its host, whatever the host sends about the job: ranks, profiles, hangs, reports."""
import gzip
import json

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Answer
from test_hang_look import order
from test_processes import CANARY, environment, tree, written  # noqa: F401
from test_trace_directory import END_S, JOB, follower, folder, profile, put, pytestmark, rank  # noqa: F401
from waiting import wait_for

SECRETS = {"AWS_SECRET_ACCESS_KEY": CANARY, "HF_TOKEN": CANARY, "RANK_TOKEN": CANARY, "MASTER_PASSWORD": f"x{CANARY}", "NCCL_SECRET": CANARY}


def kind(path):
    """The kind of what was sent: "processes", "hang", "traces", "reports"."""
    return path.partition("?")[0].removesuffix("/batch").rpartition("/")[2]


def unpacked(body):
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def test_a_secret_of_a_job_is_in_nothing_that_leaves_its_host(stub, follower, rank, folder, run, tmp_path):  # noqa: F811
    stub.on_trace = lambda handler, body: Answer(202, {"state": "queued"})
    stub.on_processes = lambda body: Answer(200, {"processes": 1})
    stub.on_hang = lambda path, body: Answer(204)
    ranks = [rank(i, LOCAL_RANK=i, ASSAY_RUN=2, **SECRETS) for i in range(2)]
    daemon = follower()
    # A profiler that records its environment.
    put(folder, "rank0.json", json.dumps({**json.loads(profile(0)), "environment": SECRETS, "hostname": CANARY}).encode())
    order(stub, 1, JOB)
    # The host's own run, which looks for users of the devices.
    env = {"ASSAY_NODE": NODE, "ASSAY_SYSROOT": str(tmp_path / "tree")}
    out = run("assay", "run", "--profile", "passive", "--report", env=env)
    assert out.returncode in (0, 1, 3), out.stderr

    def kinds():
        with stub.lock:
            return {kind(path) for path, _, _ in stub.sent}
    assert wait_for(lambda: kinds() >= {"processes", "hang", "traces", "reports"}, END_S), (kinds(), daemon.log())
    with stub.lock:
        sent, asked = list(stub.sent), list(stub.asked)
    told = {kind(path): unpacked(body) for path, _, body in sent}
    assert b'"RANK": "0"' in told["processes"].replace(b'":"', b'": "') and JOB.encode() in told["hang"]  # what may be told is
    for path, headers, body in sent:
        assert CANARY not in path + headers and CANARY.encode() not in unpacked(body), path
    assert all(CANARY not in path + str(headers) for path, headers in asked)
    # It is not stored for a later connection or logged either.
    assert CANARY not in daemon.log() + out.stdout + out.stderr
    for kept in ("state", "run"):
        assert CANARY.encode() not in written(tmp_path / kept)
    assert all(process.poll() is None and CANARY.encode() in environment(process) for process in ranks)
