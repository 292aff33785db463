# SPDX-License-Identifier: Apache-2.0
"""assayd and the real controller: both may be killed at any moment, and every report arrives once."""
import random
import sqlite3

from assayd_fixtures import assayd, assayd_path, config, spool, stub  # noqa: F401
from fixtures_controller import controller  # noqa: F401

REPORTS = 120
KILLS = 6


def stored(db):
    with sqlite3.connect(db) as connection:
        return [row[0] for row in connection.execute("SELECT seq FROM reports ORDER BY seq")]


def test_every_report_is_stored_once_whoever_is_killed(assayd, controller, config, spool, wait_until):
    dice = random.Random(4)
    for seq in range(1, REPORTS + 1):
        spool(seq, pad=dice.randrange(3000))
    c = controller()
    listen = f"127.0.0.1:{c.port}"
    config(controller=f"http://{listen}")
    daemon = assayd()
    for kill in range(KILLS):
        left = len(spool.left()) - dice.randrange(5, 15)
        wait_until(lambda left=left: len(spool.left()) <= left, seconds=60)
        if kill % 2:
            daemon.kill()
            daemon.wait()
            daemon = assayd()
        else:
            c.kill()
            c = controller("--listen", listen)
    assert len(spool.left()) > 0  # the kills fell into the work
    wait_until(lambda: not spool.left(), seconds=60)
    c.stop()
    assert stored(c.db) == list(range(1, REPORTS + 1))
