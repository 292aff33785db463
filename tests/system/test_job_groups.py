# SPDX-License-Identifier: Apache-2.0
"""A job is slowed by a tensor-parallel group on two hosts; the trace cannot tell which one: both are held, tested, and measured with others."""
import json
import signal
import subprocess

import pytest
from clock_fixtures import MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_diagnose import HOSTS, JOB, TOP, WAIT_S, labs  # noqa: F401
from test_job_links import THIRDS, Linked, Links
from waiting import wait_for

GROUP = ["gpu-02", "gpu-03"]
HELD_S = WAIT_S / 3

POLICY = """v: 1
mode: enforce
budget: {{total: {{percent: {total}}}, rate: {{cordons: 100, per: 10m}}}}
hold: {{ttl: 30m, at_once: {at_once}}}
retest: {{times: 2}}
coverage: {{max_age: 3650d}}
breaker: {{silent_percent: 100}}
jobs: {{mode: {jobs}, retest_spacing: 1s, born: {{percent: 100}}, over_evict: {{hosts: {hosts}}}, ladder: {{hosts: {ladder}}}}}
rules:
  - {{name: slow, match: {{check: "gemm.*"}}, windows: {{k: 1, n: 1}}, action: retest}}
  - {{name: slow-collective, match: {{check: "all_*"}}, windows: {{k: 2, n: 3}}, action: retest}}
"""


class Member(Linked):
    def answer(self, order):
        super().answer(order)
        if order["kind"] == "deep" and self.tests:
            self.answered.append(order["id"])


class Groups(Links):
    host = Member

    def window(self, ages, run=1):
        if self.trace is None:
            text = subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", JOB, "--dp", "4", "--pp", "1", "--tp", "16", "--steps", "12",
                                   "--slow", "gpu-01/30"], capture_output=True, check=True, timeout=60).stdout.decode()
            first, rest = text.split("\n", 1)
            meta = json.loads(first)
            for rank in meta["ranks"]:  # 8 ranks per host
                rank["node"] = HOSTS[rank["rank"] // 8]
            self.trace = (json.dumps(meta) + "\n" + rest).encode()
            for node in HOSTS:
                self.claim(node, [0])
        super().window(ages, run)

    def silence(self):
        for host in self.hosts.values():
            host.way, host.tests = "silent", False

    def speak(self):
        """Also answers orders that were given meanwhile."""
        for host in self.hosts.values():
            host.way, host.tests = "obeys", True
            for order in [o for o in host.orders if o["id"] not in host.answered]:
                host.answer(order)

    def held(self):
        return sorted(n["node"] for n in self.c.get("/v1/nodes?limit=1000").json["items"] if n["service"] and n["service"]["state"] == "held")

    def ask_all(self):
        """Both are held, and their tests are ordered but not answered."""
        self.silence()
        self.stop_job()
        assert wait_for(lambda: self.held() == GROUP, HELD_S), (self.held(), self.record())
        for name in GROUP:
            assert self.told(name)

    def test_each(self):
        """Answers their pending orders, but none that follow."""
        for host in (self.hosts[name] for name in GROUP):
            host.tests = True
            host.answer(self.told(host.name))
            host.tests = False

    def free(self):
        assert wait_for(lambda: self.held() == [], HELD_S), (self.held(), self.record(), self.c.log())


@pytest.fixture
def lab(labs):  # noqa: F811
    def start(jobs="enforce", hosts=4, total=50, at_once=1, ladder=4, **more):
        return labs(Groups, POLICY.format(jobs=jobs, hosts=hosts, total=total, at_once=at_once, ladder=ladder), **more)
    return start


@pytest.mark.once
@pytest.mark.parametrize("bad", GROUP)
def test_the_host_that_is_slow_with_others_alone_is_cordoned_and_the_other_acquitted(lab, bad):
    f = lab()
    good = next(n for n in GROUP if n != bad)
    f.hosts[bad].part = 0.5
    f.ask_all()
    f.speak()
    over = f.ends_as({bad: "cordoned", good: "acquitted"})
    f.free()
    assert f.cordoned() == [bad]
    (entry,) = over["pairs"]
    assert (entry["kind"], entry["ends"], entry["thirds"], entry["verdicts"]) == ("group", GROUP, THIRDS, {bad: "bad", good: "good"}), entry
    campaign = f.show(entry["runs"][0]["campaign"])
    assert (campaign["kind"], campaign["plan"], campaign["rounds_max"]) == ("allreduce", "bisect", 4)
    assert {n["node"] for n in campaign["nodes"]} == {*GROUP, *THIRDS}
    (cordon,) = [a for a in f.c.get("/v1/actions?limit=1000").json["items"] if a["action"] == "cordon"]
    assert f"{JOB} is slow because of it" in cordon["reason"] and "all_reduce.busbw" in cordon["evidence"]["text"], cordon


@pytest.mark.once
def test_where_one_fails_by_itself_the_other_is_back_at_once(lab):
    """... and is not held until the failure is repeated."""
    f = lab()
    bad, good = GROUP
    f.hosts[bad].alone = 0.5
    f.ask_all()
    f.test_each()
    assert wait_for(lambda: f.states()[good] == "acquitted" and good not in f.held(), HELD_S), f.record()
    assert f.cordoned() == [] and f.states()[bad] == "testing" and f.held() == [bad]
    f.claim(good, [0], job="research/moe-2")  # another job starts there; the finding on the other host remains
    f.speak()
    over = f.ends_as({bad: "cordoned", good: "acquitted"})
    f.free()
    assert f"{bad} failed on its own, so {good}, which passed, is cleared" in over["pairs"][0]["text"] and over["pairs"][0]["runs"] == []
    assert f.c.get("/v1/campaigns").json["items"] == [] and f.cordoned() == [bad]


@pytest.mark.once
def test_nobody_is_bad_and_all_are_back(lab):
    f = lab()
    f.ask_all()
    f.speak()
    over = f.ends_as(dict.fromkeys(GROUP, "acquitted"))
    f.free()
    assert over["pairs"][-1]["verdicts"] == dict.fromkeys(GROUP, "good") and len(over["pairs"][-1]["runs"]) == 1 and f.cordoned() == []
    assert f.c.get("/v1/incidents?state=open").json["items"] == []


@pytest.mark.once
def test_without_a_third_host_nobody_can_tell_and_nobody_stays_held(lab):
    f = lab(thirds=[])
    f.hosts[GROUP[0]].part = 0.5
    f.ask_all()
    f.speak()
    over = f.ends_as(dict.fromkeys(GROUP, "watch"))
    f.free()
    assert "what would tell: a campaign with a third host of the same model" in over["sentence"], over
    assert f.cordoned() == [] and f.c.get("/v1/campaigns").json["items"] == []


@pytest.mark.once
def test_nothing_is_touched_before_the_job_has_left_all_of_them(lab):
    f = lab()
    assert wait_for(lambda: f.record().get("state") == "open", WAIT_S), f.c.log()
    f.silence()
    f.claim(GROUP[0], [])
    for name in HOSTS:
        if name != GROUP[1]:
            f.claim(name, [])
    f.window((40, 5))  # judged again
    assert wait_for(lambda: len(f.c.get(f"/v1/jobs/{f.id}").json["suspects"][0]["waits"]) == 2, HELD_S), f.c.get(f"/v1/jobs/{f.id}").json["suspects"]
    assert f.held() == [] and f.retests() == []
    f.claim(GROUP[1], [])
    assert wait_for(lambda: f.held() == GROUP, HELD_S), f.record()


@pytest.mark.once
def test_a_job_that_is_back_ends_it_for_all_of_them(lab):
    f = lab()
    f.ask_all()
    f.claim(GROUP[0], [0])
    f.free()
    assert f.cordoned() == []
    f.claim(GROUP[0], [])  # and when it has left, they are held again
    assert wait_for(lambda: f.held() == GROUP, HELD_S), f.record()


@pytest.mark.once
@pytest.mark.parametrize("way", ["cancel", "uncordon", "observe"])
def test_a_person_ends_it_and_nobody_stays_held(lab, way, tmp_path):
    f = lab()
    f.ask_all()
    if way == "observe":
        policy = tmp_path / "policy.yaml"
        policy.write_text(policy.read_text().replace("jobs: {mode: enforce", "jobs: {mode: observe"))
        f.c.process.send_signal(signal.SIGHUP)
        f.free()
        assert f.record()["state"] == "withdrawn" and f.cordoned() == []
        return
    path = "/v1/investigations/1/cancel" if way == "cancel" else f"/v1/nodes/{GROUP[0]}/uncordon"
    said = f.c.call("POST", path, b'{"reason": "not now"}')
    assert said.status in (200, 202), said.body
    if way == "uncordon":
        assert wait_for(lambda: f.states()[GROUP[0]] == "withdrawn" and GROUP[0] not in f.held(), HELD_S), f.record()
        f.speak()  # the other one is still under test
        f.ends_as({GROUP[0]: "withdrawn", GROUP[1]: "acquitted"})
    f.free()
    assert f.cordoned() == []


@pytest.mark.once
def test_it_outlives_the_controller_while_they_are_tested(lab):
    f = lab()
    bad, good = GROUP
    f.hosts[bad].part = 0.5
    f.ask_all()
    f.revive()
    assert wait_for(lambda: f.held() == GROUP, HELD_S) and len(f.retests()) == 2, f.record()
    f.speak()
    assert wait_for(lambda: f.cordoned() == [bad], WAIT_S), f.record()
    # The spread of the model is learnt again, so a pass may or may not be enough for an acquittal.
    assert wait_for(lambda: f.states()[bad] == "cordoned" and f.states()[good] in ("acquitted", "watch"), WAIT_S), f.record()
    f.free()
    assert len(f.retests()) == 2


@pytest.mark.once
def test_it_outlives_the_controller_while_a_failure_is_to_be_repeated(lab):
    """The cleared one stays cleared, and is not held again."""
    f = lab()
    bad, good = GROUP
    f.hosts[bad].alone = 0.5
    f.ask_all()
    f.test_each()
    assert wait_for(lambda: f.states()[good] == "acquitted" and f.held() == [bad], HELD_S), f.record()
    f.revive()
    for name, host in f.hosts.items():
        host.tests = True
        if name != bad:
            host.answer({"kind": "deep", "id": "by-hand"})
        else:
            host.report()
    f.speak()
    f.ends_as({bad: "cordoned", good: "acquitted"})
    f.free()
    assert f.cordoned() == [bad] and [a["node"] for a in f.retests()].count(good) == 1


@pytest.mark.once
def test_it_outlives_the_controller_while_they_are_measured_and_when_it_is_over(lab):
    f = lab()
    bad, good = GROUP
    f.hosts[bad].part = 0.5
    f.ask_all()
    for name in GROUP:
        f.hosts[name].tests = True
        f.hosts[name].answer(f.told(name))
    assert wait_for(lambda: f.record().get("pairs") and f.pairs()["campaign"], WAIT_S), f.record()
    before = f.pairs()
    f.is_told([*GROUP, *before["thirds"]])
    f.revive()
    for name in GROUP:
        f.hosts[name].report()  # its boot is not known before
    assert wait_for(lambda: f.held() == GROUP, HELD_S) and f.pairs() == before
    assert not [a for a in f.c.get("/v1/actions?limit=1000").json["items"] if a["action"] == "unhold"]
    f.speak()
    over = f.ends_as({bad: "cordoned", good: "acquitted"})
    f.free()
    assert over["pairs"][-1]["runs"][0]["campaign"] == before["campaign"]
    f.revive()
    for name in GROUP:
        f.hosts[name].report()
    assert wait_for(lambda: f.states() == {bad: "cordoned", good: "acquitted"}, HELD_S), json.dumps([f.record(), f.c.get(f"/v1/jobs/{f.id}").json["suspects"]], indent=1)
    assert f.held() == [] and f.cordoned() == [bad] and len(f.retests()) == 2


@pytest.mark.once
def test_a_host_that_falls_silent_keeps_no_other(lab, clock):  # noqa: F811
    """The other is measured without it; and it is held only as long as its job blames it."""
    f = lab(env=clock.env())
    f.ask_all()
    silent, other = GROUP

    def pass_time(minutes):
        for at in range(5, minutes + 1, 5):
            clock.set(wall=at * MIN, boot=at * MIN)
            for name, host in f.hosts.items():
                if name != silent:
                    host.report()

    for name, host in f.hosts.items():
        host.way, host.tests = ("silent", False) if name == silent else ("obeys", True)
    f.hosts[other].answer(f.told(other))
    assert wait_for(lambda: f.retests()[0]["state"] == "done" or f.retests()[1]["state"] == "done", HELD_S) and f.held() == GROUP
    pass_time(20)
    assert wait_for(lambda: f.states()[other] == "acquitted" and f.held() == [silent], HELD_S), (f.held(), f.record())
    assert f.record()["ended"] is None and f.pairs()["ends"] == [other]
    pass_time(45)
    f.free()
    assert f.states()[silent] == "withdrawn" and f.cordoned() == []


@pytest.mark.once
@pytest.mark.parametrize("more", [{"hosts": 0}, {"hosts": 1}])
def test_off_or_a_group_that_is_too_large_is_tested_host_by_host(lab, more):
    f = lab(**more)
    f.hosts[GROUP[0]].part = 0.5
    f.stop_job()
    over = f.ends_as(dict.fromkeys(GROUP, "acquitted"))
    assert over["pairs"] is None and f.c.get("/v1/campaigns").json["items"] == []
    f.free()


@pytest.mark.once
def test_what_the_budget_does_not_let_is_not_held_as_a_whole(lab):
    """One of ten hosts may be out, so they are held one at a time, and both are tested anyway."""
    f = lab(total=10)
    f.silence()
    f.stop_job()
    for name in GROUP:
        assert f.told(name)
    assert len(f.held()) == 1
    f.speak()
    f.ends_as(dict.fromkeys(GROUP, "acquitted"))
    f.free()
    holds = [a for a in f.c.get("/v1/actions?limit=1000").json["items"] if a["action"] == "hold"]
    assert all("tested because it slowed" in a["reason"] for a in holds), holds


@pytest.mark.once
def test_those_that_wait_for_their_turn_are_held_too(lab):
    f = lab(ladder=1)
    f.silence()
    f.stop_job()
    assert wait_for(lambda: f.held() == GROUP, HELD_S), f.record()
    assert f.told(GROUP[0]) and [a["node"] for a in f.retests()] == [GROUP[0]]
    assert "ladder.hosts" in next(h for h in f.record()["hosts"] if h["node"] == GROUP[1])["sentence"]
    f.speak()
    f.ends_as(dict.fromkeys(GROUP, "acquitted"))
    f.free()


@pytest.mark.once
@pytest.mark.parametrize("jobs", ["observe", "dry-run"])
def test_without_enforce_nothing_is_held(lab, jobs):
    f = lab(jobs)
    f.stop_job()
    assert wait_for(lambda: f.c.get(f"/v1/jobs/{f.id}").json["suspects"], WAIT_S)
    assert f.held() == [] and f.c.get("/v1/investigations").json["items"] == [] and {a["state"] for a in f.c.get("/v1/actions").json["items"]} <= {"dry-run"}
