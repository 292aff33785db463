# SPDX-License-Identifier: Apache-2.0
"""A job is slowed by transfers between two hosts: each is tested alone, then they are measured with each other and with third hosts."""
import json
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from campaign_hosts import RATE
from clock_fixtures import MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller, sample  # noqa: F401
from test_diagnose import ADMIN, HOSTS, JOB, TOP, WAIT_S, Diagnosed, Lab, labs  # noqa: F401
from test_placement import process
from waiting import wait_for

ENDS, THIRDS = ["gpu-02", "gpu-06"], ["gpu-08", "gpu-09"]
AGES = ((900, 700), (130, 10))  # of two separate windows

POLICY = """v: 1
mode: enforce
budget: {{total: {{percent: 50}}, rate: {{cordons: 100, per: 10m}}}}
retest: {{times: {times}}}
coverage: {{max_age: 3650d}}
breaker: {{silent_percent: 100}}
jobs: {{mode: {jobs}, retest_spacing: 1s, born: {{percent: 100}}}}
rules:
  - {{name: slow, match: {{check: "gemm.*"}}, windows: {{k: 1, n: 1}}, action: alert}}
  - {{name: slow-pair, match: {{check: "rnic_pair.*"}}, windows: {{k: 2, n: 3}}, action: retest}}
  - {{name: slow-loopback, match: {{check: "loopback.*"}}, windows: {{k: 1, n: 1}}, action: retest}}
"""


class Linked(Diagnosed):
    """`loopback`: rate of its RNIC in loopback, relative to the others."""
    loopback = 1.0

    def answer(self, order):
        if order["kind"] == "deep" and self.tests:
            values = [sample(subject=f"cpu:{i}", value=(70e9 + i * 1e8) * self.alone) for i in range(8)]
            values += [sample("loopback.write_bw", "mlx5_0:1", RATE * self.loopback * (1 + 0.001 * int(self.name[-1])), "B/s")]
            self.report(profile="full", samples=values, order={"id": order["id"], "kind": "deep"})
        elif order["kind"] == "pair" and frozenset(p.rpartition(":")[0] for p in order["peers"]) in self.fabric.slow:
            part, self.part = self.part, 0.5
            super().answer(order)
            self.part = part
        elif order["kind"] != "deep":
            super().answer(order)


class Links(Lab):
    host = Linked

    def __init__(self, start, options, thirds=THIRDS, env=None):
        self.slow, self.trace = set(), None  # pairs that are slow with each other
        self.thirds = thirds
        super().__init__(start, options, env=env)

    def begin_job(self, name):
        self.add(*self.thirds)
        for host in self.hosts.values():  # all have passed recently
            host.answer({"kind": "deep", "id": "by-hand"})
        for age in AGES:
            self.window(age)
        return self.id

    def claim(self, node, ranks, job=JOB):
        first = HOSTS.index(node) if node in HOSTS else 0
        body = {"format": "assay-processes/1", "boot_id": "b0",
                "processes": [process(r, ASSAY_JOB=job, age=3600, start=1000) for i in ranks for r in range(8 * first, 8 * first + 8)]}
        assert self.c.call("PUT", f"/v1/nodes/{node}/processes", json.dumps(body).encode()).status == 200

    def window(self, ages, run=1):
        if self.trace is None:
            self.trace = subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", JOB, "--dp", "4", "--pp", "2", "--steps", "12",
                                         "--slow-link", ",".join(ENDS)], capture_output=True, check=True, timeout=60).stdout
            for node in HOSTS:
                self.claim(node, [0])
        self.trace += b"\n"  # another trace
        answer = self.c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": JOB, "run": run}), self.trace,
                             headers={"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])})
        assert answer.status == 202, answer.body
        self.id = answer.json["id"]
        assert wait_for(lambda: self.windows()[0]["state"] == "analysed", WAIT_S), self.windows()

    def windows(self):
        return self.c.get(f"/v1/jobs/{self.id}/windows").json["items"]

    def pairs(self, id=1):
        return (self.record(id).get("pairs") or [None])[-1]

    def told(self, name):
        """Waits for its order to test itself."""
        return wait_for(lambda: next((o for o in self.hosts[name].orders if o["kind"] == "deep"), None), WAIT_S)

    def states(self, id=1):
        return {h["node"]: h["state"] for h in self.record(id)["hosts"]}

    def cordoned(self):
        return sorted(a["node"] for a in self.c.get("/v1/actions?limit=1000").json["items"] if a["action"] == "cordon" and a["state"] == "done")

    def reach_pairs(self):
        """Both ends passed alone, and a campaign of pairs is running, unanswered. Returns its state."""
        for host in self.hosts.values():
            host.way = "silent"
        self.stop_job()
        for name in ENDS:
            self.hosts[name].answer(self.told(name))
        pairs = wait_for(lambda: self.pairs() and self.pairs()["campaign"] and self.pairs(), WAIT_S)
        assert pairs, self.record()
        return pairs

    def ends_as(self, states, id=1):
        assert wait_for(lambda: self.record(id).get("hosts") and self.states(id) == states, WAIT_S / 3), json.dumps([self.record(id), self.c.get(f"/v1/jobs/{self.id}").json["suspects"]], indent=1)[-6000:]
        return self.record(id)


@pytest.fixture
def lab(labs):  # noqa: F811
    return lambda jobs="enforce", times=2, **more: labs(Links, POLICY.format(jobs=jobs, times=times), **more)


@pytest.mark.once
@pytest.mark.parametrize("bad, memory, check", [(ENDS[0], "host", "rnic_pair.write_bw"), (ENDS[1], "gpu", "rnic_pair.gpu_write_bw")])
def test_the_end_that_is_slow_with_third_hosts_too_is_cordoned_and_the_other_acquitted(lab, bad, memory, check):
    f = lab(settings="collectives: {memory: %s}" % memory)
    good = next(n for n in ENDS if n != bad)
    f.hosts[bad].part = 0.5
    assert wait_for(lambda: f.record().get("state") == "open", WAIT_S), f.c.log()
    assert {h["class"] for h in f.record()["hosts"]} == {"link"} and f.pairs() is None
    f.stop_job()
    over = f.ends_as({bad: "cordoned", good: "acquitted"})
    assert f.cordoned() == [bad]
    pairs = over["pairs"][-1]
    assert pairs["ends"] == ENDS and pairs["thirds"] == THIRDS and pairs["verdicts"] == {bad: "bad", good: "good"}, pairs
    assert sorted(t["node"] for t in over["tests"]) == ENDS
    campaign = f.show(pairs["runs"][0]["campaign"])
    assert (campaign["kind"], campaign["plan"], campaign["memory"], campaign["check"]) == ("pair", "every-two", memory, check) and {n["node"] for n in campaign["nodes"]} == {*ENDS, *THIRDS}
    (cordon,) = [a for a in f.c.get("/v1/actions?limit=1000").json["items"] if a["action"] == "cordon"]
    assert f"{JOB} is slow because of it" in cordon["reason"] and check in cordon["evidence"]["text"], cordon


@pytest.mark.once
def test_what_one_campaign_does_not_prove_is_measured_again_with_third_hosts(lab):
    """Three partners in one campaign are three failures, of four required by the policy."""
    f = lab(times=4)
    bad, good = ENDS
    f.hosts[bad].part = 0.5
    f.stop_job()
    over = f.ends_as({bad: "cordoned", good: "acquitted"})
    first, second = over["pairs"][-1]["runs"][:2]
    assert first["ends"] == {bad: "bad", good: "good"} and second["ends"] == {bad: "bad"}, over
    assert {n["node"] for n in f.show(second["campaign"])["nodes"]} == {bad, *THIRDS} and f.cordoned() == [bad]


@pytest.mark.once
def test_one_that_is_bad_only_once_is_not_taken_out(lab):
    f = lab(times=4)
    bad, good = ENDS
    f.hosts[bad].part = 0.5
    f.stop_job()
    assert wait_for(lambda: f.pairs() and f.pairs()["verdicts"].get(bad) == "bad", WAIT_S), f.record()
    f.hosts[bad].part = 1.0
    over = f.ends_as({bad: "watch", good: "acquitted"})
    assert over["pairs"][-1]["verdicts"][bad] == "unknown" and "agree with each other" in over["pairs"][-1]["tells"][bad], over
    assert f.cordoned() == []


@pytest.mark.once
def test_a_pair_that_is_slow_alone_cordons_nobody_and_is_told(lab):
    f = lab()
    f.slow = {frozenset(ENDS)}
    f.stop_job()
    over = f.ends_as(dict.fromkeys(ENDS, "acquitted"))
    assert over["pairs"][-1]["verdicts"] == dict.fromkeys(ENDS, "between") and "check what lies between them" in over["pairs"][-1]["text"]
    assert f.cordoned() == []
    incidents = {i["node"]: i["sentence"] for i in f.c.get("/v1/incidents?state=open").json["items"]}
    assert "gpu-02 and gpu-06 are slow only with each other" in incidents["domain:gpu-02--gpu-06"], incidents
    assert not [n for n in incidents if not n.startswith("domain:")]


@pytest.mark.once
def test_what_is_fine_by_itself_and_with_others_is_acquitted(lab):
    f = lab()
    f.stop_job()
    over = f.ends_as(dict.fromkeys(ENDS, "acquitted"))
    assert over["pairs"][-1]["verdicts"] == dict.fromkeys(ENDS, "good") and f.cordoned() == []
    assert f.c.get("/v1/incidents?state=open").json["items"] == []


@pytest.mark.once
def test_without_a_third_host_nobody_can_tell_and_what_would_is_said(lab):
    f = lab(thirds=[])
    f.hosts[ENDS[0]].part = 0.5
    f.stop_job()
    over = f.ends_as(dict.fromkeys(ENDS, "watch"))
    assert "third host of its model" in over["pairs"][-1]["text"] and over["pairs"][-1]["runs"] == []
    assert "what would tell: pairs with a third host" in over["sentence"], over
    assert f.cordoned() == [] and f.c.get("/v1/campaigns").json["items"] == []


@pytest.mark.once
def test_an_end_that_fails_by_itself_is_cordoned_without_a_pair(lab):
    """The usual rule may act first; then the other end is measured only with third hosts."""
    f = lab()
    f.hosts[ENDS[0]].loopback = 0.4
    f.stop_job()
    over = f.ends_as({ENDS[0]: "cordoned", ENDS[1]: "acquitted"})
    assert over["pairs"][-1]["verdicts"][ENDS[1]] == "good" and f.cordoned() == [ENDS[0]]
    measured = {n["node"] for c in f.c.get("/v1/campaigns").json["items"] for n in f.show(c["id"])["nodes"]}
    assert ENDS[0] not in measured, measured
    assert measured or f"{ENDS[0]} failed on its own" in over["pairs"][-1]["text"], over


@pytest.mark.once
def test_an_end_that_fails_in_what_shows_no_link_is_told_to_be_mended_first(lab):
    f = lab()
    f.hosts[ENDS[0]].alone = 0.7
    f.stop_job()
    over = f.ends_as(dict.fromkeys(ENDS, "watch"))
    assert "what would tell: a test that passes, once gemm.rate is fixed" in over["hosts"][0]["sentence"], over
    assert f"what would tell: a full test of {ENDS[0]} that passes" in over["hosts"][1]["sentence"], over
    assert f.cordoned() == [] and f.c.get("/v1/campaigns").json["items"] == []


@pytest.mark.once
@pytest.mark.parametrize("jobs,rows", [("observe", 0), ("dry-run", 2)])
def test_without_enforce_the_tests_are_told_and_nothing_is_done(lab, jobs, rows):
    f = lab(jobs)
    f.hosts[ENDS[0]].part = 0.5
    f.stop_job()

    def told():
        return sorted(a["node"] for a in f.c.get("/v1/actions?limit=1000").json["items"] if a["rule"] == "attribution" and a["state"] == "dry-run")
    assert wait_for(lambda: told() == (ENDS if rows else []), WAIT_S), told()
    suspects = f.c.get(f"/v1/jobs/{f.id}").json["suspects"]
    assert [s["name"] for s in suspects] == ENDS and all("would be tested with loopback of both ends" in s["reason"] for s in suspects)
    assert f.c.get("/v1/investigations").json["items"] == [] and f.c.get("/v1/campaigns").json["items"] == []
    assert {a["state"] for a in f.retests()} <= {"dry-run"} and f.cordoned() == []


@pytest.mark.once
def test_a_person_withdraws_it_and_its_campaign_ends(lab):
    f = lab()
    pairs = f.reach_pairs()
    said = f.c.call("POST", "/v1/investigations/1/cancel", b'{"reason": "not now"}')
    assert said.status == 200, said.body
    assert wait_for(lambda: f.show(pairs["campaign"])["state"] == "abandoned", WAIT_S)
    assert "not now" in f.show(pairs["campaign"])["sentence"] and f.record()["state"] == "withdrawn"


@pytest.mark.once
def test_it_outlives_the_controller_at_each_rung(lab):
    f = lab()
    bad, good = ENDS
    f.hosts[bad].part = 0.5
    pairs = f.reach_pairs()
    assert pairs["runs"] == []
    # An order is sent once all of it is durable.
    f.is_told([*ENDS, *pairs["thirds"]], "pair")
    f.revive()
    assert f.pairs() == pairs
    for host in f.hosts.values():
        host.way = "obeys"
        for order in [o for o in host.orders if o["kind"] == "pair" and o["id"] not in host.answered]:
            host.answer(order)
    over = f.ends_as({bad: "cordoned", good: "acquitted"})
    assert over["pairs"][-1]["runs"][0]["campaign"] == pairs["campaign"] and len(f.retests()) == 2
    f.revive()  # what was not durable is sent again, and nothing is measured again
    assert f.pairs()["runs"] == over["pairs"][-1]["runs"] and f.pairs()["verdicts"] == over["pairs"][-1]["verdicts"]
    for name in ENDS:
        f.hosts[name].report()  # its boot is not known before
    assert wait_for(lambda: f.pairs()["over"] and f.states() == {bad: "cordoned", good: "acquitted"}, WAIT_S), f.record()
    assert f.cordoned() == [bad] and len(f.retests()) == 2


@pytest.mark.once
def test_thirds_that_are_busy_tell_nothing_and_it_is_tried_again_three_times(lab):
    f = lab()
    for name in THIRDS:
        f.hosts[name].way = "busy"
    f.stop_job()
    over = f.ends_as(dict.fromkeys(ENDS, "watch"))
    pairs = over["pairs"][-1]
    assert len(pairs["runs"]) == 3 and "with nothing else running on the hosts" in pairs["text"], pairs
    assert f.cordoned() == []


@pytest.mark.once
def test_an_end_that_boots_meanwhile_begins_anew(lab):
    f = lab()
    first = f.reach_pairs()["campaign"]
    f.hosts[ENDS[0]].report(boot_id="b1")
    assert wait_for(lambda: f.show(first)["state"] == "abandoned", WAIT_S), f.record()
    assert wait_for(lambda: len(f.retests()) > 2, WAIT_S) and f.cordoned() == []


@pytest.mark.once
def test_what_was_tested_is_shown(lab, run):
    f = lab()
    f.hosts[ENDS[1]].part = 0.5
    f.stop_job()
    f.ends_as({ENDS[0]: "acquitted", ENDS[1]: "cordoned"})
    token = Path(f.c.db).parent / "assayctl-token"
    token.write_text(ADMIN + "\n")
    token.chmod(0o600)
    link = ("--controller", f"http://{f.c.host}:{f.c.port}", "--token-file", str(token))
    for words in (("investigation", "1"), ("why", ENDS[1]), ("job", JOB)):  # as of the last judging, a second ago
        shown = wait_for(lambda: f"{ENDS[1]} is slow with all others" in run("assayctl", *words, *link).stdout, WAIT_S)  # noqa: B023
        assert shown, (words, run("assayctl", *words, *link).stdout)
    assert "(12.0 GB/s to 24." in run("assayctl", "investigation", "1", *link).stdout
    listed = f.c.get("/v1/investigations").json["items"][0]
    assert "pairs" not in listed and "tests" not in listed
