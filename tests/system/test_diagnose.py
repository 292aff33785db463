# SPDX-License-Identifier: Apache-2.0
"""A job is diagnosed on a person's request: it is stopped, its hosts are tested, and the result says which hosts to exclude."""
import contextlib
import hashlib
import json
import signal
import sqlite3
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from campaign_hosts import Fabric, Host
from clock_fixtures import HOUR, MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller, sample  # noqa: F401
from test_placement import process
from waiting import wait_for

TOP = Path(__file__).resolve().parents[2]
WAIT_S = 60
JOB, OTHER_JOB, SPARE, BAD = "research/llm-7", "research/moe-2", "gpu-08", "gpu-03"
HOSTS = [f"gpu-{i:02}" for i in range(8)]
ADMIN, SENDER, READER, OPERATOR = "a" * 32, "s" * 32, "r" * 32, "o" * 32

POLICY = """v: 1
mode: enforce
budget: {{total: {{percent: 50}}, rate: {{cordons: 100, per: 10m}}}}
coverage: {{max_age: 3650d}}
breaker: {{silent_percent: 100}}
jobs: {{mode: {jobs}, retest_spacing: 1s}}
rules:
  - {{name: slow, match: {{check: "gemm.*"}}, windows: {{k: 2, n: 3}}, action: retest}}
  - {{name: slow-collective, match: {{check: "all_*"}}, windows: {{k: 2, n: 3}}, action: retest}}
"""


class Diagnosed(Host):
    """A host that is also tested alone: `alone`: speed of its slowest core relative to the others; `tests`: whether it answers."""
    KINDS = (*Host.KINDS, "deep")
    alone, tests = 1.0, True

    def answer(self, order):
        if order["kind"] != "deep":
            return super().answer(order)
        cores = [sample(subject=f"cpu:{i}", value=(70e9 + i * 1e8) * (self.alone if i == 3 else 1)) for i in range(8)]
        if self.tests:
            self.report(profile="full", samples=cores, order={"id": order["id"], "kind": "deep"})
        return None


class Lab(Fabric):
    host, headers = Diagnosed, {"Authorization": "Bearer " + ADMIN}

    def __init__(self, start, options, hosts=HOSTS, env=None):
        self.start, self.options, self.env = start, options, env
        super().__init__(start(*options, env=env))
        self.c.call = self.with_token(self.c.call)
        self.add(*hosts)
        self.id = self.begin_job(JOB)
        for node in hosts:
            self.claim(node, [HOSTS.index(node)])

    def with_token(self, call):
        return lambda method, path, body=None, token=ADMIN, **more: call(method, path, body, token=token, **more)

    def begin_job(self, name):
        return self.send(name)["id"]

    def send(self, name=JOB, slow="none/30", steps=12, ages=None, **run):
        trace = subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", name, "--dp", "4", "--pp", "2", "--steps", str(steps), "--slow", slow],
                               capture_output=True, check=True, timeout=60).stdout
        headers = {"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])} if ages else {}
        answer = self.c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": name, **run}), trace, headers=headers)
        assert answer.status == 202, answer.body
        return answer.json

    def analysed(self, sent):
        path = f"/v1/jobs/{sent['id']}/windows/{sent['window']}"
        assert wait_for(lambda: self.c.get(path).status == 200, WAIT_S), self.c.log()
        return self.c.get(path).json

    def claim(self, node, ranks, job=JOB):
        body = {"format": "assay-processes/1", "boot_id": "b0", "processes": [process(r, ASSAY_JOB=job) for r in ranks]}
        assert self.c.call("PUT", f"/v1/nodes/{node}/processes", json.dumps(body).encode()).status == 200

    def stop_job(self):
        for node in HOSTS:
            self.claim(node, [])

    def order(self, token=ADMIN, id=None, **body):
        return self.c.call("POST", f"/v1/jobs/{id or self.id}/diagnose", json.dumps({"reason": "step time up 12 %", **body}).encode(), token=token)

    def diagnose(self):
        said = self.order(by="ada")
        assert said.status == 202, said.body
        return said.json["id"]

    def record(self, id=1):
        return self.c.get(f"/v1/investigations/{id}").json

    def wait(self, what, id=1):
        assert wait_for(lambda: what(self.record(id)), WAIT_S), (self.record(id), self.c.log())
        return self.record(id)

    def phase(self, name, id=1):
        return self.wait(lambda r: r["diagnosis"]["phase"] == name, id)

    def advice(self):
        return self.c.get(f"/v1/jobs/{self.id}/advice").json

    def acknowledge(self):
        said = self.advice()
        assert said["advice"] == "stop" and said["state"] == "open", said
        assert self.c.call("POST", f"/v1/jobs/{self.id}/advice", json.dumps({"id": said["id"]}).encode()).status == 200

    def stopped(self):
        """Starts it, and stops the job as requested."""
        id = self.diagnose()
        self.wait(lambda r: r["diagnosis"]["stop"], id)
        self.acknowledge()
        self.stop_job()
        return id

    def done(self, id=1):
        self.wait(lambda r: r["ended"], id)
        return self.record(id)

    def retests(self):
        return [a for a in self.c.get("/v1/actions?limit=1000").json["items"] if a["action"] == "retest"]

    def is_told(self, names, kind="allreduce"):
        """An order with others is sent by one controller only; its successor waits for the answer until the campaign times out."""
        assert wait_for(lambda: all(any(o["kind"] == kind for o in self.hosts[n].orders) for n in names), WAIT_S), names

    def revive(self):
        """kill -9, then a controller on the same store."""
        self.c.kill()
        c = self.start(*self.options, env=self.env)
        c.call = self.with_token(c.call)
        self.c = c


@pytest.fixture
def labs(controller, tmp_path):  # noqa: F811
    """labs(Lab, "the policy", settings="more: of controller.yaml", ...) is a controller in mode enforce with its hosts; all end with the test."""
    made = []

    def start(kind, text, settings="", **more):
        policy, config, tokens = tmp_path / "policy.yaml", tmp_path / "controller.yaml", tmp_path / "tokens.yaml"
        policy.write_text(text)
        config.write_text(f"v: 1\npolicy: {policy}\nreport-burst: 1000\n{settings}\n")
        roles = {ADMIN: "role: admin", SENDER: 'role: submit, jobs: "research/*"', READER: "role: read", OPERATOR: "role: operate, name: ada"}
        tokens.write_text("v: 1\ntokens:\n" + "".join(f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {r}}}\n" for t, r in roles.items()))
        made.append(kind(controller, ("--config", config, "--mode", "enforce", "--tokens", tokens), **more))
        return made[-1]

    yield start
    for f in made:
        f.close()


@pytest.fixture
def lab(labs):
    return lambda jobs="enforce", **more: labs(Lab, POLICY.format(jobs=jobs), **more)


@pytest.mark.once
@pytest.mark.parametrize("jobs", ["observe", "dry-run"])
def test_without_enforce_the_plan_is_told_and_nothing_is_touched(lab, jobs):
    f = lab(jobs)
    said = f.order()
    assert said.status == 200, said.body
    plan = said.json
    assert (plan["id"], plan["mode"], plan["job"], plan["stops"], plan["tests"], plan["rounds"]) == (None, jobs, JOB, True, 8, 5)
    assert [h["node"] for h in plan["hosts"]] == HOSTS and not any(h["idle"] for h in plan["hosts"])
    assert "nothing is done: the mode is not enforce" in plan["sentence"]
    f.stop_job()
    plan = f.order().json
    assert not plan["stops"] and all(h["idle"] for h in plan["hosts"])
    assert f.c.get("/v1/investigations").json["items"] == [] and f.advice()["id"] == 0
    assert f.retests() == [] and f.c.get("/v1/campaigns").json["items"] == []


@pytest.mark.once
def test_a_bad_host_is_left_out_and_the_others_are_acquitted(lab):
    f = lab()
    f.add(SPARE)
    f.hosts[SPARE].report(profile="full")
    f.hosts[BAD].alone = 0.5
    plan = f.order(plan=True)
    assert plan.status == 200 and plan.json["id"] is None and plan.json["mode"] == "enforce"
    assert f.stopped() == 1
    over = f.done()
    assert (over["kind"], over["state"], over["by"]) == ("diagnosis", "excluded", None), over
    result = over["diagnosis"]["result"]
    assert (result["exclude"], result["unknown"], result["exact"]) == ([BAD], [], True), over
    assert result["acquitted"] == [n for n in HOSTS if n != BAD] and result["replacements"] == [SPARE]
    assert "operator" in over["diagnosis"]["who"] and over["reason"] == "step time up 12 %"
    assert over["sentence"] == f"exclude {BAD}; acquitted 7"
    advice = f.advice()
    assert (advice["advice"], advice["exclude"], advice["replacements"], advice["id"]) == ("resume", [BAD], [SPARE], result["advice"])
    tests = f.retests()
    assert sorted(a["node"] for a in tests if "is being diagnosed" in a["reason"]) == HOSTS
    campaign = f.show(over["diagnosis"]["campaign"])
    assert campaign["rounds_made"] <= campaign["rounds_max"] == 5
    assert {n["node"] for n in campaign["nodes"]} == {*HOSTS, SPARE} - {BAD} and over["diagnosis"]["good"] == [SPARE]
    assert f.c.metrics()['assay_investigations_total{outcome="excluded"}'] == 1


@pytest.mark.once
def test_one_that_is_slow_with_others_alone_is_found_and_none_is_acquitted_whole(lab):
    f = lab()
    f.hosts["gpu-05"].part = 0.5
    f.stopped()
    over = f.done()
    assert over["diagnosis"]["result"]["exclude"] == ["gpu-05"] and over["diagnosis"]["result"]["exact"], over
    (host,) = [h for h in over["hosts"] if h["node"] == "gpu-05"]
    assert host["state"] == "excluded" and "50 %" in host["sentence"]


@pytest.mark.once
def test_with_nothing_found_all_are_acquitted_and_the_job_starts_again(lab):
    f = lab()
    f.stopped()
    over = f.done()
    assert (over["state"], over["sentence"]) == ("acquitted", "acquitted: 8 hosts clean under load")
    assert f.advice()["advice"] == "resume" and f.advice()["exclude"] == []
    # The next one is a different one.
    assert f.order().json["id"] == 2
    f.ended.set()
    assert f.c.stop()[0] == 0


@pytest.mark.once
def test_what_brings_nothing_is_told_with_what_would_tell(lab, clock):  # noqa: F811
    f = lab(env=clock.env())
    f.hosts["gpu-02"].tests = False
    f.stopped()
    f.wait(lambda r: sum(t["result"] == "passed" for t in r["diagnosis"]["tests"].values()) == 7)
    clock.set(wall=3 * HOUR)
    for host in f.hosts.values():
        host.report()
    over = f.done()
    assert over["state"] == "watch" and over["diagnosis"]["result"]["unknown"] == ["gpu-02"], over
    assert over["sentence"] == "cannot tell; what would tell: a full test of gpu-02, which gave no result"
    assert f.advice()["advice"] == "resume"


@pytest.mark.once
def test_a_stop_that_nobody_acknowledges_ends_it_untested(lab, clock):  # noqa: F811
    f = lab(env=clock.env())
    f.diagnose()
    f.wait(lambda r: r["diagnosis"]["stop"])
    clock.set(wall=10 * MIN)
    assert f.record()["ended"] is None
    clock.set(wall=16 * MIN)
    for node in HOSTS:
        f.claim(node, [HOSTS.index(node)])
    over = f.done()
    assert over["state"] == "withdrawn" and "was not acknowledged" in over["sentence"]
    assert f.advice()["advice"] == "continue" and f.retests() == []


@pytest.mark.once
def test_a_job_that_stands_still_is_tested_at_once(lab):
    f = lab()
    f.stop_job()
    f.diagnose()
    over = f.done()
    assert over["state"] == "acquitted" and over["diagnosis"]["stop"] is None
    assert "it has stopped" in [t["text"] for t in over["diagnosis"]["timeline"]][1]


@pytest.mark.once
def test_what_is_in_its_way_is_said_with_409(lab):
    f = lab()
    f.hosts[BAD].tests = False
    other = f.begin_job(OTHER_JOB)
    assert f.order(id=other).status == 422  # no host reports ranks of it
    f.stopped()
    refused = f.order()
    assert refused.status == 409 and "investigation 1 of research/llm-7 is investigating it already" in refused.json["detail"]
    f.claim(BAD, [0], job=OTHER_JOB)
    refused = f.order(id=other)
    assert refused.status == 409 and f"investigation 1 of {JOB} is investigating {BAD}" in refused.json["detail"]
    assert f.order(id="j99").status == f.order(id="x").status == 404
    for token, status in ((SENDER, 403), (READER, 403), (OPERATOR, 409)):
        assert f.order(token=token).status == status
    for body in ({"reason": " "}, {"reason": "x", "until": "1h"}, {"reason": "x", "plan": 1}):
        assert f.order(**body).status == 422


@pytest.mark.once
def test_a_person_cancels_it_and_its_tests_end(lab):
    f = lab()
    for host in f.hosts.values():
        host.tests = False
    f.stopped()
    assert wait_for(lambda: len(f.retests()) == 8, WAIT_S), f.c.log()
    said = f.c.call("POST", "/v1/investigations/1/cancel", b'{"reason": "not now"}')
    assert said.status == 200, said.body
    over = f.record()
    assert over["state"] == "withdrawn" and over["ended"] and {h["state"] for h in over["hosts"]} == {"withdrawn"}
    assert f.advice()["advice"] == "resume" and "not now" in f.advice()["reason"]
    assert wait_for(lambda: {a["state"] for a in f.retests()} == {"dropped"}, WAIT_S), f.retests()
    assert f.order().status == 202


@pytest.mark.once
def test_another_mode_ends_it(lab, tmp_path):
    f = lab()
    for host in f.hosts.values():
        host.tests = False
    f.stopped()
    assert wait_for(lambda: len(f.retests()) == 8, WAIT_S), f.c.log()
    (tmp_path / "policy.yaml").write_text(POLICY.format(jobs="observe"))
    f.c.process.send_signal(signal.SIGHUP)
    over = f.done()
    assert over["state"] == "withdrawn" and over["sentence"] == "the mode is no longer enforce"
    assert f.advice()["advice"] == "resume" and wait_for(lambda: {a["state"] for a in f.retests()} == {"dropped"}, WAIT_S)


@pytest.mark.long
def test_it_outlives_the_controller_in_each_phase(lab):
    f = lab()
    f.hosts[BAD].alone = 0.5
    for host in f.hosts.values():
        host.tests = False
    f.diagnose()
    f.wait(lambda r: r["diagnosis"]["stop"])
    f.revive()
    assert f.record()["diagnosis"]["phase"] == "stopping"
    f.acknowledge()
    f.stop_job()
    f.phase("hosts")
    assert wait_for(lambda: len(f.retests()) == 8, WAIT_S)
    f.revive()
    assert wait_for(lambda: len(f.retests()) == 8, WAIT_S)  # part of what was visible may not have been durable yet
    orders = f.retests()
    for host in f.hosts.values():
        host.tests, host.way = True, "silent"
        host.answer({"kind": "deep", "id": "test-" + next(a["id"] for a in orders if a["node"] == host.name)})
    f.phase("groups")
    number = f.wait(lambda r: r["diagnosis"]["campaign"])["diagnosis"]["campaign"]
    assert wait_for(lambda: f.show(number)["rounds"], WAIT_S)
    f.is_told({n for r in f.show(number)["rounds"] for g in r["groups"] for n in g["nodes"]})
    f.revive()
    for host in f.hosts.values():
        host.way = "obeys"
        for order in [o for o in host.orders if o["kind"] == "allreduce"]:
            host.answer(order)
    over = f.done()
    assert over["diagnosis"]["result"]["exclude"] == [BAD] and len(f.retests()) >= 8, over
    assert len([a for a in f.retests() if "is being diagnosed" in a["reason"]]) == 8


@pytest.mark.once
@pytest.mark.parametrize("windows", ["analysed", "waiting"])
def test_one_whose_job_is_forgotten_ends(lab, windows):
    f = lab()
    f.diagnose()
    f.wait(lambda r: r["diagnosis"]["stop"])
    f.c.kill()
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        db.execute("DELETE FROM jobs")
        if windows == "waiting":  # no longer analysable
            db.execute("UPDATE trace_windows SET state = 0, came = parts")
        db.commit()
    f.c = f.start(*f.options)
    f.c.call = f.with_token(f.c.call)
    over = f.done()
    assert over["state"] == "withdrawn" and over["sentence"] == f"{JOB} is no longer known"
