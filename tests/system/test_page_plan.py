# SPDX-License-Identifier: Apache-2.0
"""Remedies for a job on the page, with fake responses, in a real Chromium."""
import pytest
from browser import axe, browser  # noqa: F401
from stub_jobs import detail
from test_page_views import HOSTILE, fake, page  # noqa: F401

pytestmark = pytest.mark.once

SENTENCE = "give slow replicas fewer micro-batches: 8.99 s -> 8.17 s a step; replace gpu-17 once it has been slow for 120 steps more"
GONE = "gpu-03: 8 of 128 workers stop, and 1 of 8 replicas; gpu-40 could come in its place"


def span(value, part=0.03):
    return {"value": value, "low": value * (1 - part), "high": value * (1 + part)}


def remedy(kind, deed, **more):
    return {"kind": kind, "deed": deed, "hosts": [], "sure": "model", "needs": [], "spares": 0, "spares_missing": 0, "after_s": 8.17, "cost_s": 5, "gain_s": span(0.82), "pays_steps": span(7),
            "pays_hours": span(0.016), "over_s": None, "count": 10, "possible": True, "gap_s": 0, "note": "", **more}


def plan(**more):
    nothing = {"value": 0, "low": None, "high": None}
    never = {"value": None, "low": None, "high": None}
    return {"job": "research/llm-7", "id": "j12", "run": 1, "window": 8, "reason": None, "step_s": 8.99, "simulated_s": 8.97, "ideal_s": 8.1, "remaining_steps": None, "slow_steps": 900, "lost_s": 740,
            "spares": ["gpu-40"], "costs": {}, "advised": 1, "next": None, "sentence": SENTENCE, "without": None,
            "remedies": [remedy("none", "continue as is", gain_s=nothing, pays_steps=never, pays_hours=never, after_s=8.99, cost_s=0, sure="exact"), remedy("micro-batches", "give slow replicas fewer micro-batches", needs=["code"]),
                         remedy("replace", "replace gpu-17", hosts=["gpu-17"], sure="exact", needs=["spares", "restart"], after_s=8.12, cost_s=1230, gain_s=span(0.87), pays_hours=span(3.5)),
                         remedy("sequences", "distribute the sequences evenly", sure="bound", needs=["code"], gain_s=span(0.1))], **more}


@pytest.fixture
def job(fake):  # noqa: F811
    fake.routes.update({"/v1/jobs/j12": (200, detail()), "/v1/jobs/j12/plan": (200, plan())})
    return fake


def table(b):
    return [[c.text for c in row.find_elements("css selector", "td")] for row in b.all("div[aria-label='Remedies'] tbody tr")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_ways_out_say_what_they_cost_and_which_to_take(page, job, axe, scheme):  # noqa: F811
    b = page("#/job/j12")
    b.scheme(scheme)
    b.until(lambda: len(table(b)) == 4, "the ways out")
    assert table(b) == [
        ["continue as is", "8.99 s", "-", "-", "-", "", "simulated"],
        ["give slow replicas fewer micro-batches now", "8.17 s", "0.82 s [0.80 s, 0.84 s]", "5 s", "58 s [56 s, 59 s]", "code of the job", "by a model"],
        ["replace gpu-17", "8.12 s", "0.87 s [0.84 s, 0.90 s]", "21 min", "3.5 h [3.4 h, 3.6 h]", "spare hosts, a restart", "simulated"],
        ["distribute the sequences evenly", "8.17 s", "up to 0.10 s", "5 s", "58 s [56 s, 59 s]", "code of the job", "at most"]]
    assert "Now: give slow replicas fewer micro-batches: 8.99 s -> 8.17 s a step" in b.text() and "assayctl plan research/llm-7" in b.text()
    assert b.axe(axe) == []


def test_what_cordoning_hosts_would_do_is_asked(page, job):  # noqa: F811
    b = page("#/job/j12")
    b.until(lambda: len(table(b)) == 4, "the ways out")
    job.routes["/v1/jobs/j12/plan"] = (200, plan(without={"hosts": ["gpu-03"], "sentence": GONE}))
    b.one("#without").send_keys("gpu-03 , gpu-04", "\ue007")
    b.until(lambda: "8 of 128 workers stop" in b.text(), "what becomes of it")
    assert ("GET", "/v1/jobs/j12/plan?without=gpu-03%2Cgpu-04") in job.asked
    job.routes["/v1/jobs/j12/plan"] = (400, {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "without: \"a b\" is not a host name"})
    b.one("#without").send_keys("!", "\ue007")
    b.until(lambda: "is not a host name" in b.text(), "what is wrong with it")


def test_what_was_promised_and_what_came_is_said(page, job):  # noqa: F811
    came = {"kind": "replace", "deed": "replace gpu-17", "hosts": ["gpu-17"], "run": 1, "window": 8, "before_s": 8.99, "promised_s": 8.12, "low_s": 8.1, "high_s": 8.2, "by_run": 2, "measured_s": 8.17,
            "steps": 64, "state": "held"}
    job.routes["/v1/jobs/j12/plan"] = (200, plan(checked=[came]))
    b = page("#/job/j12")
    b.until(lambda: "Checked: replace gpu-17: promised 8.12 s a step in run 1; run 2 takes 8.17 s over 64 steps: as promised." in b.text(), "what it came to")
    job.routes["/v1/jobs/j12/plan"] = (200, plan(checked=[{**came, "state": "failed", "measured_s": 8.99}]))
    b = page("#/job/j12")
    b.until(lambda: "run 2 takes 8.99 s over 64 steps: not as promised." in b.text(), "that it did not come")


def test_no_plan_says_why_and_an_older_controller_has_none(page, job):  # noqa: F811
    job.routes["/v1/jobs/j12/plan"] = (200, plan(reason="the analysis of the newest window is not stored any more", remedies=[], advised=None))
    b = page("#/job/j12")
    b.until(lambda: "No plan: the analysis of the newest window is not stored any more" in b.text(), "why there is none")
    del job.routes["/v1/jobs/j12/plan"]
    b = page("#/job/j12")
    b.until(lambda: ("GET", "/v1/jobs/j12/plan") in job.asked and "One cell stands out" in b.text(), "the job")
    assert "Remedies" not in b.text()


@pytest.mark.parametrize("said", HOSTILE)
def test_hostile_text_is_shown_as_it_is(page, job, said):  # noqa: F811
    job.routes["/v1/jobs/j12/plan"] = (200, plan(sentence=said, remedies=[remedy("replace", said, hosts=[said], needs=[said])], advised=0))
    b = page("#/job/j12")
    b.until(lambda: len(table(b)) == 1, "the ways out")
    assert b.script("return document.querySelectorAll('main script, main img, main iframe').length") == 0
    assert not [line for line in b.log() if "Content Security Policy" in line]
