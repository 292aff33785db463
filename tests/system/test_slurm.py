# SPDX-License-Identifier: Apache-2.0
"""deploy/slurm: the calls to Slurm, with a fake scontrol and a fake assay."""
import pathlib
import subprocess

import pytest

KIT = pathlib.Path(__file__).resolve().parents[2] / "deploy/slurm/assay-slurm"
FREE, OURS, OTHERS = "NodeName=gpu-1 State=IDLE", "NodeName=gpu-1 State=IDLE+DRAIN Reason=assay: a GPU fell off", "NodeName=gpu-1 State=IDLE+DRAIN Reason=fan"
BAD = (1, "answer=bad\nreasons.0=a GPU fell off the bus")
OK, DEGRADED, UNKNOWN = (0, "answer=ok"), (0, "answer=degraded\nreasons.0=slow"), (0, "answer=unknown\nreasons.0=too old")


@pytest.fixture
def slurm(tmp_path):
    """slurm("prolog", BAD, node=FREE, drain="yes"): its status, the updates by scontrol, the log."""
    bin_, conf = tmp_path / "bin", tmp_path / "etc"
    bin_.mkdir()
    conf.mkdir()

    def script(name, body):
        (bin_ / name).write_text("#!/bin/sh\n" + body)
        (bin_ / name).chmod(0o755)

    def run(name, admit, node=FREE, drain="yes", scontrol=0):
        (conf / "slurm.conf").write_text(f"DRAIN={drain} WAIT=5\n" if drain else "")
        (tmp_path / "asked").write_text("")
        (tmp_path / "log").write_text("")
        (tmp_path / "node").write_text(node)
        if admit:
            script("assay", f"cat <<'END'\n{admit[1]}\nEND\nexit {admit[0]}\n")
        else:
            (bin_ / "assay").unlink(missing_ok=True)
        script("logger", f'shift 3; echo "$*" >>{tmp_path}/log\n')
        script("scontrol", f'case $* in *show*) cat {tmp_path}/node ;; *) echo "$*" >>{tmp_path}/asked ;; esac; exit {scontrol}\n')
        link = bin_ / f"assay-{name}"
        link.unlink(missing_ok=True)
        link.symlink_to(KIT)
        done = subprocess.run([link], env={"PATH": f"{bin_}:/usr/bin:/bin", "ASSAY_CONF_DIR": str(conf), "SLURMD_NODENAME": "gpu-1"},
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, (tmp_path / "asked").read_text().splitlines(), (tmp_path / "log").read_text() + done.stderr
    return run


DRAINED = ["update NodeName=gpu-1 State=DRAIN Reason=assay: a GPU fell off the bus"]
RESUMED = ["update NodeName=gpu-1 State=RESUME"]


@pytest.mark.parametrize("name, admit, more, status, asked", [
    ("prolog", BAD, {}, 1, DRAINED),
    ("prolog", BAD, {"drain": "no"}, 0, []),
    ("prolog", BAD, {"drain": ""}, 0, []),
    ("prolog", BAD, {"scontrol": 1}, 0, []),
    ("prolog", OK, {}, 0, []),
    ("prolog", DEGRADED, {}, 0, []),
    ("prolog", UNKNOWN, {}, 0, []),
    ("prolog", (2, "assay admit: --max_age: unknown"), {}, 0, []),
    ("prolog", (124, ""), {}, 0, []),
    ("prolog", None, {}, 0, []),
    ("healthcheck", BAD, {}, 0, DRAINED),
    ("healthcheck", BAD, {"drain": "no"}, 0, []),
    ("healthcheck", BAD, {"node": OURS}, 0, []),
    ("healthcheck", BAD, {"node": OTHERS}, 0, []),
    ("healthcheck", OK, {"node": OURS}, 0, RESUMED),
    ("healthcheck", DEGRADED, {"node": OURS}, 0, RESUMED),
    ("healthcheck", UNKNOWN, {"node": OURS}, 0, []),
    ("healthcheck", OK, {"node": OTHERS}, 0, []),
    ("healthcheck", OK, {"node": OURS, "drain": "no"}, 0, []),
    ("healthcheck", (2, ""), {"node": OURS}, 0, []),
    ("healthcheck", None, {"node": OURS}, 0, []),
])
def test_slurm_is_told_only_what_is_allowed_and_sure(slurm, name, admit, more, status, asked):
    said = slurm(name, admit, **more)
    assert said[:2] == (status, asked), said


def test_what_was_not_done_is_logged(slurm):
    assert "stays in service (DRAIN=yes" in slurm("prolog", BAD, drain="no")[2]
    assert "failed with status 127: the job starts" in slurm("prolog", None)[2]
    assert "scontrol does not answer" in slurm("healthcheck", BAD, scontrol=1)[2]


def test_the_real_admit_says_what_the_script_reads(run, tmp_path):
    """Without any run: the state is unknown, and the job is admitted."""
    done = run("assay", "admit", "--budget", "0s", "-o", "kv", env={"ASSAY_STATE_DIR": str(tmp_path), "ASSAY_RUN_DIR": str(tmp_path)})
    assert done.returncode == 0 and "answer=unknown" in done.stdout.splitlines(), done.stdout
    assert any(line.startswith("reasons") and "=" in line for line in done.stdout.splitlines()), done.stdout
