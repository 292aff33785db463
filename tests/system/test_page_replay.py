# SPDX-License-Identifier: Apache-2.0
"""The replay of another policy on the page, with fake responses and with a real controller, in a real Chromium."""
import re

import pytest
from browser import axe, browser  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from page_fake import stamp
from test_page_flow import SLOW_HOST, SLOW_LINK, SPARE, Site
from test_page_views import HOSTILE, fake, page  # noqa: F401

pytestmark = pytest.mark.once

TAB, ENTER = "\ue004", "\ue007"
POLICY = "v: 1\nmode: enforce\n"
SENTENCE = "2 of 96 hosts would have been cordoned, 1 cordon refused"


def replayed(**more):
    return {"reports": 480, "nodes_seen": 96, "from": "2026-01-01T00:00:00.000Z", "until": stamp(), "breaker": None, "lacks": ["jobs on hosts"], "sentence": SENTENCE,
            "rules": [{"rule": "slow-link", "action": "cordon", "done": 2, "refused": 1, "nodes": 3}],
            "nodes": [{"node": "gpu-11", "cordons": 1, "releases": 0, "refused": 0, "first": stamp(), "out_s": 7200}, {"node": "gpu-40", "cordons": 1, "releases": 1, "refused": 0, "first": stamp(), "out_s": 3600},
                      {"node": "gpu-41", "cordons": 0, "releases": 0, "refused": 1, "first": None, "out_s": 0}],
            "refusals": [{"budget": "budget.total", "times": 1, "nodes": 1, "allows": "budget.total of 3 hosts"}], **more}


def action(node, state="done", at=None):
    return {"id": node, "node": node, "action": "cordon", "state": state, "by": "ada", "rule": None, "incident": None, "reason": "test", "evidence": None, "undo": None, "result": None,
            "break_glass": False, "until": None, "epoch": 1, "at": at or stamp(), "done": None}


@pytest.fixture
def past(fake):  # noqa: F811
    fake.sent = []

    def answer(method, data):
        fake.sent.append((method, data))
        return fake.replay

    fake.replay = (200, replayed())
    fake.routes["/v1/policy/replay"] = answer
    # One unchanged, one that would not happen, one from before, one that was refused.
    fake.routes["/v1/actions"] = (200, {"items": [action("gpu-11"), action("gpu-70"), action("gpu-71", at="2025-12-31T00:00:00.000Z"), action("gpu-72", "refused")], "next": None})
    return fake


def hosts(b):
    return [[c.text for c in row.find_elements("css selector", "td")] for row in b.all("div[aria-label='Hosts, was and would be'] tbody tr")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_would_be_stands_beside_what_was_by_keyboard_alone(page, past, axe, scheme):  # noqa: F811
    from selenium.webdriver import ActionChains
    b = page("#/replay")
    b.scheme(scheme)
    b.until(lambda: b.all("#policy"), "the field")
    assert b.axe(axe) == []
    b.script("document.querySelector('#policy').focus()")
    b.one("#policy").send_keys("v: 1", ENTER, "mode: enforce", ENTER)
    for _ in range(8):
        ActionChains(b.driver).send_keys(TAB).perform()  # keys sent to a file input are taken as a path
        if b.script("return document.activeElement.textContent") == "Replay":
            break
    b.press(ENTER)
    b.until(lambda: b.text("h1") == SENTENCE + ".", "the sentence")
    assert past.sent == [("POST", POLICY)] and ("POST", "/v1/policy/replay?since=7d") in past.asked
    rows = [(row[0], *row[1:3], row[4]) for row in hosts(b)]
    assert rows == [("gpu-40", "0", "1", "0"), ("gpu-70", "1", "0", "0"), ("gpu-41", "0", "0", "1"), ("gpu-11", "1", "1", "0")]
    assert "budget.total of 3 hosts" in b.text() and "jobs on hosts" in b.text() and "Nothing was done." in b.text(".lead")
    assert b.axe(axe) == []
    b.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    assert b.script("return document.documentElement.scrollWidth") == 375
    b.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_file_is_read_and_what_is_wrong_with_it_is_said(page, past, tmp_path):  # noqa: F811
    (tmp_path / "new.yaml").write_text(POLICY)
    b = page("#/replay")
    b.until(lambda: b.all("#policy-file"), "the field for a file")
    b.one("#policy-file").send_keys(str(tmp_path / "new.yaml"))
    b.until(lambda: b.script("return document.querySelector('#policy').value") == POLICY, "the file")
    past.replay = (400, {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "policy: line 2 column 8: did not find expected ',' or ']'"})
    b.one(".replay [type=submit]").click()
    b.until(lambda: "policy: line 2 column 8" in b.text("[role=alert]"), "the line")
    assert b.script("return document.activeElement.id") == "policy" and hosts(b) == []


@pytest.mark.some(2)
@pytest.mark.parametrize("said", HOSTILE)
def test_hostile_text_is_shown_as_it_is(page, past, said):  # noqa: F811
    past.replay = (200, replayed(sentence=said, lacks=[said], refusals=[{"budget": said, "times": 1, "nodes": 1, "allows": said}], breaker={"opened": stamp(), "reason": said}))
    b = page("#/replay")
    b.until(lambda: b.all("#policy"), "the field")
    b.one("#policy").send_keys("v: 1")
    b.one(".replay [type=submit]").click()
    b.until(lambda: hosts(b), "the answer")
    assert b.all("main img, main script, main iframe, main [href^=javascript]") == []
    assert not [line for line in b.log() if "Content" in line or "Trusted" in line]


@pytest.fixture
def site(controller, run, browser, tmp_path, top):  # noqa: F811
    it = Site(controller, run, browser, tmp_path, top)
    yield it
    browser.open("about:blank")
    browser.driver.delete_all_cookies()


def replay(site, policy):
    """Pastes and replays the policy. Returns {host: (was cordoned, would be, refused)}."""
    b = site.b
    b.script("""const field = document.querySelector('#policy'); field.value = arguments[0]; field.dispatchEvent(new Event('input', {bubbles: true}));""", policy)
    b.one(".replay [type=submit]").click()
    b.until(lambda: b.text("h1") != "What would another policy have done?" and hosts(b), "the answer")
    return {row[0]: (row[1], row[2], row[4]) for row in hosts(b)}


def test_a_real_controller_says_what_another_policy_would_have_done_beside_what_was(site):
    """The current policy only reports; a person cordoned one host. A policy that cordons for slow paths would have cordoned another."""
    site.begin().report()
    site.ctl("cordon", SPARE, "--reason", "fan 3")
    told = site.policy.read_text()
    cordons = re.sub(r"(match: \{check: \"loopback.*?action: )alert", r"\1cordon", told, flags=re.S)
    assert cordons != told
    b = site.log_in("operate", "#/replay")
    b.one("#policy")
    assert replay(site, cordons) == {SLOW_LINK: ("0", "1", "0"), SPARE: ("1", "0", "0")}
    assert b.text("h1") == "48 reports of 16 hosts: 1 cordon, 0 releases, 0 refusals." and "Nothing was done." in b.text(".lead")
    assert "slow-loopback" in b.text("div[aria-label='Rules']") and SLOW_HOST not in b.text("main")
    assert [site.state(node) for node in (SLOW_LINK, SPARE)] == ["in-service", "cordoned"]
    # The same with a budget of zero: it is refused, and the budget that would allow it is named.
    none = re.sub(r"total: \{.*\}", "total: {percent: 0, nodes: 0}", cordons)
    b.open("about:blank").open(site.address + "#/replay").one("#policy")
    assert replay(site, none) == {SLOW_LINK: ("0", "0", "1"), SPARE: ("1", "0", "0")}
    assert "budget.total" in b.text("div[aria-label='Refusals']")
    # The current policy: the same as reality, except for actions of people.
    b.open("about:blank").open(site.address + "#/replay").one("#policy")
    assert replay(site, told) == {SPARE: ("1", "0", "0")}
    assert [line for line in b.log() if "Content Security" in line] == []
