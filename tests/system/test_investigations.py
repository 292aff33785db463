# SPDX-License-Identifier: Apache-2.0
"""Investigations: the handling of a suspect is recorded from begin to end, and a person can withdraw it."""
import json
import urllib.parse

import pytest
from fixtures_controller import controller  # noqa: F401
from test_job_judged import ADMIN, JOB, SENDER, SLOW, WAIT_S, Fleet
from waiting import wait_for

ALL = "/v1/investigations"


def listed(f):
    return f.c.get(ALL, token=ADMIN).json["items"]


def number(f):
    """The number of the open investigation according to its job, or None."""
    return f.job()["investigation"]


def record(f, id=1):
    return f.c.get(f"{ALL}/{id}", token=ADMIN).json


def wait_state(f, state, id=1):
    assert wait_for(lambda: f.c.get(f"{ALL}/{id}", token=ADMIN).status == 200 and record(f, id)["state"] == state, WAIT_S), (listed(f), f.c.log())
    return record(f, id)


def cancel(f, id=1, body=None, token=ADMIN):
    return f.c.call("POST", f"{ALL}/{id}/cancel", json.dumps({"reason": "it is being moved"} if body is None else body).encode(), token=token)


def outcomes(f):
    """{outcome: count} without zeros."""
    found = {k.split('"')[1]: v for k, v in f.c.metrics().items() if k.startswith("assay_investigations_total{")}
    assert {"open", "cordoned", "withdrawn", "acquitted"} < set(found)
    return {k: v for k, v in found.items() if v}


def oldest(f):
    """{state: seconds} of open investigations."""
    found = {k.split('"')[1]: v for k, v in f.c.metrics().items() if k.startswith("assay_investigation_oldest_seconds{")}
    assert list(found) == ["open", "testing", "evict", "cordoned", "replaced"]
    return {k: v for k, v in found.items() if v}


def link(f):
    """Options of assayctl."""
    token = f.tmp_path / "token"
    token.write_text(ADMIN + "\n")
    token.chmod(0o600)
    return "--controller", f"http://{f.c.host}:{f.c.port}", "--token-file", str(token)


def revive(f):
    """kill -9, then a controller on the same store."""
    f.c.kill()
    f.c = f.start(*f.options)


@pytest.mark.once
def test_one_is_seen_through_killed_in_each_state(controller, tmp_path, run):  # noqa: F811
    f = Fleet(controller, tmp_path)
    f.suspect(ends=False)
    begun = wait_state(f, "open")
    assert (begun["job"], begun["run"], begun["tests"], begun["ended"]) == (JOB, 1, [], None) and JOB in begun["reason"]
    (host,) = begun["hosts"]
    assert (host["node"], host["class"], host["state"], host["boot"]) == (SLOW, "compute", "open", "b0")
    assert number(f) == 1 and f.orders(SLOW) == [] and wait_for(lambda: outcomes(f) == {"open": 1}, WAIT_S)
    assert wait_for(lambda: list(oldest(f)) == ["open"], WAIT_S) and oldest(f)["open"] < 2 * WAIT_S
    revive(f)
    assert record(f) == begun
    f.claim(SLOW, [])
    order = f.order(SLOW)
    assert [t["result"] for t in wait_state(f, "testing")["tests"]] == [None]
    why = f.c.get(f"/v1/nodes/{SLOW}/why", token=ADMIN).json["jobs"]
    assert [(j["job"], j["investigation"]) for j in why] == [(JOB, 1)]
    revive(f)
    assert wait_for(lambda: f.c.call("GET", "/readyz").status == 200, WAIT_S)
    wait_state(f, "testing")  # the state seen before may not have been durable yet
    f.report(SLOW, bad=True, profile="full", order=order)
    assert wait_for(lambda: record(f)["state"] in ("evict", "cordoned"), WAIT_S), f.c.log()
    revive(f)
    f.report(SLOW, bad=True)  # its boot is not known before
    done = wait_state(f, "cordoned")
    assert f.cordoned() == [SLOW] and done["acted"] and done["ended"] is None
    assert done["tests"][0]["result"] == "it failed again" and done["hosts"][0]["state"] == "cordoned"
    assert len(f.actions(action="cordon", state="done")) == 1
    shown = run("assayctl", "investigation", "1", *link(f)).stdout
    assert f"investigation 1 of {JOB}" in shown and "it failed again" in shown
    revive(f)
    healthy = f.trace(slow="none")
    answer = f.c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": JOB, "run": 2}), healthy,
                      headers={"Assay-First-Step-Age": "60", "Assay-Last-Step-Age": "5"}, token=ADMIN)
    assert answer.status == 202
    over = wait_state(f, "replaced")
    assert over["sentence"] == f"run 2 of {JOB} continues without {SLOW}" and len(listed(f)) == 1
    assert f.c.stop()[0] == 0


@pytest.mark.once
def test_a_person_withdraws_one_and_its_test_ends(controller, tmp_path, run):  # noqa: F811
    f = Fleet(controller, tmp_path)
    f.suspect()
    assert f.order(SLOW) and wait_state(f, "testing")
    assert cancel(f, 2).status == cancel(f, "x").status == 404
    assert cancel(f, token=SENDER).status == 403
    for body in ({}, {"reason": " "}, {"reason": "x", "until": "1h"}):
        assert cancel(f, body=body).status == 422
    assert record(f)["state"] == "testing"
    said = run("assayctl", "investigation", "1", "cancel", "-r", "it is being moved", *link(f))
    assert said.returncode == 0 and said.stdout.startswith("investigation 1 is withdrawn by operator")
    f.c.kill()  # perhaps before its requests are withdrawn
    f.c = f.start(*f.options)
    over = record(f)
    assert (over["state"], over["hosts"][0]["state"]) == ("withdrawn", "withdrawn") and over["ended"] and over["by"].startswith("operator")
    assert over["sentence"].endswith(": it is being moved")
    again = cancel(f, body={"reason": "another"})
    assert again.status == 200 and "was withdrawn by operator" in again.json["sentence"] and record(f) == over
    f.report(SLOW)
    assert wait_for(lambda: [a["state"] for a in f.actions(action="retest")] == ["dropped"], WAIT_S), f.actions()
    assert f.actions(action="retest")[0]["result"] == "no job needs it any more"
    assert wait_for(lambda: "investigation 1 was withdrawn" in f.job()["decision"]["reason"], WAIT_S)
    assert number(f) is None and f.job()["state"] == "suspected" and f.job()["decision"]["action"] == "watch"
    f.suspect(ages=((5, 1),))  # suspected again: no new investigation
    assert "investigation 1 was withdrawn" in f.job()["decision"]["reason"]
    assert f.orders(SLOW) == [] and len(listed(f)) == 1 and f.cordoned() == []
    table = run("assayctl", "investigations", *link(f)).stdout
    assert "withdrawn" in table and JOB in table and SLOW in table
    assert f.c.stop()[0] == 0
