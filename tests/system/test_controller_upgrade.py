# SPDX-License-Identifier: Apache-2.0
"""An older version of the controller is killed while it acts, and the current one continues with its store.

ASSAY_OLD_BUILD names a build of the older version (git worktree add ../old COMMIT; scripts/build there).
"""
import contextlib
import os
import pathlib
import random
import sqlite3
import subprocess
import threading
from collections import Counter

import pytest
from fixtures_controller import START_S, controller, report  # noqa: F401
from test_controller_act_kill import POLICY, QUIET_S, STEP_S, bad, held, ledger_of, rows
from waiting import wait_for

OLD = os.environ.get("ASSAY_OLD_BUILD")
TRIES, TRIES_FULL = 12, 150

pytestmark = [pytest.mark.once, pytest.mark.skipif(not OLD, reason="ASSAY_OLD_BUILD names no build of an earlier landing")]


def wait_it_was_in(db, node):
    """Returns in which wait the cordon of `node` was, from the durable state."""
    actions = rows(db, "SELECT state, done_us FROM actions WHERE kind = 0")
    text = rows(db, "SELECT count(*) FROM cluster_ledger")[0][0]
    place = [h["done"] for h in ledger_of(db)["holders"] if h["node"] == node] if text else []
    out = rows(db, f"SELECT unschedulable FROM cluster_nodes WHERE node = '{node}'") == [(1,)]
    if not actions:
        return "to be decided"
    if not place:
        return "decided"
    if not out:
        return "its place stands"
    if actions[0][1] is None:
        return "out of service"
    return "recorded" if place == [False] else "over"


def version_of(db):
    with contextlib.closing(sqlite3.connect(db)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_what_an_earlier_controller_left_at_any_wait_is_done_once(controller, tmp_path, full):  # noqa: F811
    policy, config = tmp_path / "policy.yaml", tmp_path / "controller.yaml"
    policy.write_text(POLICY.format(limit=10))
    config.write_text(f"v: 1\nmode: enforce\npolicy: {policy}\n")
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "6")))
    waits = Counter()
    for i in range(TRIES_FULL if full else TRIES):
        db = tmp_path / f"store-{i}.db"
        before = controller("--config", config, db=db, of=OLD)
        assert before.post_again(report("gpu-1", 1, sku="gpu-1")).status == 202
        assert before.post_again(bad("gpu-1")).status == 202
        threading.Event().wait(dice.random() ** 2 * STEP_S)  # most steps are early
        before.kill()
        was, number = wait_it_was_in(db, "gpu-1"), version_of(db)
        waits[was] += 1

        c = controller("--config", config, db=db)
        assert wait_for(lambda: c.metrics()["assay_actions_under_way"] == 0 and c.metrics()["assay_nodes_cordoned"] == 1, QUIET_S), was
        assert c.stop()[0] == 0
        assert rows(db, "SELECT count(*) FROM actions WHERE kind = 0 AND state = 1") == [(1,)], was
        assert rows(db, "SELECT count(*) FROM actions WHERE done_us IS NULL") == [(0,)], was
        assert rows(db, "SELECT node FROM transitions WHERE event = 'cordoned'") == [("gpu-1",)], was
        assert held(db, done=True) == ["gpu-1"] and len(ledger_of(db)["holders"]) == 1, was
        if version_of(db) != number:
            refused_by_the_earlier_one(db, number)
    print(dict(waits))
    assert len(waits) >= (4 if full else 2), waits


def refused_by_the_earlier_one(db, number):
    """It prints one line, and the old contents are in a copy beside the store."""
    done = subprocess.run([f"{OLD}/assay-controller", "--listen", "127.0.0.1:0", "--db", str(db)], capture_output=True, text=True,
                          timeout=START_S, check=False)
    assert done.returncode != 0 and done.stderr.count("\n") == 1 and str(version_of(db)) in done.stderr, done.stderr
    copies = sorted(pathlib.Path(db).parent.glob(f"{pathlib.Path(db).name}.before-*"))
    assert [version_of(copy) for copy in copies] == [number], copies
