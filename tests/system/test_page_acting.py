# SPDX-License-Identifier: Apache-2.0
"""Actions on the page, with fake responses: the request of an action, concurrent changes, and bypassing budgets."""
import pytest
from browser import axe, browser  # noqa: F401
from test_page_views import fake, host, page, why  # noqa: F401

pytestmark = pytest.mark.once

FULL = (409, {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "12 hosts are out of service, and 12 may be", "rule": "budget.total", "allows": "1 host back in service"})
CHANGED = (409, {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "gpu-11: has changed in the meantime: cordoned since 2026-11-29T09:00:00.000Z, by operator bob", "rule": "changed",
                 "allows": "looking at it again before asking once more"})
FORBIDDEN = (403, {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "break_glass needs the role admin"})


@pytest.fixture
def posted(host):  # noqa: F811
    """The request bodies, and the responses: of dry runs, and of actions."""
    class Posted(list):
        rehearsal, deeds = (200, {"node": "gpu-11", "action": None, "sentence": "gpu-11: would be cordoned"}), [(200, {"node": "gpu-11", "action": "7", "sentence": "gpu-11: cordoned"})]

    posted = Posted()

    def answer(method, body):
        posted.append(body)
        if body.get("dry_run"):
            return posted.rehearsal
        if posted.deeds[0] is None:
            raise ConnectionError("no answer")
        return posted.deeds.pop(0) if len(posted.deeds) > 1 else posted.deeds[0]
    host.routes["/v1/nodes/gpu-11/cordon"] = answer
    return posted


def button(b, words):
    return next(x for x in b.all("dialog button") if x.text.startswith(words))


def test_a_deed_says_which_life_was_seen_and_has_a_key_of_its_own(page, host, posted):  # noqa: F811
    posted.deeds = [CHANGED, (200, {"node": "gpu-11", "action": "7", "sentence": "gpu-11: cordoned"})]
    since = host.routes["/v1/nodes/gpu-11/why"][1]["life"]["since"]
    b = page("#/host/gpu-11")
    b.press_c()
    b.until(lambda: "A reason is required." in b.text("dialog"), "that it may be done")
    b.one("#why").send_keys("ticket 815", "\ue009", "\ue007")
    b.until(lambda: "by operator bob" in b.text("dialog"), "who was first")
    assert "Break glass" not in b.text("dialog") and "role admin" not in b.text("dialog")
    host.routes["/v1/nodes/gpu-11/why"] = (200, why(life={"state": "suspected", "since": "2026-11-29T09:00:00.000Z"}))
    button(b, "Ask again").click()
    b.until(lambda: "would be cordoned" in b.text("dialog"), "that it may be done now")
    button(b, "Cordon").click()
    b.until(lambda: "gpu-11: cordoned." in b.text("dialog"), "that it is done")
    deeds = [p for p in posted if not p.get("dry_run")]
    assert [d["if_since"] for d in deeds] == [since, "2026-11-29T09:00:00.000Z"] and len({d["key"] for d in deeds}) == 2
    assert all("key" not in p for p in posted if p.get("dry_run")) and not any("break_glass" in p for p in posted)


def test_the_glass_wants_the_name_and_the_token(page, host, posted, axe):  # noqa: F811
    host.self["role"], posted.rehearsal = "admin", FULL
    posted.deeds = [FORBIDDEN, (200, {"node": "gpu-11", "action": "7", "sentence": "gpu-11: cordoned"})]
    b = page("#/host/gpu-11")
    b.press_c()
    b.until(lambda: "Refused by budget.total." in b.text("dialog"), "the refusal")
    button(b, "Break glass…").click()
    go = lambda: b.one("dialog [type=submit]")  # noqa: E731
    b.script("const f = window.fetch; window.shown = []; window.fetch = (u, o) => { o.method === 'POST' && window.shown.push(o.headers.Authorization); return f(u, o); };")
    assert go().text.replace("\n", " ") == "Break glass: cordon gpu-11" and go().get_attribute("aria-disabled") == "true"
    b.one("#why").send_keys("it burns")
    b.one("#glass-token").send_keys("not mine")
    b.one("#glass-host").send_keys("gpu-1")
    go().click()
    assert go().get_attribute("aria-disabled") == "true" and not [p for p in posted if not p.get("dry_run")]
    b.one("#glass-host").send_keys("1")
    b.until(lambda: go().get_attribute("aria-disabled") == "false", "that it may be done")
    for scheme in ("light", "dark"):
        b.scheme(scheme)
        assert b.axe(axe) == []
    go().click()
    b.until(lambda: "needs the role admin" in b.text("dialog"), "that the token is not enough")
    assert b.one("#glass-token").get_attribute("value") == "" and go().get_attribute("aria-disabled") == "true"
    b.one("#glass-token").send_keys("mine", "\ue007")
    b.until(lambda: "gpu-11: cordoned." in b.text("dialog"), "that it is done")
    assert b.script("return window.shown") == ["Bearer not mine", "Bearer mine"]
    deeds = [p for p in posted if not p.get("dry_run")]
    assert [d["break_glass"] for d in deeds] == [True, True] and deeds[0]["key"] != deeds[1]["key"] and deeds[1]["reason"] == "it burns"


def test_the_glass_is_another_deed_than_one_without_an_answer(page, host, posted):  # noqa: F811
    host.self["role"], posted.deeds = "admin", [None]
    b = page("#/host/gpu-11")
    b.press_c()
    b.until(lambda: "A reason is required." in b.text("dialog"), "that it may be done")
    b.one("#why").send_keys("it burns", "\ue009", "\ue007")
    b.until(lambda: "No answer." in b.text("dialog"), "that nothing was answered")
    posted.deeds, posted.rehearsal = [(200, {"node": "gpu-11", "action": "7", "sentence": "gpu-11: cordoned"})], FULL
    button(b, "Ask again").click()
    b.until(lambda: "Refused by budget.total." in b.text("dialog"), "the refusal")
    button(b, "Break glass…").click()
    b.one("#glass-host").send_keys("gpu-11")
    b.one("#glass-token").send_keys("mine", "\ue007")
    b.until(lambda: "gpu-11: cordoned." in b.text("dialog"), "that it is done")
    deeds = [p for p in posted if not p.get("dry_run")]
    assert deeds[-1]["break_glass"] and deeds[-1]["key"] not in [p["key"] for p in deeds[:-1]]


def test_who_is_no_admin_is_shown_the_command_alone(page, posted):  # noqa: F811
    posted.rehearsal = FULL
    b = page("#/host/gpu-11")
    b.press_c()
    b.until(lambda: "Refused by budget.total." in b.text("dialog"), "the refusal")
    assert "Only the role admin" in b.text("dialog") and "--break-glass" in b.text("dialog") and b.all("#glass-token") == []
