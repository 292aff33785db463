# SPDX-License-Identifier: Apache-2.0
"""Clocks of host and controller off by a day in either direction, jumping at any moment: nothing old is taken as fresh."""
import json
from pathlib import Path

import pytest
from assayd_fixtures import assayd, assayd_path, config, stub  # noqa: F401
from clock_fixtures import DAY, HOUR, MIN, clock, clock_shift, other_clock  # noqa: F401
from conftest import sample
from fake_host import FakeHost
from fixtures_controller import controller, report  # noqa: F401
from waiting import wait_for

UP = 10 * DAY
NODE = "n1"


class Host:
    """A host whose boots and clocks a test controls; `offset`: time passed, `wall`: error of its wall clock."""

    def __init__(self, run, clock, fake, profiles_file, state):
        self.run, self.clock, self.fake, self.profiles, self.state = run, clock, fake, profiles_file, Path(state)
        self.set()

    def set(self, offset=0.0, wall=0.0, boot=1, up=UP):
        self.fake.boot(boot)
        self.clock.set(offset + wall, offset + up)

    def env(self):
        return {**self.clock.env(), "ASSAY_NODE": NODE, "ASSAY_SYSROOT": str(self.fake.root)}

    def measure(self, profile="quick"):
        out = self.run("assay", "run", "--profile", profile, "--profiles", self.profiles, "--report", "--busy", "run", "-o", "json", env=self.env())
        assert out.returncode == 0 and out.stderr == "", out.stdout + out.stderr
        return json.loads(out.stdout)["report"]

    def kept(self):
        return json.loads((self.state / "verdict.json").read_text())

    def admit(self, *args):
        return json.loads(self.run("assay", "admit", "-o", "json", *args, env=self.env()).stdout)


@pytest.fixture
def host(run, clock, says, profiles, environ, tmp_path):
    probe = says("probe", sample("gemm.correct", value=1, unit="1", better="none", ok=True))
    return Host(run, clock, FakeHost(tmp_path / "root"), profiles(**{
        name: [{"name": "gemm", "exec": probe, "active": name != "passive"}] for name in ("passive", "quick", "full")}),
        environ["ASSAY_STATE_DIR"])


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_a_clock_that_jumps_leaves_the_age_of_a_verdict_as_it_is(host, jump):
    host.measure()
    host.set(offset=10 * MIN, wall=jump)
    answer = host.admit()
    assert answer["answer"] == "ok" and abs(answer["age_s"] - 10 * MIN) < 100, answer
    host.set(offset=3 * DAY, wall=-3 * DAY)
    answer = host.admit()
    assert answer["answer"] == "unknown" and abs(answer["age_s"] - 3 * DAY) < 100, answer
    assert "old" in answer["reasons"][0]


def test_a_verdict_made_while_the_clock_was_a_day_ahead_is_not_fresh_for_a_day(host):
    host.set(wall=DAY)
    host.measure("full")
    host.set(offset=HOUR, boot=2, up=MIN - HOUR)
    answer = host.admit()
    assert answer["answer"] == "unknown" and "from the future" in answer["reasons"][0], answer
    # the next run counts as newer, though the previous one has a later timestamp
    host.measure("quick")
    answer = host.admit()
    assert (answer["answer"], answer["profile"]) == ("ok", "quick") and answer["age_s"] < 100, answer


def test_a_verdict_of_an_earlier_boot_is_not_younger_than_this_one(host):
    """The clock stopped while the host was down: by it only a minute has passed."""
    host.measure()
    host.set(offset=MIN, boot=2, up=2 * DAY)
    assert host.admit()["answer"] == "unknown"
    assert host.admit("--max-age", "3d")["answer"] == "ok"


def test_a_clock_that_jumps_during_a_run_changes_nothing_that_counts(host, clock, script, profiles):
    line = sample("gemm.correct", value=1, unit="1", better="none", ok=True)
    probe = script("jump", f"echo '{int(-DAY * 1e6)} {int(UP * 1e6)}' >'{clock.path}'\necho '{line}'\n")
    host.profiles = profiles(quick=[{"name": "gemm", "exec": probe}])
    made = host.measure()
    assert 0 <= made["duration_s"] < 60
    answer = host.admit()
    assert answer["answer"] == "ok" and answer["age_s"] < 100, answer


@pytest.mark.parametrize("wall", [-DAY, DAY])
def test_an_opinion_lives_as_long_as_it_was_given(host, assayd, config, stub, wait_until, wall):
    """The host's clock is a day off the controller's, and is then corrected."""
    host.set(wall=wall)
    host.measure()
    config(controller=stub.url)
    stub.orders = [{"id": "1", "kind": "opinion", "now": "2026-11-21T00:00:00Z", "opinion": {
        "verdict": "fail", "expires": "2026-11-21T01:00:00Z", "sentence": "two of three say so"}}]
    daemon = assayd(env=host.env())
    wait_until(lambda: host.admit()["answer"] == "bad", what=daemon.log())
    host.set(offset=50 * MIN)
    assert host.admit()["answer"] == "bad"
    host.set(offset=70 * MIN)
    assert host.admit()["answer"] == "ok"


@pytest.mark.parametrize("wall,words", [(-DAY, "24 h behind"), (DAY, "24 h ahead of")])
def test_a_host_whose_clock_is_off_is_judged_as_any_other_and_its_clock_is_told(host, assayd, config, controller, wall, words):
    c = controller()
    host.set(wall=wall)
    host.measure("passive")
    config(controller=f"http://127.0.0.1:{c.port}")
    daemon = assayd(env=host.env())
    assert wait_for(lambda: c.get(f"/v1/nodes/{NODE}").status == 200, 60), daemon.log()
    node = c.get(f"/v1/nodes/{NODE}/why").json
    assert not node["stale"] and node["age_s"] < 100 and node["verdict"] == "pass"
    assert abs(node["clock_skew_s"] - wall) < 60
    item, = node["items"]
    assert item["check"] == "host.clock" and item["verdict"] == "warn" and words in item["sentence"]
    assert c.get("/v1/incidents").json["items"] == []
    # the fleet's opinion expires there as on any host
    assert wait_for(lambda: "fleet" in host.kept()), daemon.log()
    assert host.kept()["fleet"]["verdict"] == "pass"
    # corrected in the same boot: the next report is newer whatever its timestamp
    host.set(offset=MIN)
    host.measure("passive")
    assert wait_for(lambda: abs(c.get(f"/v1/nodes/{NODE}").json["clock_skew_s"]) < 100), daemon.log()
    assert c.get(f"/v1/nodes/{NODE}/why").json["items"] == []


def test_what_waited_while_the_clock_was_reset_by_a_reboot_is_history(host, assayd, config, controller):
    """Its age is unknown, because its timestamp is after the host's present. It counts as too old."""
    c = controller()
    host.measure("passive")
    host.set(offset=-DAY, boot=2, up=DAY + HOUR)
    config(controller=f"http://127.0.0.1:{c.port}")
    daemon = assayd(env=host.env())
    assert wait_for(lambda: c.get(f"/v1/nodes/{NODE}").status == 200, 60), daemon.log()
    assert c.get(f"/v1/nodes/{NODE}").json["stale"]


@pytest.mark.parametrize("wall", [-DAY, DAY])
def test_a_controller_whose_clock_is_set_right_has_nobody_fresh_until_they_report(controller, other_clock, wall):
    other_clock.set(wall=wall)
    c = controller(env=other_clock.env())
    assert c.post(report(), headers={"Assay-Age": "0.5"}).status == 202
    assert not c.get("/v1/nodes/gpu-1").json["stale"]
    other_clock.set()
    node = c.get("/v1/nodes/gpu-1").json
    assert node["stale"] and node["verdict"] == "inconclusive"
    assert c.metrics()['assay_nodes{verdict="inconclusive"}'] == 1
    assert c.post(report(seq=2), headers={"Assay-Age": "0.5"}).status == 202
    assert not c.get("/v1/nodes/gpu-1").json["stale"]


def test_newer_is_what_was_numbered_later_whatever_the_stamps_say(controller):
    """Two profiles, the older one from a clock a day ahead: its items do not override the newer ones."""
    def correct(ok):
        return [{"v": 1, "check": "gemm.correct", "subject": "cpu:0", "value": 1, "unit": "1", "better": "none", "ok": ok, "state": "measured"}]

    c = controller()
    assert c.post(report(seq=1, profile="full", time="2026-11-22T10:00:00Z", samples=correct(False))).status == 202
    assert c.post(report(seq=2, profile="quick", time="2026-11-21T10:00:00Z", samples=correct(True))).status == 202
    assert c.get("/v1/nodes/gpu-1").json["verdict"] == "pass"
    assert c.get("/v1/nodes/gpu-1/why").json["items"] == []
