# SPDX-License-Identifier: Apache-2.0
"""A backup of the store while it is in use, and restoring it."""
import contextlib
import json
import sqlite3
import threading

import pytest

from fixtures_controller import controller, report  # noqa: F401
from waiting import wait_for

HOSTS = 6


def fill(c, first, reports, hosts=HOSTS):
    for seq in range(first, first + reports):
        for host in range(hosts):
            assert c.post(report(f"gpu-{host}", seq=seq)).status == 202


def backup(c):
    """Makes a backup and waits for its end. Returns the file."""
    before = c.get("/v1/backup").json["made"]
    answer = c.call("POST", "/v1/backup", b"{}")
    assert answer.status == 202
    assert wait_for(lambda: c.get("/v1/backup").json["state"] == "done" and c.get("/v1/backup").json["made"] > before)
    return c.get("/v1/backup").json["file"]


def ask(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


@pytest.fixture
def restored(run, controller):
    """restored(c, file): restores the backup to the store of a stopped controller. Returns the messages."""
    def restore(c, file, status=0):
        out = run("assay-controller", "--restore", file, "--db", c.db)
        assert out.returncode == status, out.stderr
        return out.stdout + out.stderr
    return restore


def test_a_copy_is_made_while_reports_come(controller, tmp_path):
    """It is a consistent snapshot with everything acknowledged before the request."""
    config = tmp_path / "controller.yaml"
    config.write_text("v: 1\nreport-rate: 100000\nreport-burst: 100000\n")
    c = controller("--config", config)
    fill(c, 1, 20)
    stop, sent = threading.Event(), []

    def send():
        while not stop.is_set():
            sent.append(c.post(report("busy", seq=len(sent) + 1)).status)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        assert wait_for(lambda: len(sent) > 5)
        before = len(sent)
        file = backup(c)
    finally:
        stop.set()
        thread.join()
    assert set(sent) == {202} and file == f"{c.db}-backup"
    assert ask(file, "PRAGMA integrity_check") == [("ok",)]
    rows = ask(file, "SELECT count(*), max(r.seq) FROM reports r JOIN nodes n ON n.id = r.node WHERE n.node = 'busy'")[0]
    assert rows[0] == rows[1] >= before
    assert ask(file, "SELECT count(*) FROM reports r JOIN nodes n ON n.id = r.node WHERE n.node != 'busy'") == [(20 * HOSTS,)]
    assert c.log() == ""


def test_a_copy_is_asked_for_by_who_may_do_all(controller, tmp_path):
    c = controller()
    assert c.get("/v1/backup").json == {"state": "none", "file": f"{c.db}-backup", "made": 0, "pages": 0, "left": 0, "error": None}
    file = backup(c)
    assert backup(c) == file, "one takes the place of the other"
    (tmp_path / "assay.db-backup.part").mkdir()
    assert c.call("POST", "/v1/backup", b"{}").status == 503


def test_a_store_that_was_restored_goes_on(controller, restored):
    c = controller("--mode", "enforce")
    fill(c, 1, 3)
    file = backup(c)
    # Later events: reports, a cordon by a person, another controller's start.
    fill(c, 4, 2)
    assert c.call("POST", "/v1/nodes/gpu-1/cordon", json.dumps({"reason": "it burns", "break_glass": True}).encode()).status == 200
    actions = c.get("/v1/actions").json["items"]
    assert c.stop()[0] == 0
    epoch = ask_epoch(c)
    words = restored(c, file)
    assert "restored" in words and "reports" in words
    c = controller("--mode", "enforce")
    assert c.log() == "" and c.metrics()["assay_store_lost_commits"] == 0
    # The backup is older, but the cordons in the cluster are current.
    assert c.get("/v1/nodes/gpu-1").json["seq"] == 3
    assert c.get("/v1/nodes/gpu-1/why").json["life"]["state"] == "cordoned"
    assert wait_for(lambda: c.metrics()["assay_nodes_cordoned"] == 1)  # metrics may be up to a second old
    # No id is used twice, and a host that resends lost reports is accepted.
    assert [a["id"] for a in c.get("/v1/actions").json["items"]] == [a["id"] for a in actions]
    assert c.call("POST", "/v1/nodes/gpu-1/uncordon", json.dumps({"reason": "out"}).encode()).status == 200
    assert int(c.get("/v1/actions").json["items"][0]["id"]) > int(actions[0]["id"])
    assert c.post(report("gpu-1", seq=3)).status == 200
    assert c.post(report("gpu-1", seq=4)).status == 202
    assert c.post(report("gpu-1", seq=6)).status == 202
    assert c.stop()[0] == 0
    assert ask_epoch(c) > epoch


def ask_epoch(c):
    return json.loads(ask(c.db, "SELECT text FROM cluster_ledger")[0][0])["epoch"]


def test_a_store_that_is_broken_is_restored_all_the_same(controller, restored, tmp_path):
    c = controller()
    fill(c, 1, 3)
    file = backup(c)
    assert c.stop()[0] == 0
    with open(c.db, "r+b") as f:
        f.write(bytes(20000))
    assert "nothing" in restored(c, file)
    c = controller()
    assert c.log() == "" and c.get("/v1/nodes/gpu-1").json["seq"] == 3
    assert (tmp_path / "assay.db-before").exists()


def test_what_cannot_be_restored_is_named_and_changes_nothing(controller, restored, tmp_path):
    c = controller()
    fill(c, 1, 3)
    file = backup(c)
    assert "another program has it open" in restored(c, file, status=1)
    assert c.stop()[0] == 0
    whole = c.db.read_bytes()
    bad = tmp_path / "bad"
    bad.write_bytes(b"no store at all\n" * 100)
    assert "bad" in restored(c, bad, status=2)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(whole[:len(whole) // 2])
    assert "damaged" in restored(c, damaged, status=2)
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 1000")
    assert "version 1000" in restored(c, file, status=2)
    assert "missing" in restored(c, tmp_path / "missing", status=2)
    assert c.db.read_bytes() == whole and sorted(p.name for p in tmp_path.glob("assay.db*")) == [
        "assay.db", "assay.db-backup", "assay.db-sums"]
