# SPDX-License-Identifier: Apache-2.0
"""Investigations: how they end before a host is out of service, and that a host is in at most one."""
import signal

import pytest
from fixtures_controller import controller  # noqa: F401
from test_investigations import ALL, cancel, listed, number, outcomes, wait_state
from test_job_judged import ADMIN, AGES, JOB, SLOW, WAIT_S, Fleet
from waiting import wait_for


@pytest.mark.once
def test_one_ends_with_the_mode_and_is_begun_in_no_other(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path, jobs="dry-run")
    f.suspect()
    assert wait_for(lambda: f.actions(rule="attribution"), WAIT_S) and listed(f) == [] and number(f) is None

    def policy(jobs):
        f.set_policy(mode="enforce", jobs=jobs, times=1, fresh="30m")
        f.c.process.send_signal(signal.SIGHUP)

    policy("enforce")
    assert wait_state(f, "testing")["tests"]
    policy("observe")
    assert wait_state(f, "withdrawn")["sentence"] == "the mode is no longer enforce"
    assert cancel(f).status == 409
    assert wait_for(lambda: f.actions(action="retest", state="dropped"), WAIT_S)
    assert [i["id"] for i in listed(f)] == [1] and wait_for(lambda: outcomes(f) == {"open": 1, "withdrawn": 1}, WAIT_S)
    assert f.c.get(f"{ALL}/2", token=ADMIN).status == 404
    assert f.c.stop()[0] == 0


@pytest.mark.once
def test_a_host_is_in_one_and_whoever_gives_it_back_withdraws_it(controller, tmp_path):  # noqa: F811
    f, other = Fleet(controller, tmp_path), "research/moe-2"
    f.suspect()
    order = f.order(SLOW)
    assert wait_state(f, "testing")
    for ages in AGES:  # for this job only the trace says that it ran there
        assert f.send(f.trace(), ages, job=other)["suspect"] == SLOW
    assert wait_for(lambda: f"investigation 1 of {JOB} is investigating it" in f.job(other)["decision"]["reason"], WAIT_S), f.job(other)
    assert f.job(other)["investigation"] is None and len(listed(f)) == 1
    f.report(SLOW, bad=True, profile="full", order=order)
    wait_state(f, "cordoned")
    assert wait_for(lambda: f.order_of_a_person("uncordon", SLOW).status == 200, WAIT_S)  # just when its hold ends it gets 409, `busy`
    over = wait_state(f, "withdrawn")
    assert over["ended"] and over["by"] and over["sentence"] == f"an operator released {SLOW}"
    assert wait_for(lambda: "investigation 1 was withdrawn" in f.job()["decision"]["reason"], WAIT_S)
    assert wait_for(lambda: [(i["id"], i["job"]) for i in listed(f)][0] == (2, other), WAIT_S), listed(f)
    page = f.c.get(f"{ALL}?limit=1", token=ADMIN).json
    assert [i["id"] for i in page["items"]] == [2]
    assert [i["id"] for i in f.c.get(f"{ALL}?limit=1&cursor={page['next']}", token=ADMIN).json["items"]] == [1]
    assert f.c.stop()[0] == 0
