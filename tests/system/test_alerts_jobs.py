# SPDX-License-Identifier: Apache-2.0
"""Alerts of slow jobs."""
import contextlib
import sqlite3

from alertmanager_stub import alertmanager  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_alerts import INCIDENT, Host, settings
from test_jobs import build, send, trace, window  # noqa: F401
from waiting import wait_for

SLOW = "AssaySlowJob"


def test_a_slow_job_is_told_until_a_window_says_less(controller, alertmanager, tmp_path):  # noqa: F811
    a = alertmanager()
    config = settings(tmp_path, a)
    c = controller("--config", config)
    window(c, send(c, trace(slowdown=1.54, kind="job", host=None), job="research/moe-2"))
    assert wait_for(lambda: a.count(SLOW) == (1, 0))
    (alert,) = a.named(SLOW)
    assert alert["labels"] == {"alertname": SLOW, "job": "research/moe-2", "namespace": "research", "severity": "warning"}
    assert alert["annotations"]["sentence"].startswith("research/moe-2 takes 1.54 times as long as without stragglers")
    assert alert["annotations"]["command"] == "assayctl job research/moe-2"
    c.kill()
    posts = len(a.posts)
    c = controller("--config", config)
    assert wait_for(lambda: any(x["labels"]["alertname"] == SLOW for _, alerts in a.posts[posts:] for x in alerts))
    assert a.count(SLOW) == (1, 0)
    window(c, send(c, trace(mark="2", kind="none", slowdown=1.01, host=None), job="research/moe-2"))
    assert wait_for(lambda: a.count(SLOW) == (1, 1))


def test_a_job_that_was_slow_once_is_not_told_by_a_restart(controller, alertmanager, tmp_path):  # noqa: F811
    db = tmp_path / "assay.db"
    c = controller(db=db)  # without an Alertmanager
    window(c, send(c, trace(slowdown=1.54, kind="job", host=None), job="research/moe-2"))
    c.kill()
    with contextlib.closing(sqlite3.connect(db)) as store, store:
        assert store.execute("UPDATE jobs SET last_us = last_us - 3 * 3600 * 1000000").rowcount == 1
    a = alertmanager()
    c = controller("--config", settings(tmp_path, a), db=db)
    Host().fail(c)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 0))
    assert a.count(SLOW) == (0, 0)
    window(c, send(c, trace(mark="2", slowdown=1.54, kind="job", host=None), job="research/moe-2"))
    assert wait_for(lambda: a.count(SLOW) == (1, 0)), "now it is"
