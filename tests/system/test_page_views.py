# SPDX-License-Identifier: Apache-2.0
"""The web page in a real Chromium with a fake controller (page_fake.py): display, accessibility and actions, also by keyboard."""
import re

import pytest
from browser import axe, browser  # noqa: F401
from page_fake import Fake, Fleet, stamp
from stub_jobs import detail, job

pytestmark = pytest.mark.once

SLOW = "PCIe switch 0000:46:00.0 uplink: 26.9 of 50.1 GB/s"
CELL = '[role="gridcell"][tabindex="0"]'
LINK = "switch:0000:46:00.0^root:0000:45:01.0"


@pytest.fixture
def fake():
    fleet = Fleet(96)
    fleet.put(11, SLOW, verdict=3, life=1, incidents=1)
    fleet.put(40, "gpu 3 at 90 % of its peers", verdict=3, life=3, service=1)
    fleet.put(70, "344 checks passed", verdict=1, stale=1, connection=2)
    it = Fake(fleet)
    yield it
    it.close()


@pytest.fixture
def page(fake, browser):
    def open_(where="#/"):
        browser.open("about:blank").open(fake.address + where)
        browser.one("main h1")
        return browser
    yield open_
    browser.open("about:blank")


def why(name="gpu-11", **more):
    item = {"check": "loopback.link", "subject": LINK, "verdict": "fail", "value": 26.9e9, "unit": "B/s", "expected": 50.1e9, "floor": None, "sentence": SLOW + ", seen on 28 paths",
            "windows": {"bad": 3, "of": 3, "k": 2, "n": 3, "since": stamp(), "clears": "clears after 3 more good runs in a row"}, "reports": []}
    return {"node": name, "verdict": "fail", "sentence": "fail: " + SLOW, "sku": "hgx-h100", "profile": "full", "time": stamp(), "agent": "0.1.0", "boot_id": "b", "seq": 5,
            "seen": stamp(), "age_s": 4, "stale": False, "last_verdict": "fail", "first_seen": stamp(), "topology": None, "env": {}, "connection": "connected", "clock_skew_s": None,
            "lost_reports": 0, "life": {"state": "suspected", "since": stamp()},
            "service": {"state": "in-service", "by": None, "reason": None, "since": None, "hold_until": None, "silence_until": None, "override_until": None},
            "parts": [], "items": [item], "measured": 345, "incidents": [], "jobs": [], "actions": [], **more}


def matrices(name="gpu-11"):
    def cell(r, c):
        slow = (r == 1) != (c == 1)
        return {"row": r, "column": c, "subject": f"{r}>{c}", "state": "measured", "value": 26.7e9 if slow else 50e9, "class": "sys", "expected": 50e9, "floor": 45e9,
                "ratio": 0.534 if slow else 1.0, "verdict": "fail" if slow else "pass", "source": "fleet", "link": LINK if slow else None, "sentence": None}
    ends = [{"id": f"mlx5_{i}:1", "name": f"mlx5_{i} port 1", "kind": "rnic"} for i in range(3)], [{"id": f"g{i}", "name": f"gpu {i}", "kind": "gpu", "pci": f"0000:{i}a:00.0"} for i in range(3)]
    return {"node": name, "left_out": 0, "links": [{"check": "loopback.link", "subject": LINK, "verdict": "fail", "value": 26.9e9, "unit": "B/s", "expected": 50.1e9, "floor": None, "sentence": SLOW}],
            "matrices": [{"check": "loopback.write_bw", "unit": "B/s", "better": "higher", "profile": "full", "time": stamp(), "slow": 4, "rows": ends[0], "columns": ends[1],
                          "cells": [cell(r, c) for r in range(3) for c in range(3)]}]}


@pytest.fixture
def host(fake):
    path = "/v1/nodes/gpu-11"
    fake.routes.update({path + "/why": (200, why()), path + "/matrices": (200, matrices()), path + "/parts": (200, {"node": "gpu-11", "topology": None, "parts": []}),
                        path + "/evidence": (200, {"life": {"state": "suspected", "since": stamp()}, "transitions": [], "actions": []}),
                        "/v1/actions": (200, {"items": [{"id": "7", "node": "gpu-11", "action": "cordon", "state": "done", "by": "ada", "rule": None, "incident": None, "reason": "test",
                                                         "evidence": None, "undo": "assayctl uncordon gpu-11", "result": None, "break_glass": False, "until": None, "epoch": 1,
                                                         "at": stamp(), "done": stamp()}], "next": None})})
    return fake


def focused(b):
    return b.script("return document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")


def test_the_sentence_names_the_worst_host_in_service(page):
    b = page()
    assert b.text("h1") == f"gpu-11 is the worst host in service: {SLOW}."
    assert "2 of 96 hosts fail; 93 pass." in b.text(".lead .prose")
    assert [g.text.replace("\n", " ") for g in b.all(".key button")][:2] == ["fail 2", "warn 0"]


def test_a_map_is_walked_through_by_keys_and_each_cell_is_spoken(page, fake):
    b = page()
    assert b.one("[role=grid]").get_attribute("aria-rowcount") == "3"
    b.script("arguments[0].focus()", b.one(CELL))
    assert focused(b).startswith("gpu-11, fail, suspected, PCIe switch")
    for key, name in (("\ue014", "gpu-12, pass"), ("\ue015", "gpu-44, pass"), ("\ue011", "gpu-32, pass"), ("\ue010", "gpu-63, pass"), ("\ue013", "gpu-31, pass"), ("\ue012", "gpu-30, pass")):
        b.press(key)
        b.until(lambda n=name: focused(b).startswith(n), name)
    assert len(b.all(CELL)) == 1 and len(b.all("[role=gridcell]")) == 32  # one tab stop, one row
    b.press("\ue007")
    b.until(lambda: b.script("return location.hash") == "#/host/gpu-30", "its host")


def test_the_table_has_what_the_map_has(page):
    b = page("#/fleet?form=table")
    rows = [r.text for r in b.all("main tbody tr")]
    assert len(rows) == 96 and rows[0].startswith("gpu-11 fail suspected") and rows[1].startswith("gpu-40 fail cordoned") and rows[2].startswith("gpu-70 no answer")


def test_what_changes_is_shown(page, fake):
    b = page()
    fake.fleet.put(11, verdict=0, life=0)
    b.until(lambda: b.text("h1") == "Nothing in service fails; 1 failing host is out of service.", "the sentence without gpu-11")
    fake.fleet.controller, fake.fleet.version = "c2", 1  # a successor took over
    fake.fleet.put(5, "gpu 0 fell off the bus", verdict=3)
    b.until(lambda: b.text("h1").startswith("gpu-05 is the worst"), "what the other one says")


def test_no_answer_never_looks_healthy(page, fake):
    b = page()
    pixel = "const c = document.querySelector('canvas'), g = c.getContext('2d'), d = g.getImageData(60, 34, 1, 1).data; return [...d].join()"
    healthy = b.until(lambda: (lambda p: p != "0,0,0,0" and p)(b.script(pixel)), "a map")
    fake.silent = True
    b.until(lambda: "No answer from the controller since" in b.text(), "that nothing is known", 16)
    b.until(lambda: b.text("h1").startswith("Nothing has been heard from the fleet since"), "the sentence")
    b.until(lambda: b.script(pixel) != healthy, "a map without colour")
    fake.silent = False
    b.until(lambda: b.text("h1").startswith("gpu-11"), "all of it again")


def test_two_tabs_hold_one_call(page, fake):
    b = page()
    first = b.driver.current_window_handle
    b.driver.switch_to.new_window("tab")
    b.open(fake.address).one("main h1")
    del fake.asked[:]
    fake.fleet.put(12, "gpu 1: uncorrectable ECC", verdict=3)
    b.until(lambda: "gpu-12" in b.text(".worst"), "the change, heard of the other tab")
    b.until(lambda: sum(p.startswith("/v1/changes") for _, p in fake.asked) >= 2, "two rounds")
    since = [re.search("since=([^&]*)", p).group(1) for _, p in fake.asked if p.startswith("/v1/changes")]
    assert len(set(since)) >= len(since) - 1, since  # each version was requested once
    b.driver.close()
    b.driver.switch_to.window(first)


def test_a_token_that_is_revoked_signs_out(page, fake):
    b = page()
    fake.refused = True
    b.until(lambda: b.text("h1") == "Sign in to Assay", "the field for a token")
    assert "gpu-11" not in b.text()
    fake.routes["/v1/session"] = lambda method, body: setattr(fake, "refused", False) or (200, fake.self)
    b.one("#token").send_keys("a token", "\ue007")
    b.until(lambda: b.text("h1").startswith("gpu-11"), "the fleet")


def test_who_is_signed_out_is_asked_about_once(page, fake):
    fake.refused = True
    b = page()
    b.until(lambda: b.text("h1") == "Sign in to Assay", "the field for a token")
    assert fake.asked.count(("GET", "/v1/self")) == 1


HOSTILE = ['<img src=x onerror=alert(1)>', 'javascript:alert(1)', 'a\u202eb', '"><script>alert(1)</script>', "\0nul", "x" * 65536]
CUT = 4096  # maximum of displayed characters of a text


def items(*found):
    return 200, {"items": list(found), "next": None}


def incident(id="2", said=SLOW, **more):
    return {"id": id, "node": "gpu-11", "check": "loopback.link", "subject": LINK, "sku": "hgx-h100", "state": "open", "verdict": "fail", "fatal": False, "sentence": f"gpu-11: {said}",
            "action": "retest", "rule": "slow-loopback", "opened": stamp(), "closed": None, **more}


def action(id="7", **more):
    return {"id": id, "node": "gpu-11", "action": "cordon", "state": "done", "by": "ada", "rule": None, "incident": None, "reason": "test", "evidence": None,
            "undo": "assayctl uncordon gpu-11", "result": None, "break_glass": False, "until": None, "epoch": 1, "at": stamp(), "done": stamp(), **more}


def campaign(**more):
    return {"id": "c1", "kind": "write", "state": "done", "domain": "r00", "plan": "pairs", "nodes": 16, "rounds_made": 1, "rounds_max": 4, "who": "ada", "reason": "a new rack",
            "sentence": "gpu-11 is slow with 3 partners", "started": stamp(), "ended": stamp(), **more}


def lists(fake, said="as others", node="gpu-11"):
    """Data with one row per list; `said` is in every free-text field."""
    fake.routes.update({
        "/v1/incidents": items(incident(said=said, rule=said, check=said)), "/v1/actions": items(action(reason=said, by=said, result=said, rule=said)),
        "/v1/silences": items({"node": node, "until": stamp(), "by": said, "reason": said, "since": stamp()}), "/v1/overrides": items(),
        "/v1/drift": items({"sku": said, "key": said, "majority": said, "agree": 15, "hosts": 16, "nodes": [{"node": node, "value": said}]}),
        "/v1/baselines": items({"sku": said, "check": said, "class": "self", "unit": "FLOP/s", "median": 7.7e14, "mad": 2e12, "hosts": 16, "params": {"dtype": said}}),
        "/v1/coverage": items({"node": node, "tested": stamp(), "ordered": None}),
        "/v1/campaigns": items(campaign(sentence=said, reason=said, domain=said, who=said)),
        "/v1/campaigns/c1": (200, {**campaign(sentence=said, reason=said, domain=said, who=said), "nodes": [node, "gpu-12"],
                                   "blames": [{"kind": "host", "node": node, "ratio": 0.53, "partners": 3, "sentence": said}],
                                   "rounds": [{"round": 1, "groups": [{"nodes": [node, "gpu-12"], "rail": None, "state": "failed", "cross": True, "why": said, "value": 26.9e9}]}]}),
        "/v1/jobs": items(job(name=said, suspect=said, cause=said)),
        "/v1/jobs/j12": (200, detail(job=said, names=[said], sentence=said, latest=[])),
    })


LISTS = ["#/incidents", "#/budgets", "#/actions", "#/drift", "#/baselines", "#/coverage", "#/campaigns", "#/campaigns/c1", "#/jobs", "#/job/j12"]


def test_hostile_text_is_shown_as_it_is(page, fake, host):
    for i, said in enumerate(HOSTILE):
        fake.fleet.put(i, said, verdict=3)
    fake.fleet.names[0], fake.fleet.racks[0], fake.fleet.skus = HOSTILE[0], HOSTILE[3], [HOSTILE[2]]
    fake.fleet.breaker.update(open=True, reason=HOSTILE[0], stopped=HOSTILE[3], stale=HOSTILE[1])
    b = page()
    b.until(lambda: HOSTILE[3] in b.text(), "markup as text")
    assert HOSTILE[0] in b.text(".worst") and "(cut)" in b.text()
    assert b.all("main img") == [] and b.all("main script") == []
    page("#/fleet?form=table")
    assert HOSTILE[3] in b.text("main table")
    host.routes["/v1/nodes/gpu-11/why"] = (200, why(sku=HOSTILE[3], agent=HOSTILE[0], items=[{**why()["items"][0], "sentence": s, "subject": s, "name": s} for s in HOSTILE]))
    page("#/host/gpu-11")
    b.until(lambda: HOSTILE[3] in b.text(".facts"), "its SKU")
    assert complaints(b) == []


def complaints(b):
    """Violations reported by the guards."""
    return [line for line in b.log() if "Content" in line or "Trusted" in line]


@pytest.mark.some(2)
@pytest.mark.parametrize("said", HOSTILE, ids=["image", "address", "direction", "script", "nul", "long"])
def test_hostile_text_is_shown_as_it_is_in_every_list(page, fake, said):
    lists(fake, said)
    for where in LISTS:
        b = page(where)
        if where == "#/coverage":
            continue  # not free text
        shown = said if len(said) < CUT else said[:CUT]
        b.until(lambda: b.script("return [...document.querySelectorAll('main bdi')].some(e => e.textContent.includes(arguments[0]))", shown), f"it in {where}")
        assert b.all("main img, main script, main iframe, main [href^=javascript]") == []
        assert b.script("return document.documentElement.scrollWidth <= innerWidth"), where
    assert complaints(b) == []


def test_a_host_has_its_slow_link_outlined(page, host):
    b = page("#/host/gpu-11")
    b.until(lambda: b.text("h1") == f"gpu-11: {SLOW}.", "the sentence")
    assert "Seen on 28 paths." in b.text(".lead .prose") and "Clears after 3 more good runs in a row." in b.text(".lead .prose")
    b.until(lambda: "crosses PCIe switch 0000:46:00.0 uplink, 4 cells" in b.text(".mesh-key"), "what is outlined")
    assert b.one(CELL).get_attribute("aria-label") == "mlx5_0 port 1 to gpu 1: 26.7 of 50.0 GB/s, fail"


def cordon(answers):
    """Responses of the route, in order; the last one repeats."""
    def answer(method, body):
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return (200, {"node": "gpu-11", "action": None if body.get("dry_run") else "7", "sentence": "gpu-11: " + found}) if isinstance(found, str) else found
    return answer


def test_a_cordon_is_refused_with_what_would_allow_it_then_allowed(page, host):
    no = (409, {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "12 hosts are out of service, and 12 may be", "rule": "budget.total", "allows": "1 host back in service"})
    host.fleet.breaker["budget"][0]["used"] = 12
    host.routes["/v1/nodes/gpu-11/cordon"] = cordon([no, "would be cordoned", "cordoned"])
    b = page("#/host/gpu-11")
    b.press_c()
    b.until(lambda: "Refused by budget.total." in b.text("dialog"), "the refusal")
    assert "What would allow it: 1 host back in service." in b.text("dialog")
    b.until(lambda: "12 to 13 of 12" in b.text("dialog"), "the budget")
    assert b.one("dialog [type=submit]").get_attribute("aria-disabled") == "true"
    host.fleet.breaker["budget"][0]["used"] = 11
    next(x for x in b.all("dialog button") if x.text == "Ask again").click()
    b.until(lambda: "A reason is required." in b.text("dialog"), "that it may be done")
    b.one("#why").send_keys("uplink at x8, ticket 815", "\ue009", "\ue007")
    b.until(lambda: "gpu-11: cordoned." in b.text("dialog") and "Action 7: done" in b.text("dialog"), "that it is done")


def test_what_a_busy_controller_puts_off_is_asked_for_again(page, fake):
    answers = [(503, {"type": "about:blank", "title": "Not now", "status": 503, "detail": "too many requests at once"}), (200, {"items": [], "next": None})]
    fake.routes["/v1/incidents"] = lambda method, body: answers.pop(0) if len(answers) > 1 else answers[0]
    b = page("#/incidents")
    b.until(lambda: b.text("h1") == "No incident is open.", "the second answer")
    assert len(answers) == 1 and b.all(".problem") == []


def test_who_only_reads_is_offered_nothing(page, host):
    host.self["role"] = "read"
    b = page("#/host/gpu-11?act=cordon")
    b.press("c")
    assert b.all("dialog") == [] and "Cordon" not in b.text("main")


@pytest.mark.some(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, host, axe, scheme):
    lists(host)
    host.routes["/v1/nodes/gpu-11/cordon"] = cordon(["would be cordoned"])
    found = {}
    for where in ("#/", "#/fleet?form=table", "#/host/gpu-11", "#/host/gpu-11?act=cordon", *LISTS, "#/no/such"):
        b = page(where)
        b.scheme(scheme)
        b.until(lambda w=where: "act=" not in w or "A reason is required." in b.text("dialog"), "the dialog")
        found[where] = b.axe(axe)
    host.refused = True
    b = page()
    found["login"] = b.axe(axe)
    b.one("#token").send_keys("wrong", "\ue007")
    b.one("[role=alert]")
    found["login refused"] = b.axe(axe)
    assert found == dict.fromkeys(found, [])
