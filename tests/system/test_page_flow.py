# SPDX-License-Identifier: Apache-2.0
"""The web page end to end: a real controller, hosts that report to it, a real Chromium. From the login to the slow link, a
refused and an allowed cordon, the end of a session; a controller that stops, returns, or is replaced."""
import hashlib
import json
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from browser import browser  # noqa: F401
from fixtures_controller import controller, report  # noqa: F401
from waiting import wait_for

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))
import faults  # noqa: E402
import hosts  # noqa: E402
import simulate  # noqa: E402
import wiring  # noqa: E402

HOSTS = 16
ROLES = {"read": "rea", "operate": "ope", "admin": "adm"}
SLOW_LINK, SLOW_HOST, SPARE = "gpu-03", "gpu-05", "gpu-07"
LINK_NAME = "PCIe switch 0000:46:00.0 uplink"
STALE_S = 10  # this long after the last answer no map may look healthy
TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"
# When the page gets answers, by its own clock, and since when it shows that there are none.
WATCH = """
    const asked = window.fetch; window.heard = 0; window.silent = 0;
    window.fetch = async (...words) => { const answer = await asked(...words); if (answer.ok) { window.heard = performance.now(); window.silent = 0; } return answer; };
    new MutationObserver(() => { window.silent ||= /^(Nothing has been heard from the fleet|.*its present state is unknown)/.test(document.querySelector('h1')?.textContent || '') ? performance.now() : 0; })
        .observe(document, {subtree: true, childList: true, characterData: true});"""


class Site:
    """A controller with its policy and tokens, and the actions of a person at a browser."""

    def __init__(self, start, run, browser, tmp_path, top):
        self.start, self.run, self.b, self.tmp = start, run, browser, tmp_path
        shutil.copytree(top / "policies", tmp_path / "policies")
        self.policy = tmp_path / "policies/default.yaml"
        self.budget(1)
        self.page, self.agents = top / "page", None

    def budget(self, nodes):
        """The number of hosts that may be out of service; findings are reported without actions."""
        text = self.policy.read_text()
        text = re.sub(r"^mode: \w+", "mode: enforce", text, flags=re.M).replace("action: retest", "action: alert")
        self.policy.write_text(re.sub(r"total: \{.*\}", f"total: {{percent: 100, nodes: {nodes}}}", text))

    def begin(self, role="operate", tokens=ROLES, db=None, listen="127.0.0.1:0"):
        config = self.tmp / "controller.yaml"
        config.write_text(f"v: 1\npage: {{role: {role}}}\n")
        self.tokens = {**{word: word for word in tokens}, **{name: f"of {name}" for name in self.names()}} if tokens else None
        self.write_tokens()
        words = ["--tokens", self.tmp / "tokens.yaml"] if tokens else []
        self.c = self.start("--config", config, "--mode", "enforce", "--listen", listen, *words, db=db,
                            env={"ASSAY_POLICY_DIR": str(self.tmp / "policies"), "ASSAY_PAGE_DIR": str(self.page)})
        self.address = f"http://127.0.0.1:{self.c.port}/page/"
        return self

    @staticmethod
    def names():
        return [h.node for h in hosts.fleet(HOSTS)]

    def write_tokens(self, without=()):
        rows = [(secret, f"node: {name}" if name not in ROLES else f"role: {name}, name: {ROLES[name]}") for name, secret in (self.tokens or {}).items() if name not in without]
        (self.tmp / "tokens.yaml").write_text("v: 1\ntokens:\n" + "".join(f"- {{sha256: {hashlib.sha256(s.encode()).hexdigest()}, {who}}}\n" for s, who in rows))

    def report(self, runs=2):
        """Hosts send quick runs and a full one; one has a slow link and one is slow."""
        ill = {SLOW_LINK: [faults.SlowLink(hosts.uplink(1))], SLOW_HOST: [faults.SlowHost()]}
        agents = simulate.Agents((self.c.host, self.c.port), wiring.wire(hosts.fleet(HOSTS, 1, ill)), self.tokens)
        for profile in ["quick"] * runs + ["full"]:
            assert set(agents.run(profile).values()) == {202}
        agents.close()
        assert wait_for(lambda: SLOW_LINK in self.get("incidents?state=open")), self.c.log()
        return self

    def get(self, path):
        return self.c.get("/v1/" + path, token=self.tokens and "admin").body.decode()

    def ctl(self, *words):
        (self.tmp / "token").write_text("admin")
        done = self.run("assayctl", *words, "--controller", f"http://127.0.0.1:{self.c.port}", "--token-file", self.tmp / "token", env={"SUDO_USER": ""})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def reload(self):
        before = self.c.metrics()["assay_reloads_total"]
        self.c.process.send_signal(signal.SIGHUP)
        assert wait_for(lambda: self.c.metrics()["assay_reloads_total"] == before + 1), self.c.log()

    # --- at the browser ---

    def open(self, where=""):
        self.b.open("about:blank").open(self.address + where)
        return self.b

    def log_in(self, token, where=""):
        b = self.open(where)
        b.until(lambda: b.text("h1") == "Sign in to Assay", "the field for a token")
        b.press(token, ENTER) if b.script("return document.activeElement.id") == "token" else b.one("#token").send_keys(token, ENTER)
        b.until(lambda: b.all("nav a[href='#/fleet']"), "the page")
        return b

    def button(self, word, css="main"):
        """Waits for the button with that label."""
        return self.b.until(lambda: next((x for x in self.b.all(f"{css} button") if " ".join(x.text.split()).startswith(word)), None), f"a button {word}")

    def said(self, words, css="main"):
        return self.b.until(lambda: words in self.b.text(css) and words, f"{words!r} in {css}")

    def sees_the_link(self):
        """The slow link is named in the sentence, and outlined in the map of its host's paths."""
        self.b.until(lambda: self.b.text("h1").startswith(f"{SLOW_LINK}: {LINK_NAME}"), "the sentence")
        self.said(f"crosses {LINK_NAME}", ".mesh-key")
        return re.search(r"gpu-\d+", self.b.script("return location.hash")).group()

    def wiring_marked(self):
        """The nodes below a slow link, or one with lost lanes, in the topology tree of the host."""
        self.b.until(lambda: self.b.all(".tree .t-fail"), "the wiring")
        assert len(self.b.all(".tree li")) == 2 + hosts.SWITCHES * 2 + hosts.GPUS + hosts.RNICS
        return self.b.script("return [...document.querySelectorAll('.tree .strong')].map(s => s.lastChild.textContent.trim())")

    def state(self, node):
        return json.loads(self.get(f"nodes/{node}/why"))["service"]["state"]


@pytest.fixture
def site(controller, run, browser, tmp_path, top):
    it = Site(controller, run, browser, tmp_path, top)
    yield it
    browser.open("about:blank")
    browser.driver.delete_all_cookies()


def test_from_the_login_to_the_slow_link_and_a_cordon_refused_then_allowed(site):
    site.begin().report()
    site.ctl("cordon", SPARE, "--reason", "fan 3")
    b = site.log_in("operate")
    b.until(lambda: SLOW_LINK in b.text(".worst") and SLOW_HOST in b.text(".worst"), "who is worst")
    assert "1 of 16 hosts fails; 14 pass" in b.text(".lead")
    b.one(f'.worst a[href$="{SLOW_LINK}"]').click()
    assert site.sees_the_link() == SLOW_LINK
    assert site.wiring_marked() == ["switch 46:00.0"]
    site.button("Cordon").click()
    site.said("Refused by budget.total.", "dialog")
    assert re.search("What would allow it: .*", b.text("dialog")) and "1 to 2 of 1" in b.text("dialog")
    assert site.button(f"Cordon {SLOW_LINK}", "dialog").get_attribute("aria-disabled") == "true"
    b.one("#why").send_keys("x", "\ue009", ENTER)
    assert site.state(SLOW_LINK) == "in-service"
    site.ctl("uncordon", SPARE, "--reason", "fan 3 is a new one")
    site.button("Ask again", "dialog").click()
    site.said("0 to 1 of 1", "dialog")
    site.button(f"Cordon {SLOW_LINK}", "dialog").click()
    site.said("done", "dialog .outcome")
    assert site.state(SLOW_LINK) == "cordoned"
    site.button("Close", "dialog").click()
    site.button("Uncordon").click()
    b.one("#why").send_keys("a new riser")
    b.until(lambda: b.one("dialog [type=submit]").get_attribute("aria-disabled") == "false", "that it may be done")
    b.one("dialog [type=submit]").click()
    site.said("done", "dialog .outcome")
    assert site.state(SLOW_LINK) == "in-service"
    assert [line for line in b.log() if "Content Security" in line] == []


def test_all_of_it_by_keyboard_alone(site):
    site.begin().report()
    site.ctl("cordon", SPARE, "--reason", "fan 3")
    b = site.open()
    b.until(lambda: b.script("return document.activeElement.id") == "token", "the field for a token, with the focus")
    b.press("operate", ENTER)
    b.until(lambda: LINK_NAME in b.text(".lead"), "the sentence of the fleet")
    b.press(TAB)  # the worst host is first in the tab order
    b.press(ENTER)
    assert site.sees_the_link() == SLOW_LINK
    b.press_c()
    site.said("Refused by budget.total.", "dialog")
    b.press(ESCAPE)
    b.until(lambda: not b.all("dialog"), "no dialog")
    site.budget(2)
    site.reload()
    b.press_c()
    site.said("1 to 2 of 2", "dialog")
    b.until(lambda: b.script("return document.activeElement.id") == "why", "the field for the reason, with the focus")
    b.press("uplink at x8")
    site.said("would be", "dialog footer")
    b.press("\ue009", ENTER)  # Ctrl and Enter
    site.said("done", "dialog .outcome")
    assert site.state(SLOW_LINK) == "cordoned"
    b.press(ESCAPE)
    site.button("Uncordon")
    b.press_c()
    b.until(lambda: b.script("return document.activeElement.id") == "why", "the field for the reason, with the focus")
    b.press("a new riser")
    site.said("would be", "dialog footer")
    b.press("\ue009", ENTER)
    site.said("done", "dialog .outcome")
    assert site.state(SLOW_LINK) == "in-service"


def act_from_the_page(b, node):
    """The server's response to a cordon as the page would send it."""
    return b.driver.execute_async_script("""
        const done = arguments[1];
        fetch(`/v1/nodes/${arguments[0]}/cordon`, {method: 'POST', headers: {'Content-Type': 'application/json', 'Assay-Request': '1'}, body: '{"reason": "a test"}'})
            .then(answer => done(answer.status), error => done(String(error)));""", node)


def few(site, **more):
    """A controller with one host that passes."""
    site.begin(**more)
    assert site.c.post_again(report("gpu-1"), token=site.tokens and "admin").status == 202
    assert wait_for(lambda: '"service":{"state"' in site.get("nodes/gpu-1/why").replace(" ", ""))
    return site


@pytest.mark.parametrize("token,role", [("read", "operate"), ("operate", "read")], ids=["by the token", "by the page's role"])
def test_who_only_reads_sees_no_button_and_the_server_refuses(site, token, role):
    few(site, role=role)
    b = site.log_in(token, "#/host/gpu-1?act=cordon")
    site.said("gpu-1", "h1")
    b.one(".facts")
    b.press("c")
    assert b.all("dialog") == [] and not [x for x in b.all("main button") if x.text.startswith(("Cordon", "Silence", "Uncordon"))]
    assert act_from_the_page(b, "gpu-1") == 403 and site.state("gpu-1") == "in-service"
    assert "assayctl why gpu-1" in b.text(".tools")


def test_a_session_that_ends_signs_the_tab_out(site):
    few(site)
    b = site.log_in("operate")
    site.said("The one host passes.", "h1")
    open_ = next(line for line in site.ctl("session", "list").splitlines() if " ope " in line)
    number = re.search(r"open\s+(\d+)", open_).group(1)
    site.ctl("session", "end", number, "--reason", "a lost laptop")
    b.until(lambda: b.text("h1") == "Sign in to Assay", "to be signed out")
    assert "gpu-1" not in b.text() and act_from_the_page(b, "gpu-1") == 401
    b.one("#token").send_keys("operate", ENTER)
    site.said("The one host passes.", "h1")
    site.write_tokens(without=["operate"])
    site.reload()
    b.until(lambda: b.text("h1") == "Sign in to Assay", "to be signed out again")
    b.one("#token").send_keys("operate", ENTER)
    site.said("does not know this token", "[role=alert]")
    assert act_from_the_page(b, "gpu-1") == 401 and site.state("gpu-1") == "in-service"


def again(site, **more):
    """A new controller at the same address."""
    listen = f"127.0.0.1:{site.c.port}"
    site.begin(listen=listen, **more)


def test_a_controller_that_comes_back_goes_on_and_another_one_begins_anew(site, tmp_path):
    few(site, tokens=None)
    b = site.open()
    site.said("The one host passes.", "h1")
    site.c.kill()
    again(site, tokens=None)
    assert site.c.post_again(report("gpu-2")).status == 202
    site.said("All 2 hosts pass.", "h1")  # without a reload
    site.c.kill()
    again(site, tokens=None, db=tmp_path / "other.db")
    assert site.c.post_again(report("gpu-9")).status == 202
    b.until(lambda: b.text("h1") == "The one host passes." and "gpu-9" in spoken(b) and "gpu-2" not in spoken(b), "the other one's host")


def spoken(b):
    return b.script("return [...document.querySelectorAll('[role=gridcell]')].map(e => e.getAttribute('aria-label')).join()")


def test_another_controller_with_tokens_asks_who_it_is(site, tmp_path):
    few(site)
    b = site.log_in("operate")
    site.said("The one host passes.", "h1")
    site.c.kill()
    again(site, db=tmp_path / "other.db")
    b.until(lambda: b.text("h1") == "Sign in to Assay", "to be asked")
    assert "gpu-1" not in b.text()


def test_two_tabs_hold_one_call(site):
    few(site, tokens=None)
    asked = "return performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/changes')).length"
    b, first = site.open(), site.b.driver.current_window_handle
    b.until(lambda: b.script(asked) > 0, "a call that has ended")
    b.driver.switch_to.new_window("tab")
    try:
        site.open()
        site.said("The one host passes.", "h1")
        for name in ("gpu-2", "gpu-3"):
            site.c.post_again(report(name))
        site.said("All 3 hosts pass.", "h1")
        assert b.script(asked) == 0
    finally:
        b.driver.close()
        b.driver.switch_to.window(first)
    site.said("All 3 hosts pass.", "h1")


@pytest.mark.alone  # a promise in seconds
@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_ten_seconds_after_the_last_answer_no_map_looks_healthy(site, how):
    site.begin(tokens=None).report(runs=1)
    watch = site.b.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    try:
        b = site.open("" if how == "killed" else f"#/host/{SLOW_LINK}")
        site.said(LINK_NAME, "h1")
        b.until(lambda: b.script("return window.heard"), "an answer")
        site.c.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        b.until(lambda: b.script("return window.silent"), "that nothing is known")
        silent = b.script("return (window.silent - window.heard) / 1000")
        assert 0 < silent <= STALE_S, silent
        assert "No answer from the controller since" in b.text("[role=alert]")
        if how == "killed":
            site.c.process.wait()
            again(site, tokens=None)
        else:
            site.c.process.send_signal(signal.SIGCONT)
        site.said(LINK_NAME, "h1")
        assert b.all(".stale-note") == []
    finally:
        site.b.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", watch)
