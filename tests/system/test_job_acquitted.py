# SPDX-License-Identifier: Apache-2.0
"""A suspect whose test passes in comparison with other hosts is acquitted; if tests are inconclusive, the reason and a remedy are given."""
import contextlib
import signal
import sqlite3

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from test_job_judged import ADMIN, AGES, HOSTS, JOB, OTHER, SLOW, WAIT_S, Fleet
from waiting import wait_for

OTHER_JOB = "research/moe-2"


def told(f, reason):
    """Texts of the events, after the controller has stopped."""
    assert f.c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        return [text for node, text in db.execute("SELECT node, message FROM cluster_events WHERE reason = ?", (reason,)) if node == SLOW]


def results(f):
    return [t["result"] for t in f.the_suspect()["tests"]]


def acquitted(f):
    """When it was acquitted; takes effect from the next judging on."""
    assert wait_for(lambda: "its tests acquitted it for this job" in f.job()["decision"]["reason"], WAIT_S), (f.job(), f.c.log())
    return f.the_suspect()["acquitted"]


def why(f):
    return f.c.get(f"/v1/nodes/{SLOW}/why", token=ADMIN).json


def shown(run, f, *words):
    """The output of assayctl, on one line."""
    token = f.tmp_path / "token"
    token.write_text(ADMIN)
    token.chmod(0o600)
    done = run("assayctl", *words, "--token-file", token, "--controller", f"http://{f.c.host}:{f.c.port}")
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def is_left_alone(f, looks=1):
    """It gets no orders; each request waits for a second, in which it is judged."""
    n = len(f.actions(action="retest"))
    assert [f.orders(SLOW) for _ in range(looks)] == [[]] * looks
    assert len(f.actions(action="retest")) == n
    return True


@pytest.mark.once
def test_a_pass_beside_others_acquits_for_a_time_and_over_a_kill(controller, run, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect()
    order = f.order(SLOW)
    assert f.the_suspect()["acquitted"] is None and f.c.metrics()["assay_suspects"] == 1
    f.report(SLOW, profile="full", order=order)
    at = acquitted(f)
    assert at
    said = f.job()
    assert (said["state"], said["suspect"], said["decision"]["action"]) == ("acquitted", None, "watch")
    assert "its tests acquitted it for this job" in said["decision"]["reason"] and results(f) == ["it passed"]
    (entry,) = said["accused"]
    assert (entry["node"], entry["class"], entry["acquitted"]) == (SLOW, "compute", at)
    assert [(a["job"], a["acquitted"]) for a in why(f)["acquitted"]] == [(JOB, at)]
    assert wait_for(lambda: f.c.metrics()["assay_acquittal_seconds_count"] == 1, WAIT_S)  # once it is durable
    assert f.c.metrics()["assay_acquittal_seconds_sum"] > 0 and f.c.metrics()["assay_suspects"] == 0
    assert f"acquitted {SLOW}: of compute" in shown(run, f, "job", JOB)
    assert f"acquitted by its tests job {JOB}: of compute" in shown(run, f, "why", SLOW)
    assert is_left_alone(f) and f.cordoned() == []
    assert f.c.metrics()["assay_acquittal_seconds_count"] == 1
    f.c.kill()
    f.c = f.start(*f.options)
    assert f.the_suspect()["acquitted"] == at
    f.report(SLOW)  # it reports, so its boot is known; its windows still blame it
    assert f.job()["state"] == "acquitted" and f.the_suspect()["acquitted"] == at and is_left_alone(f, looks=2)
    assert f.c.metrics()["assay_acquittal_seconds_count"] == 0  # since the start

    f.set_policy(mode="enforce", jobs="enforce", times=1, fresh="30m", more=", acquit: {for: 1s}")
    f.c.process.send_signal(signal.SIGHUP)
    again = f.order(SLOW)  # the acquittal has expired: earlier results no longer count
    assert again["id"] != order["id"] and f.the_suspect()["acquitted"] is None
    assert len(told(f, "AssayHostAcquitted")) == 1


@pytest.mark.once
def test_a_pass_that_nobody_else_was_held_against_tells_nothing(controller, run, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect()
    order = f.order(SLOW)
    f.seq[SLOW] += 1
    alone = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8, params={"n": 4096}) for i in range(8)]  # the others have no sample
    body = report(SLOW, f.seq[SLOW], samples=alone, profile="full", order=order)
    assert f.c.post(body, token=ADMIN).status == 202
    assert wait_for(lambda: f.the_suspect()["incident"], WAIT_S) == "cannot tell", f.c.log()
    said = f.the_suspect()
    assert results(f) == ["it passed"] and said["acquitted"] is None and said["action"] == "watch"
    assert said["tells"].startswith("gemm.rate compared with other hosts") and said["tells"] in said["reason"]
    assert f.job()["state"] == "suspected" and [j["incident"] for j in why(f)["jobs"]] == ["cannot tell"] and why(f)["acquitted"] == []
    assert "cannot tell; what would tell: gemm.rate compared with" in shown(run, f, "job", JOB)
    assert is_left_alone(f) and f.cordoned() == []
    assert f.c.metrics()["assay_acquittal_seconds_count"] == 0 and f.c.metrics()["assay_suspects"] == 1
    assert told(f, "AssayHostAcquitted") == []


@pytest.mark.once
def test_a_test_that_fails_acquits_nobody(controller, tmp_path):
    f = Fleet(controller, tmp_path, times=2)
    f.suspect()
    f.report(SLOW, bad=True, profile="full", order=f.order(SLOW))
    second = f.order(SLOW)  # the repeat is due: its tests are not over
    assert f.the_suspect()["acquitted"] is None and f.the_suspect()["incident"] is None
    f.report(SLOW, profile="full", order=second)
    assert wait_for(lambda: f.the_suspect()["acquitted"], WAIT_S), f.job()  # the latest report has everything
    assert results(f) == ["it failed again", "it passed"] and f.cordoned() == []


GOOD = (-1.5, -1, -0.5, -0.2, 0.2, 0.5, 1, 1.5)  # standard deviations


def a_run(f, node, slowest):
    """A run of a plan: good parts vary with a standard deviation of 2 %, the fourth has speed `slowest`."""
    f.seq[node] = f.seq.get(node, 0) + 1
    parts = [1 + 0.02 * GOOD[(i + HOSTS.index(node)) % 8] for i in range(8)]
    parts[3] = slowest or parts[3]
    answer = f.c.post(report(node, f.seq[node], samples=[sample(subject=f"cpu:{i}", value=70e9 * p) for i, p in enumerate(parts)]), token=ADMIN)
    assert answer.status == 202, answer.body


@pytest.mark.once
def test_slow_silicon_is_told_of_a_busy_host_from_its_own_runs(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    for _ in range(4):
        for node in HOSTS:
            a_run(f, node, 0.9 if node == SLOW else None)
    f.suspect(ends=False)
    assert wait_for(lambda: f.the_suspect()["slow"], WAIT_S), f.c.log()
    said = f.the_suspect()
    (slow,) = said["slow"].items()
    assert slow[0] == SLOW and 0.88 < slow[1]["speed"] < 0.95 and slow[1]["speed"] < slow[1]["low"] < 1
    assert said["action"] == "probe" and list(said["waits"]) == [SLOW] and said["incident"] is None and said["tests"] == []
    assert f"its slowest part reaches {slow[1]['speed']:.3f} of normal" in said["reason"]
    assert f.cordoned() == [] and is_left_alone(f, looks=2)
    (text,) = told(f, "AssayHostSlow")
    f.c = f.start(*f.options)
    assert f.the_suspect()["slow"] == said["slow"]
    a_run(f, SLOW, 0.9)  # it reports, and is judged again
    assert is_left_alone(f, looks=2) and told(f, "AssayHostSlow") == [text]
    assert "of normal, and 1 good part in 200 is below" in text


@pytest.mark.once
def test_a_host_that_several_jobs_accuse_is_told_to_a_person_once(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect()
    f.report(SLOW, profile="full", order=f.order(SLOW))
    assert acquitted(f)
    for ages in AGES:
        assert f.send(f.trace(), ages, job=OTHER_JOB)["suspect"] == SLOW
    disputed = "accused by several jobs"
    assert wait_for(lambda: f.the_suspect()["incident"] == disputed, WAIT_S), f.job()
    (other,) = f.job(OTHER_JOB)["suspects"]
    assert other["incident"] == disputed and "2 jobs have accused it within 7d" in other["reason"] + f.the_suspect()["reason"]
    f.report(SLOW, profile="full", order=f.order(SLOW))  # its own tests continue
    assert wait_for(lambda: f.c.metrics()["assay_acquittal_seconds_count"] == 2, WAIT_S)  # it is durable
    f.c.kill()
    f.c = f.start(*f.options)
    assert is_left_alone(f) and f.cordoned() == [] and f.the_suspect()["incident"] == disputed
    assert {a["job"] for a in why(f)["acquitted"]} == {JOB, OTHER_JOB}
    assert len(told(f, "AssayHostDisputed")) == 1


@pytest.mark.once
def test_of_a_rack_as_many_are_tested_at_once_as_the_policy_lets(controller, tmp_path):
    rack = "labels: [{nodes: 'gpu-*', labels: {topology.kubernetes.io/rack: r1}}]\n"
    f = Fleet(controller, tmp_path, more=", per_domain: 1", budget=", domain: {label: topology.kubernetes.io/rack, max: 8}", config_more=rack)
    f.suspect()
    order = f.order(SLOW)
    for ages in AGES:
        assert f.send(f.trace(slow=OTHER), ages, job=OTHER_JOB)["suspect"] == OTHER
    waits = "jobs.per_domain limits how many hosts of its rack are tested"
    assert wait_for(lambda: waits in f.job(OTHER_JOB)["decision"]["reason"], WAIT_S), f.job(OTHER_JOB)
    assert f.orders(OTHER) == [] and [a["node"] for a in f.actions(action="retest")] == [SLOW]
    f.report(SLOW, profile="full", order=order)
    assert acquitted(f) and f.order(OTHER)  # its turn


@pytest.mark.once
def test_a_suspect_that_is_busy_for_too_long_is_given_up(controller, tmp_path):
    f = Fleet(controller, tmp_path, more=", busy_limit: 1s")
    f.suspect(ends=False)
    assert wait_for(lambda: "jobs.busy_limit" in f.job()["decision"]["reason"], WAIT_S), f.job()
    assert list(f.the_suspect()["waits"]) == [SLOW] and f.the_suspect()["action"] == "watch"
    f.claim(SLOW, [])
    assert is_left_alone(f) and f.actions() == []
    f.c.kill()
    f.c = f.start(*f.options)
    assert is_left_alone(f) and "jobs.busy_limit" in f.job()["decision"]["reason"]
