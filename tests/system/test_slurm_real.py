# SPDX-License-Identifier: Apache-2.0
"""deploy/slurm with the real slurmctld and slurmd in a cluster of one node: prolog and health check drain it, and resume it."""
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

from waiting import wait_for

KIT = pathlib.Path(__file__).resolve().parents[2] / "deploy/slurm/assay-slurm"
NEEDED = [shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("slurmctld", "slurmd", "scontrol", "sbatch", "squeue")]
pytestmark = [pytest.mark.skipif(None in NEEDED, reason="slurmctld, slurmd and their commands (Debian: slurmctld slurmd slurm-client) are not installed"),
              pytest.mark.skipif(os.geteuid() != 0, reason="slurmd runs as root"),
              pytest.mark.once]  # the program that it runs has its own tests
CONF = """ClusterName=test
SlurmctldHost={host}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ReturnToService=1
SchedulerParameters=sched_interval=1,nohold_on_prolog_fail
Prolog={dir}/bin/assay-prolog
PrologFlags=Alloc
HealthCheckProgram={dir}/bin/assay-healthcheck
HealthCheckInterval=2
HealthCheckNodeState=ANY
NodeName=gpu-1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=gpu-1 Default=YES MaxTime=5 State=UP
"""


class Slurm:
    """One node, gpu-1; `assay admit` answers there as set by say()."""

    def __init__(self, dir_):
        self.dir, self.daemons = dir_, []
        host = socket.gethostname().split(".")[0]
        for name in ("bin", "etc", "state", "spool"):
            (dir_ / name).mkdir()
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            ports = [one.getsockname()[1], two.getsockname()[1]]
        (dir_ / "slurm.conf").write_text(CONF.format(host=host, dir=dir_, ports=ports))
        (dir_ / "etc/slurm.conf").write_text("DRAIN=yes WAIT=10\n")
        for name in ("prolog", "healthcheck"):
            # Slurm starts its programs with its own environment: this stands for the installed directories.
            hook = dir_ / "bin" / f"assay-{name}"
            (dir_ / "bin" / "kit").mkdir(exist_ok=True)
            link = dir_ / "bin/kit" / f"assay-{name}"
            link.symlink_to(KIT)
            hook.write_text(f"#!/bin/sh\nexport PATH={dir_}/bin:/usr/sbin:/usr/bin:/sbin:/bin ASSAY_CONF_DIR={dir_}/etc SLURM_CONF={dir_}/slurm.conf\nexec {link}\n")
            hook.chmod(0o755)
        (dir_ / "bin/logger").write_text(f'#!/bin/sh\nshift 3\necho "$*" >>{dir_}/log\n')
        (dir_ / "bin/assay").write_text(f'#!/bin/sh\necho >>{dir_}/looks\n. {dir_}/answer\nprintf "answer=%s\\nreasons.0=%s\\n" "$answer" "$reason"\nexit $status\n')
        for name in ("logger", "assay"):
            (dir_ / "bin" / name).chmod(0o755)
        self.env = {**os.environ, "SLURM_CONF": str(dir_ / "slurm.conf")}
        self.say(0, "ok", "")

    def say(self, status, answer, reason):
        new = self.dir / "answer.new"
        new.write_text(f'status={status} answer={answer} reason="{reason}"\n')
        new.rename(self.dir / "answer")

    def looks(self):
        """How often the host's verdict was queried."""
        return len((self.dir / "looks").read_text().splitlines()) if (self.dir / "looks").exists() else 0

    def start(self):
        for command in (["slurmctld", "-D"], ["slurmd", "-D", "-N", "gpu-1"]):
            with open(self.dir / f"{command[0]}.out", "wb") as out:
                self.daemons.append(subprocess.Popen(command, env=self.env, stdout=out, stderr=out, cwd=self.dir))  # pylint: disable=consider-using-with
        assert wait_for(lambda: "State=IDLE" in self.node()), "gpu-1 to be idle"

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def ask(self, *command):
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout + done.stderr

    def node(self):
        return self.ask("scontrol", "-o", "show", "node", "gpu-1")

    def reason(self):
        found = re.search(r"Reason=(.*?) \[root@", self.node())
        return found[1] if found else ""

    def submit(self):
        said = self.ask("sbatch", "--parsable", "-o", str(self.dir / "job.out"), "--wrap", "echo it ran")
        assert said.strip().isdigit(), said
        return said.strip()

    def job(self, id_):
        found = re.search(r"JobState=(\S+)", self.ask("scontrol", "-o", "show", "job", id_))
        return found[1] if found else "gone"

    def held(self, id_):
        return "held" in self.ask("squeue", "--noheader", "--format=%r", "--jobs", id_)


@pytest.fixture
def slurm(tmp_path):
    made = Slurm(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_a_bad_node_is_drained_and_given_back_by_the_real_slurm(slurm):
    first = slurm.submit()
    assert wait_for(lambda: slurm.job(first) == "COMPLETED"), "the job on a good node to end"
    slurm.say(1, "bad", "gpu 3 fell off the bus")
    assert wait_for(lambda: slurm.reason() == "assay: gpu 3 fell off the bus"), "the health check to drain gpu-1"
    waits = slurm.submit()
    assert "DRAIN" in slurm.node() and slurm.job(waits) == "PENDING"
    slurm.say(0, "ok", "")
    assert wait_for(lambda: "DRAIN" not in slurm.node()), "gpu-1 to be given back"
    assert wait_for(lambda: slurm.job(waits) == "COMPLETED"), "the job that waited to run"


def test_somebody_elses_drain_stays(slurm):
    slurm.ask("scontrol", "update", "NodeName=gpu-1", "State=DRAIN", "Reason=fan")
    slurm.say(1, "bad", "gpu 3 fell off the bus")
    looks = slurm.looks()
    assert wait_for(lambda: slurm.looks() >= looks + 2), "two looks of the health check"
    slurm.say(0, "ok", "")
    looks = slurm.looks()
    assert wait_for(lambda: slurm.looks() >= looks + 2), "two looks of the health check"
    waits = slurm.submit()
    assert slurm.reason() == "fan" and "DRAIN" in slurm.node() and slurm.job(waits) == "PENDING"


def test_the_prolog_refuses_a_job_before_it_starts(slurm):
    """The health check has not run yet: the job meets the prolog."""
    (slurm.dir / "bin/assay-healthcheck").write_text("#!/bin/sh\nexit 0\n")
    slurm.say(1, "bad", "gpu 3 fell off the bus")
    refused = slurm.submit()
    assert wait_for(lambda: slurm.reason() == "assay: gpu 3 fell off the bus"), "the prolog to drain gpu-1"
    assert not (slurm.dir / "job.out").exists()
    assert wait_for(lambda: slurm.job(refused) == "PENDING"), "the job to be put back in the queue"
    assert not slurm.held(refused)
    slurm.say(0, "ok", "")
    slurm.ask("scontrol", "update", "NodeName=gpu-1", "State=RESUME")
    assert wait_for(lambda: slurm.job(refused) == "COMPLETED"), "the job to run on the good node, released by nobody"
    assert (slurm.dir / "job.out").read_text() == "it ran\n"
