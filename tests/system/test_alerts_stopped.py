# SPDX-License-Identifier: Apache-2.0
"""Alerts of hung jobs."""
import pytest
from alertmanager_stub import alertmanager  # noqa: F401
from clock_fixtures import clock, clock_shift  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_alerts import settings
from test_job_beats import JOB, LIMIT_S, beat, time  # noqa: F401
from waiting import wait_for

STOPPED = "AssayStoppedJob"


@pytest.mark.once
def test_a_job_that_stands_still_is_told_on_by_a_controller_that_starts(controller, time, clock, alertmanager, tmp_path):  # noqa: F811
    a = alertmanager()
    config = settings(tmp_path, a)
    c = controller("--config", config, env=clock.env())
    assert beat(c, 1204).status == 200
    time.quiet(c, LIMIT_S, lambda: beat(c, 1204))
    assert wait_for(lambda: a.count(STOPPED) == (1, 0))
    (alert,) = a.named(STOPPED)
    assert alert["labels"] == {"alertname": STOPPED, "job": JOB, "namespace": "research", "severity": "critical"} and "stale" not in alert["annotations"]
    assert alert["annotations"]["sentence"].startswith(f"{JOB} stands still: no step for ")
    c.kill()
    c = controller("--config", config, env=clock.env())
    assert wait_for(lambda: "stale" in a.named(STOPPED)[0]["annotations"])
    assert a.count(STOPPED) == (1, 0)
    a.ahead = time.wall
    assert wait_for(lambda: beat(c, 1206).status == 200)
    assert wait_for(lambda: a.count(STOPPED) == (1, 1))
