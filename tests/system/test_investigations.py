# SPDX-License-Identifier: Apache-2.0
"""Investigations: what is done about a suspect is a record, from its begin to its end, and a person can withdraw it."""
import json
import signal
import urllib.parse

import pytest
from fixtures_controller import controller  # noqa: F401
from test_job_judged import ADMIN, AGES, JOB, SENDER, SLOW, WAIT_S, Fleet
from waiting import wait_for

ALL = "/v1/investigations"


def listed(f):
    return f.c.get(ALL, token=ADMIN).json["items"]


def number(f):
    """Of the one that goes on, as its job says; or None."""
    return f.job()["investigation"]


def record(f, id=1):
    return f.c.get(f"{ALL}/{id}", token=ADMIN).json


def wait_state(f, state, id=1):
    assert wait_for(lambda: f.c.get(f"{ALL}/{id}", token=ADMIN).status == 200 and record(f, id)["state"] == state, WAIT_S), (listed(f), f.c.log())
    return record(f, id)


def cancel(f, id=1, body=None, token=ADMIN):
    return f.c.call("POST", f"{ALL}/{id}/cancel", json.dumps({"reason": "it is being moved"} if body is None else body).encode(), token=token)


def outcomes(f):
    """{outcome: how many} of those that are not 0."""
    found = {k.split('"')[1]: v for k, v in f.c.metrics().items() if k.startswith("assay_investigations_total{")}
    assert {"open", "cordoned", "withdrawn", "acquitted"} < set(found)
    return {k: v for k, v in found.items() if v}


def link(f):
    """Options of assayctl."""
    token = f.tmp_path / "token"
    token.write_text(ADMIN + "\n")
    token.chmod(0o600)
    return "--controller", f"http://{f.c.host}:{f.c.port}", "--token-file", str(token)


def revive(f):
    """kill -9, and a controller on what it left."""
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
    revive(f)
    assert record(f) == begun
    f.claim(SLOW, [])
    order = f.order(SLOW)
    assert [t["result"] for t in wait_state(f, "testing")["tests"]] == [None]
    why = f.c.get(f"/v1/nodes/{SLOW}/why", token=ADMIN).json["jobs"]
    assert [(j["job"], j["investigation"]) for j in why] == [(JOB, 1)]
    revive(f)
    assert wait_for(lambda: f.c.call("GET", "/readyz").status == 200, WAIT_S) and record(f)["state"] == "testing"
    f.report(SLOW, bad=True, profile="full", order=order)
    assert wait_for(lambda: record(f)["state"] in ("evict", "cordoned"), WAIT_S), f.c.log()
    revive(f)
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
    assert over["sentence"] == f"run 2 of {JOB} goes on without {SLOW}" and len(listed(f)) == 1


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
    f.c.kill()  # before what it asked for can be sure to be taken back
    f.c = f.start(*f.options)
    over = record(f)
    assert (over["state"], over["hosts"][0]["state"]) == ("withdrawn", "withdrawn") and over["ended"] and over["by"].startswith("operator")
    assert over["sentence"].endswith(": it is being moved")
    again = cancel(f, body={"reason": "another"})
    assert again.status == 200 and "was withdrawn by operator" in again.json["sentence"] and record(f) == over
    f.report(SLOW)
    assert wait_for(lambda: [a["state"] for a in f.actions(action="retest")] == ["dropped"], WAIT_S), f.actions()
    assert f.actions(action="retest")[0]["result"] == "no job asks for it any more"
    assert wait_for(lambda: "investigation 1 was withdrawn" in f.job()["decision"]["reason"], WAIT_S)
    assert number(f) is None and f.job()["state"] == "suspected" and f.job()["decision"]["action"] == "watch"
    f.suspect(ages=((5, 1),))  # once more: it is not looked into again
    assert "investigation 1 was withdrawn" in f.job()["decision"]["reason"]
    assert f.orders(SLOW) == [] and len(listed(f)) == 1 and f.cordoned() == []
    table = run("assayctl", "investigations", *link(f)).stdout
    assert "withdrawn" in table and JOB in table and SLOW in table


@pytest.mark.once
def test_one_ends_with_the_mode_or_the_job_and_is_begun_in_no_other_mode(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path, jobs="dry-run")
    f.suspect()
    assert wait_for(lambda: f.actions(rule="attribution"), WAIT_S) and listed(f) == [] and number(f) is None

    def policy(**more):
        f.set_policy(mode="enforce", times=1, **{"fresh": "30m", **more})
        f.c.process.send_signal(signal.SIGHUP)

    policy(jobs="enforce")
    assert wait_state(f, "testing")["tests"]
    policy(jobs="observe")
    assert wait_state(f, "withdrawn")["sentence"] == "the mode is not enforce any more"
    assert cancel(f).status == 409
    assert wait_for(lambda: f.actions(action="retest", state="dropped"), WAIT_S)
    policy(jobs="enforce")
    assert wait_for(lambda: len(listed(f)) == 2, WAIT_S) and record(f, 2)["ended"] is None
    policy(jobs="enforce", fresh="1s")
    assert wait_state(f, "withdrawn", 2)["sentence"].startswith(f"no window of {JOB} came")
    assert [i["id"] for i in listed(f)] == [2, 1] and wait_for(lambda: outcomes(f) == {"open": 2, "withdrawn": 2}, WAIT_S)
    page = f.c.get(f"{ALL}?limit=1", token=ADMIN).json
    assert [i["id"] for i in page["items"]] == [2]
    assert [i["id"] for i in f.c.get(f"{ALL}?limit=1&cursor={page['next']}", token=ADMIN).json["items"]] == [1]
    assert f.c.get(f"{ALL}/3", token=ADMIN).status == 404


@pytest.mark.once
def test_a_host_is_in_one_and_whoever_gives_it_back_withdraws_it(controller, tmp_path):  # noqa: F811
    f, other = Fleet(controller, tmp_path), "research/moe-2"
    f.suspect()
    order = f.order(SLOW)
    assert wait_state(f, "testing")
    for ages in AGES:  # of this one the trace alone says that it ran there
        assert f.send(f.trace(), ages, job=other)["suspect"] == SLOW
    assert wait_for(lambda: f"investigation 1 of {JOB} looks into it" in f.job(other)["decision"]["reason"], WAIT_S), f.job(other)
    assert f.job(other)["investigation"] is None and len(listed(f)) == 1
    f.report(SLOW, bad=True, profile="full", order=order)
    wait_state(f, "cordoned")
    answer = f.c.call("POST", f"/v1/nodes/{SLOW}/uncordon", json.dumps({"reason": "cable replaced"}).encode(), token=ADMIN)
    assert answer.status == 200, answer.body
    over = wait_state(f, "withdrawn")
    assert over["ended"] and over["by"] and over["sentence"] == f"a person gave {SLOW} back"
    assert wait_for(lambda: "investigation 1 was withdrawn" in f.job()["decision"]["reason"], WAIT_S)
    assert wait_for(lambda: [(i["id"], i["job"]) for i in listed(f)][0] == (2, other), WAIT_S), listed(f)
