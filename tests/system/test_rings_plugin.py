# SPDX-License-Identifier: Apache-2.0
"""The real plug-in, loaded like NCCL does, hands its ring to the real assayd: its operations are reported, also after it was killed."""
import os
import signal
import subprocess

import pytest
from assayd_fixtures import assayd, assayd_path, config, spool, stub  # noqa: F401
from test_hang_look import JOB, order, told, tree  # noqa: F401
from waiting import wait_for


@pytest.fixture
def player(build, tree, tmp_path):  # noqa: F811
    """player(0) is a rank of the job that runs collectives through the plug-in until it is killed."""
    out = subprocess.run(["make", "-s", "-C", str(build), "tests/nccl/harness", "libassay-nccl-profiler.so"], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    running = []

    def start(rank):
        held = os.open(tree / "dev" / "nvidia0", os.O_RDONLY)
        env = {"PATH": os.environ["PATH"], "RANK": str(rank), "WORLD_SIZE": "16", "ASSAY_JOB": JOB,
               "ASSAY_RING_SOCKET": str(tmp_path / "run/jobs/ring.sock")}
        process = subprocess.Popen([build / "tests/nccl/harness", "--plugin", build / "libassay-nccl-profiler.so", "--play", str(rank)],
                                   pass_fds=[held], env=env, stdout=subprocess.DEVNULL)
        os.close(held)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def said(document, rank):
    """The rank's positions and operations from rings, with the names of their groups."""
    (of,) = [r for r in document["ranks"] if r["rank"] == rank] or [{}]
    names = [g["name"] for g in document["groups"]]
    return {names[p["group"]]: p for p in of.get("positions", [])}, of


@pytest.mark.once  # the plug-in is built for a program without sanitizers
def test_what_a_job_does_is_told_by_its_ring_and_so_is_its_last_record(assayd, config, stub, told, player, tmp_path):  # noqa: F811
    config(rings={"mode": "on"})
    daemon = assayd(env={"ASSAY_SYSROOT": str(tmp_path / "tree")})
    assert wait_for(lambda: (tmp_path / "run/jobs/ring.sock").exists() and stub.times_held), daemon.log()
    job = player(3)
    assert wait_for(lambda: "\nassay_rings 1\n" in (tmp_path / "run/rings.prom").read_text()), (daemon.log(), (tmp_path / "run/rings.prom").read_text())
    order(stub, 1)
    assert wait_for(lambda: told() and said(told()[-1], 3)[0]), (daemon.log(), told())
    places, of = said(told()[-1], 3)
    assert "ring" in of["sources"] and of["pid"] == job.pid
    assert any(name.endswith(" AllReduce") and p["enqueued"] > 0 for name, p in places.items()), places
    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    before = len(told())
    assert wait_for(lambda: len(told()) > before and said(told()[-1], 3)[1].get("process", {}).get("state") == "gone"), (daemon.log(), told()[-1])
    assert said(told()[-1], 3)[0], told()[-1]
