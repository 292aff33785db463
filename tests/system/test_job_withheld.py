# SPDX-License-Identifier: Apache-2.0
"""A cordon that job and tests agree on, but that a budget or jobs.born refuses: what happens meanwhile."""
import contextlib
import json
import signal
import sqlite3

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from test_investigations import number, record, revive, wait_state
from test_job_judged import ADMIN, HOSTS, JOB, SLOW, WAIT_S, Fleet
from waiting import wait_for

OTHERS = [h for h in HOSTS if h != SLOW][:4]  # half of all: the limit of budget.total


def order_of(f, node, what):
    def answered():
        answer = f.c.call("POST", f"/v1/nodes/{node}/{what}", json.dumps({"reason": "a cable is replaced"}).encode(), token=ADMIN)
        # It has just started, or another action on the host is in progress: it asks to retry.
        return answer.status not in (409, 503) and answer
    answer = wait_for(answered, WAIT_S)
    assert answer and answer.status in (200, 202), answer and answer.body


def set_policy(f, **settings):
    f.set_policy(**{"mode": "enforce", "jobs": "enforce", "times": 1, "fresh": "30m", **settings})
    f.c.process.send_signal(signal.SIGHUP)


def refused(f):
    return [a for a in f.actions(action="cordon", state="refused") if a["node"] == SLOW]


def suspected_and_shown_bad(f, report_bad):
    f.suspect()
    report_bad(order=f.order(SLOW))
    assert wait_for(lambda: refused(f), WAIT_S), f.actions()
    assert f.cordoned().count(SLOW) == 0


@pytest.mark.once
def test_what_was_proven_is_cordoned_for_once_a_budget_lets_it(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path)
    for node in OTHERS:
        order_of(f, node, "cordon")
    suspected_and_shown_bad(f, lambda order: f.report(SLOW, bad=True, profile="full", order=order))
    assert refused(f)[0]["result"].startswith("budget.total: 4 of 8 nodes")
    assert wait_state(f, "evict")["hosts"][0]["proven"]
    set_policy(f, fresh="1s")  # the job has ended: no window blames it now
    stands = wait_for(lambda: "as soon as the budgets allow" in record(f)["sentence"] and record(f), WAIT_S)
    assert stands and stands["state"] == "evict" and number(f) == 1 and f.job()["state"] == "lapsed"
    revive(f)
    f.report(SLOW, bad=True)
    assert wait_for(lambda: f.c.call("GET", "/readyz").status == 200, WAIT_S) and record(f)["state"] == "evict"
    order_of(f, OTHERS[0], "uncordon")
    assert wait_for(lambda: SLOW in f.cordoned(), WAIT_S), (record(f), f.actions(), f.c.log())
    (cordon,) = [a for a in f.actions(action="cordon", state="done") if a["node"] == SLOW]
    assert f"{JOB} is slow because of it" in cordon["reason"] and wait_state(f, "cordoned")


@pytest.mark.once
def test_what_was_proven_is_nothing_once_the_host_is_well(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path)
    for node in OTHERS:
        order_of(f, node, "cordon")
    suspected_and_shown_bad(f, lambda order: f.report(SLOW, bad=True, profile="full", order=order))
    set_policy(f, fresh="1s")
    assert wait_for(lambda: "as soon as the budgets allow" in record(f)["sentence"], WAIT_S)
    f.report(SLOW, profile="full")
    assert wait_state(f, "withdrawn")["ended"]
    order_of(f, OTHERS[0], "uncordon")
    f.report(SLOW, bad=True, profile="full")  # again, without blame by a job
    assert f.orders(SLOW) is not None and SLOW not in f.cordoned()


@pytest.mark.once
def test_a_part_that_always_was_slow_is_told_and_cordoned_as_jobs_born_lets(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path, born=0.5)

    def always_slow(order=None):
        f.seq[SLOW] += 1
        cores = [sample(subject=f"cpu:{i}", value=50e9 if i == 3 else 70e9 + i * 1e8) for i in range(8)]
        answer = f.c.post(report(SLOW, f.seq[SLOW], samples=cores, profile="full", **({"order": order} if order else {})), token=ADMIN)
        assert answer.status == 202, answer.body

    for _ in range(6):
        always_slow()
    suspected_and_shown_bad(f, always_slow)
    (told,) = refused(f)
    assert told["result"].startswith("jobs.born: of 8 hosts of ") and "0 may be (0.5 %, rounded down)" in told["result"]
    assert "it has always been this slow" in told["reason"] and JOB in told["reason"]
    why = f.c.get(f"/v1/nodes/{SLOW}/why", token=ADMIN).json
    assert "jobs.born" in json.dumps(why), why
    assert f.c.metrics()['assay_cordons_total{result="refused"}'] == 1
    revive(f)
    assert wait_for(lambda: f.c.call("GET", "/readyz").status == 200, WAIT_S) and SLOW not in f.cordoned()
    set_policy(f, born=12.5)
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S), (f.actions(), f.c.log())
    order_of(f, SLOW, "uncordon")
    revive(f)  # it still counts, although the host is back and the controller was restarted
    assert f.c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        rows = [json.loads(r) for n, r in db.execute("SELECT node, record FROM lives") if n == SLOW]
    assert rows and rows[0]["born"] > 0
