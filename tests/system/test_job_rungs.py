# SPDX-License-Identifier: Apache-2.0
"""A suspect is tested rung by rung, the shortest first: a failure is repeated, a pass leads to the next, and only the last one acquits."""
import pytest
from fixtures_controller import controller  # noqa: F401
from test_job_judged import HOSTS, SLOW, WAIT_S, Fleet
from waiting import wait_for


def asked(f):
    """The ordered rung, and the members of a report that answer it."""
    found = wait_for(lambda: f.orders(SLOW), WAIT_S)
    assert found, f.c.log()
    return found[0].get("profile"), {"id": found[0]["id"], "kind": "deep"}


def rungs(f):
    return [(t["profile"], t["result"]) for t in f.the_suspect()["tests"]]


@pytest.mark.once
def test_what_passes_leads_to_the_next_rung_over_a_kill_and_the_last_one_acquits(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path)
    f.suspect()
    profile, order = asked(f)
    assert profile == "rung-gemm"
    f.report(SLOW, profile="rung-gemm", order=order)
    profile, order = asked(f)
    assert profile == "rung-load" and f.the_suspect()["acquitted"] is None
    assert wait_for(lambda: rungs(f) == [("rung-gemm", "it passed"), ("rung-load", None)], WAIT_S), rungs(f)
    assert f.the_suspect()["action"] == "probe"
    f.c.kill()
    f.c = f.start(*f.options)
    for node in HOSTS:  # it reports, so its boot is known; so do the others, for comparison
        f.report(node)
    again, same = asked(f)
    assert (again, same) == ("rung-load", order)
    f.report(SLOW, profile="rung-load", order=order)
    assert wait_for(lambda: f.the_suspect()["acquitted"], WAIT_S), f.job()
    assert wait_for(lambda: rungs(f) == [("rung-gemm", "it passed"), ("rung-load", "it passed")], WAIT_S), rungs(f)
    assert f.cordoned() == [] and len(f.actions(action="retest")) == 2


@pytest.mark.once
def test_what_fails_is_repeated_by_the_same_rung_until_it_is_proven(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path, times=2)
    f.suspect()
    first, order = asked(f)
    f.report(SLOW, bad=True, profile=first, order=order)
    second, again = asked(f)
    assert (first, second) == ("rung-gemm", "rung-gemm") and again["id"] != order["id"] and f.cordoned() == []
    f.report(SLOW, bad=True, profile=second, order=again)
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S), (f.job(), f.c.log())
    failed = [a["evidence"].get("profile") for a in f.actions(action="retest", state="done")]
    assert failed == ["rung-gemm", "rung-gemm"]


@pytest.mark.once
def test_an_agent_that_measures_all_in_place_of_a_rung_answers_them_all(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path)
    f.suspect()
    profile, order = asked(f)
    assert profile == "rung-gemm"
    f.report(SLOW, profile="full", order=order)
    assert wait_for(lambda: f.the_suspect()["acquitted"], WAIT_S), f.job()
    assert rungs(f) == [("full", "it passed")] and len(f.actions(action="retest")) == 1


@pytest.mark.once
def test_a_run_that_nobody_ordered_is_no_answer(controller, tmp_path):  # noqa: F811
    f = Fleet(controller, tmp_path)
    f.suspect(ends=False)  # its job goes on: its test waits
    f.report(SLOW, profile="full")
    assert f.orders(SLOW) == [] and rungs(f) == []
    f.claim(SLOW, [])
    profile, order = asked(f)
    assert profile == "rung-gemm"
    f.report(SLOW, profile="full", order=order)
    assert wait_for(lambda: f.the_suspect()["acquitted"], WAIT_S), f.job()
    assert wait_for(lambda: f.c.metrics()["assay_acquittal_seconds_count"] == 1, WAIT_S)  # it is durable
    # Its answer is known after a kill too, although a healthy host's record does not contain it.
    f.c.kill()
    f.c = f.start(*f.options)
    f.report(SLOW)
    assert [f.orders(SLOW) for _ in range(2)] == [[], []] and len(f.actions(action="retest")) == 1
