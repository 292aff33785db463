# SPDX-License-Identifier: Apache-2.0
"""The controller is killed after each commit of an investigation: it continues to its end, and nothing is done without a record."""
import contextlib
import http.client
import os
import shutil
import sqlite3

import disk
import pytest
from fixtures_controller import controller  # noqa: F401
from test_investigations import listed
from test_job_judged import ADMIN, SLOW, WAIT_S, Fleet
from test_jobs_kill import disk_log  # noqa: F401
from waiting import wait_for



class Mortal:
    """Controllers on copies of one store with a suspect; each kills itself at a different operation."""

    def __init__(self, start, library, directory):
        self.f = Fleet(start, directory, jobs="observe")
        self.f.suspect()
        assert self.f.c.stop()[0] == 0
        self.ready, self.state, self.log = directory / "ready", directory / "disk", directory / "operations"
        self.ready.mkdir()
        for path in directory.glob("assay.db*"):
            shutil.copy(path, self.ready)
        self.f.set_policy(mode="enforce", jobs="enforce", times=1, fresh="30m")
        self.library = library

    def born(self, kill=0):
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self.ready, self.state)
        self.log.write_bytes(b"")
        env = {"LD_PRELOAD": str(self.library), "ASSAY_DISK_ROOT": os.path.realpath(self.state), "ASSAY_DISK_LOG": str(self.log),
               "ASSAY_DISK_STDOUT": "/proc/self/fd/1", "ASSAY_DISK_KILL": str(kill)}
        self.f.c = self.f.start(*self.f.options, db=self.state / "assay.db", env=env)

    def again(self):
        self.f.c = self.f.start(*self.f.options, db=self.state / "assay.db")

    def look(self):
        """Answers orders: the host is slow. Returns True if the investigation is over, or the controller was killed."""
        f = self.f
        if f.c.process.poll() is not None:
            return True
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = f.c.get(f"/v1/nodes/{SLOW}/orders?wait=0", token=ADMIN)
            for order in answer.json if answer.status == 200 else []:
                f.report(SLOW, bad=True, profile="full", order={"id": order["id"], "kind": "deep"})
            return f.cordoned() == [SLOW] and [i["state"] for i in listed(f)] == ["cordoned"]
        return False

    def left(self, where):
        """Was anything done without a record? Reads a copy, because opening a store changes it."""
        shutil.rmtree(where, ignore_errors=True)
        shutil.copytree(self.state, where)
        with contextlib.closing(sqlite3.connect(where / "assay.db")) as db:
            (asked,) = db.execute("SELECT count(*) FROM actions WHERE rule = 'attribution' OR kind = 0").fetchone()
            records = db.execute("SELECT json_extract(body, '$.state') FROM investigations").fetchall()
        assert len(records) <= 1 and (records or not asked)
        return records[0][0] if records else None


@pytest.mark.once
def test_killed_after_any_commit_of_one_it_ends_once(controller, disk_log, tmp_path, full):  # noqa: F811
    mortal = Mortal(controller, disk_log, tmp_path)
    mortal.born()
    before = len(disk.read_record(mortal.log))
    assert wait_for(mortal.look, WAIT_S) and mortal.f.c.process.poll() is None, mortal.f.c.log()
    assert mortal.f.c.stop()[0] == 0
    ops = disk.read_record(mortal.log)
    commits = [n for n in range(before + 1, len(ops) + 1) if ops[n - 1][0] == "S"]
    assert len(commits) > 8
    for number in commits if full else [commits[len(commits) // 2]]:
        mortal.born(kill=number)
        assert wait_for(mortal.look, WAIT_S), mortal.f.c.log()
        mortal.f.c.kill()
        mortal.left(tmp_path / "left")
        mortal.again()
        assert wait_for(mortal.look, WAIT_S), (number, listed(mortal.f), mortal.f.c.log())
        (record,) = listed(mortal.f)
        assert (record["state"], record["ended"], record["run"]) == ("cordoned", None, 1), number
        assert len(mortal.f.actions(action="cordon", state="done")) == 1
        mortal.f.c.kill()
