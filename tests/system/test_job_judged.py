# SPDX-License-Identifier: Apache-2.0
"""The consequences of a slow job for a host, in each mode: a trace leads to a test, and only a failed test to a cordon."""
import concurrent.futures
import contextlib
import hashlib
import json
import signal
import sqlite3
import subprocess
import urllib.parse
from pathlib import Path

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from test_placement import process
from waiting import wait_for

TOP = Path(__file__).resolve().parents[2]
WAIT_S = 60
ENDS = {"analysed", "rejected", "failed"}
AGES = ((900, 700), (130, 10))  # of two separate windows
JOB, SLOW, OTHER = "research/llm-7", "gpu-03", "gpu-05"
HOSTS = [f"gpu-{i:02}" for i in range(8)]
ADMIN, SENDER = "a" * 32, "s" * 32

POLICY = """v: 1
mode: {mode}
budget: {{total: {{percent: 50}}, rate: {{cordons: 100, per: 10m}}{budget}}}
retest: {{times: {times}}}
coverage: {{max_age: 3650d}}
jobs: {{mode: {jobs}, windows: {{fresh: {fresh}}}, retest_spacing: 1s, born: {{percent: {born}}}{more}}}
rules: [{{name: slow, match: {{check: "gemm.*"}}, windows: {{k: 1, n: 1}}, action: retest}}]
"""


class Fleet:
    """A controller, eight hosts that report, and a job on them."""

    def __init__(self, controller, tmp_path, mode="enforce", jobs="enforce", times=1, fresh="30m", config_more="", **more):
        self.policy, config, tokens = tmp_path / "policy.yaml", tmp_path / "controller.yaml", tmp_path / "tokens.yaml"
        self.set_policy(mode=mode, jobs=jobs, times=times, fresh=fresh, **more)
        config.write_text(f"v: 1\npolicy: {self.policy}\nreport-burst: 1000\n{config_more}")
        roles = {ADMIN: "role: admin", SENDER: 'role: submit, jobs: "research/*"'}
        tokens.write_text("v: 1\ntokens:\n" + "".join(f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {r}}}\n" for t, r in roles.items()))
        self.options = ("--config", config, "--mode", "enforce", "--tokens", tokens)
        self.start, self.tmp_path, self.seq = controller, tmp_path, {}
        self.c = controller(*self.options)
        for node in HOSTS:
            self.report(node)

    def set_policy(self, **settings):
        # With eight hosts the default jobs.born allows none, and a first failed test may mean always slow: test_job_withheld.py.
        self.policy.write_text(POLICY.format(**{"more": "", "budget": "", "born": 100, **settings}))

    def report(self, node, bad=False, **more):
        self.seq[node] = self.seq.get(node, 0) + 1
        cores = [sample(subject=f"cpu:{i}", value=35e9 if bad and i == 3 else 70e9 + i * 1e8) for i in range(8)]
        answer = self.c.post(report(node, self.seq[node], samples=cores, **more), token=ADMIN)
        assert answer.status == 202, answer.body

    def claim(self, node, ranks, age=3600, start=1000):
        body = {"format": "assay-processes/1", "boot_id": "b0", "processes": [process(r, age=age, start=start) for r in ranks]}
        assert self.c.call("PUT", f"/v1/nodes/{node}/processes", json.dumps(body).encode(), token=ADMIN).status == 200

    def trace(self, first_host=0, slow=SLOW):
        out = self.tmp_path / f"trace-{first_host}-{slow}"
        if not out.exists():
            with open(out, "w") as file:
                subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", JOB, "--dp", "4", "--pp", "2", "--steps", "12", "--first-host",
                                str(first_host), "--slow", f"{slow}/30"], stdout=file, check=True, timeout=60)
        return out.read_bytes()

    def ranks(self, node, trace):
        meta = json.loads(trace.split(b"\n", 1)[0])
        first = next(r["rank"] for r in meta["ranks"] if r["node"] == node)
        return range(first, first + meta["tp_size"])

    def send(self, trace, ages, token=ADMIN, job=JOB):
        headers = {} if ages is None else {"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])}
        # A space at the end makes it another trace.
        self.sent = getattr(self, "sent", 0) + 1
        answer = self.c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": job}), trace + b"\n" * self.sent, headers=headers, token=token)
        assert answer.status == 202, answer.body

        def ended():
            items = self.c.get(f"/v1/jobs/{answer.json['id']}/windows", token=ADMIN).json["items"]
            return next((w for w in items if w["id"] == answer.json["window"] and w["state"] in ENDS), None)
        found = wait_for(ended, WAIT_S)
        assert found and found["state"] == "analysed", found
        return found

    def suspect(self, ends=True, ages=AGES):
        """Two windows blame SLOW, whose agent reported the ranks; then the job ends, and the host is idle."""
        trace = self.trace()
        self.claim(SLOW, self.ranks(SLOW, trace))
        for ages in ages:
            assert self.send(trace, ages)["suspect"] == SLOW
        if ends:
            self.claim(SLOW, [])

    def job(self, name=JOB):
        (listed,) = self.c.get("/v1/jobs?" + urllib.parse.urlencode({"name": name}), token=ADMIN).json["items"]
        return self.c.get(f"/v1/jobs/{listed['id']}", token=ADMIN).json

    def the_suspect(self):
        (one,) = self.job()["suspects"]
        return one

    def orders(self, node, kind="deep"):
        answer = self.c.get(f"/v1/nodes/{node}/orders?wait=1", token=ADMIN)
        return [o for o in (answer.json if answer.status == 200 else []) if o["kind"] == kind]

    def order(self, node):
        found = wait_for(lambda: self.orders(node), WAIT_S)
        assert found, self.c.log()
        return {"id": found[0]["id"], "kind": "deep"}

    def order_of_a_person(self, what, node, **more):
        return self.c.call("POST", f"/v1/nodes/{node}/{what}", json.dumps({"reason": "cable replaced", **more}).encode(), token=ADMIN)

    def actions(self, **wanted):
        items = self.c.get("/v1/actions", token=ADMIN).json["items"]
        return [a for a in items if all(a[k] == v for k, v in wanted.items())]

    def cordoned(self):
        return sorted(a["node"] for a in self.actions(action="cordon", state="done"))


@pytest.mark.once
@pytest.mark.parametrize("mode,jobs,rows", [("observe", "enforce", 0), ("enforce", "observe", 0), ("dry-run", "enforce", 1), ("enforce", "dry-run", 1)])
def test_without_enforce_a_suspect_changes_nothing(controller, tmp_path, mode, jobs, rows):
    f = Fleet(controller, tmp_path, mode, jobs)
    f.suspect()
    assert f.job()["state"] == "suspected" and f.job()["decision"]["action"] == "probe"
    assert f.c.metrics()["assay_suspects"] == 1
    assert f.job()["decision"]["reason"] == f"{SLOW} would be tested with gemm, gemm-load, memory"
    if rows:
        (told,) = wait_for(lambda: f.actions(rule="attribution"), WAIT_S)
        assert (told["node"], told["action"], told["state"]) == (SLOW, "retest", "dry-run") and JOB in told["reason"]
    f.report(SLOW, bad=True, profile="full")
    assert f.orders(SLOW) == []
    tests = f.actions(rule="attribution")
    assert len(tests) == rows and {a["state"] for a in tests} <= {"dry-run"}
    assert f.cordoned() == [] and f.the_suspect()["begun"] is None

    def is_calm():  # it is judged each second, and unchanged results are not written again
        commits = f.c.metrics()["assay_store_commit_seconds_count"]
        return f.orders(SLOW) == [] and f.orders(SLOW) == [] and f.c.metrics()["assay_store_commit_seconds_count"] == commits
    assert wait_for(is_calm, WAIT_S)
    assert f.c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        told = db.execute("SELECT node, message FROM cluster_events WHERE reason = 'AssayHostSuspected'").fetchall()
    assert [node for node, _ in told] == [SLOW] and JOB in told[0][1]


@pytest.mark.once
def test_a_suspect_is_tested_and_a_pass_cordons_nobody(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect()
    order = f.order(SLOW)
    (test,) = f.actions(action="retest")
    assert (test["node"], test["rule"], test["by"]) == (SLOW, "attribution", "automatic") and JOB in test["reason"]
    said = f.job()
    assert said["decision"]["reason"].startswith(f"{SLOW} is to be tested with gemm") and len(said["investigations"]) == 1
    assert wait_for(lambda: [t["done"] for t in f.the_suspect()["tests"]] == [None], WAIT_S)
    f.report(SLOW, profile="full", order=order)
    assert wait_for(lambda: [t["result"] for t in f.the_suspect()["tests"]] == ["it passed"], WAIT_S)
    assert f.cordoned() == [] and len(f.actions(action="retest")) == 1
    assert f.job()["state"] == "acquitted" and len(f.job()["investigations"]) == 1  # test_job_acquitted.py

    def why():
        return [(j["job"], j["action"]) for j in f.c.get(f"/v1/nodes/{SLOW}/why", token=ADMIN).json["jobs"]]
    assert wait_for(lambda: why() == [(JOB, "watch")], WAIT_S)


@pytest.mark.once
def test_an_agent_that_waits_for_orders_is_told_of_its_test_in_that_call(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    kinds = []

    def wait_for_orders():
        while "deep" not in kinds:  # the opinion on its host is sent first
            answer = f.c.get(f"/v1/nodes/{SLOW}/orders?wait=300", token=ADMIN, timeout=310)
            kinds.extend(o["kind"] for o in answer.json)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        agent = pool.submit(wait_for_orders)
        try:
            f.suspect()
            assert wait_for(lambda: f.actions(action="retest"), WAIT_S), f.c.log()
            agent.result(WAIT_S)
        finally:
            f.c.kill()
    assert kinds[-1] == "deep"


@pytest.mark.once
@pytest.mark.parametrize("times", [1, 2])
def test_a_suspect_whose_test_fails_is_cordoned_and_the_job_is_named(controller, tmp_path, times):
    f = Fleet(controller, tmp_path, times=times)
    f.report(OTHER, bad=True, profile="full")  # also in the job, and not suspected
    f.suspect()
    for i in range(times):
        order = f.order(SLOW)
        assert f.cordoned() == []
        f.report(SLOW, bad=True, profile="full", order=order)
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S), f.job()
    (cordon,) = f.actions(action="cordon")
    assert f"{JOB} is slow because of it" in cordon["reason"] and "gemm.rate" in cordon["evidence"]["text"]
    said = f.the_suspect()
    assert said["action"] == "evict" and "gemm.rate" in said["reason"]
    assert [t["result"] for t in said["tests"][:times]] == ["it failed again"] * times
    assert f.cordoned() == [SLOW]


@pytest.mark.once
def test_a_failed_test_of_another_host_cordons_neither(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect()
    order = f.order(SLOW)
    f.report(OTHER, bad=True, profile="full")
    f.report(SLOW, profile="full", order=order)
    assert wait_for(lambda: [t["result"] for t in f.the_suspect()["tests"]] == ["it passed"], WAIT_S)
    incidents = f.c.get("/v1/incidents", token=ADMIN).json["items"]
    assert [(i["node"], i["check"]) for i in incidents] == [(OTHER, "gemm.rate")]
    assert f.cordoned() == [] and f.actions(action="cordon") == []


@pytest.mark.once
def test_a_host_that_the_trace_alone_names_is_tested_and_never_cordoned_for_it(controller, tmp_path):
    f = Fleet(controller, tmp_path, times=2)
    trace = f.trace()
    for ages in AGES:
        assert f.send(trace, ages)["suspect"] == SLOW
    f.report(SLOW, bad=True, profile="full", order=f.order(SLOW))
    assert wait_for(lambda: [t["result"] for t in f.the_suspect()["tests"]][:1] == ["it failed again"], WAIT_S)
    f.report(SLOW, bad=True, profile="full", order=f.order(SLOW))
    assert wait_for(lambda: len([t for t in f.the_suspect()["tests"] if t["result"]]) == 2, WAIT_S)
    assert f.the_suspect()["action"] != "evict" and f.cordoned() == []


@pytest.mark.once
def test_nobody_can_have_a_host_outside_of_his_job_tested(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    trace = f.trace()
    for ages in AGES:  # only the sender says that the job is there
        assert f.send(trace, ages, token=SENDER)["suspect"] is None
    assert f.job()["suspects"] == []
    strangers = f.trace(first_host=50, slow="gpu-53")
    for ages in AGES:
        assert f.send(strangers, ages, job="research/forged")["suspect"] == "gpu-53"
    assert wait_for(lambda: f.job("research/forged")["decision"]["action"] == "watch", WAIT_S)
    said = f.job("research/forged")
    assert said["strangers"] == 1 and "the cluster has no host of that name" in said["decision"]["reason"]
    assert f.actions() == [] and f.orders(SLOW) == []


@pytest.mark.once
def test_a_busy_host_waits_and_one_that_booted_is_not_cordoned(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect(ends=False)
    assert wait_for(lambda: "as soon as it is idle" in f.job()["decision"]["reason"], WAIT_S)
    assert f.orders(SLOW) == [] and f.actions() == []
    f.claim(SLOW, [])
    order = f.order(SLOW)
    f.report(SLOW, bad=True, profile="full", order=order, boot_id="b1")
    assert wait_for(lambda: [t["result"] for t in f.the_suspect()["tests"]][:1] == ["it failed again"], WAIT_S)
    # Its ladder is finished, or continues while the usual rule repeats the failed check.
    assert f.the_suspect()["action"] in ("watch", "probe") and f.cordoned() == []


@pytest.mark.once
def test_a_suspicion_lapses_and_survives_a_kill_until_then(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect()
    since = wait_for(lambda: f.the_suspect()["since"], WAIT_S)
    f.order(SLOW)
    f.c.kill()
    f.c = f.start(*f.options)
    f.report(SLOW)
    assert f.the_suspect()["since"] == since and f.job()["state"] == "suspected"
    assert len(f.actions(action="retest")) == 1, "ordered again"
    assert f.the_suspect()["kept"] > since
    # Its test is in progress, so it is held for busy_limit.
    f.set_policy(mode="enforce", jobs="enforce", times=1, fresh="1s", more=", busy_limit: 1s")
    f.c.process.send_signal(signal.SIGHUP)
    assert wait_for(lambda: f.job()["state"] == "lapsed", WAIT_S)
    said = f.job()
    assert said["suspect"] is None and said["suspects"][0]["lapsed"] and said["decision"]["action"] == "watch"
    assert f.c.get(f"/v1/nodes/{SLOW}/why", token=ADMIN).json["jobs"] == []
    (one,) = f.c.get("/v1/investigations", token=ADMIN).json["items"]
    assert one["state"] == "withdrawn" and one["sentence"].startswith(f"no window of {JOB} for longer")


@pytest.mark.once
def test_what_the_last_windows_clear_is_over(controller, tmp_path):
    f = Fleet(controller, tmp_path, fresh="30m, k: 1, n: 1")
    f.suspect(ends=False, ages=((1700, 1600),))
    healthy = f.trace(slow="none")
    # It waits for its test, and one of the last three windows blames it.
    for of, ages in ((2, (1300, 1200)), (3, (900, 800))):
        assert f.send(healthy, ages)["suspect"] is None
        assert f.job()["state"] == "suspected" and f.job()["suspect"] == SLOW
        assert (f.the_suspect()["hits"], f.the_suspect()["of"]) == (1, of)
    assert f.send(healthy, (500, 400))["suspect"] is None
    assert f.job()["suspects"] == [] and f.job()["suspect"] is None
    f.claim(SLOW, [])
    assert f.orders(SLOW) == [] and f.actions() == []


def keeps_fresh_for_a_second(f):
    """Changes the policy, and waits until everything was judged by it."""
    f.set_policy(fresh="1s", mode="enforce", jobs="enforce", times=1)
    before = f.c.log().count("reload")
    f.c.process.send_signal(signal.SIGHUP)
    assert wait_for(lambda: f.c.log().count("reload") > before, WAIT_S), f.c.log()
    assert [f.orders(SLOW) for _ in range(3)] == [[]] * 3  # a second each


@pytest.mark.once
def test_who_waits_for_a_test_stays_a_suspect_though_no_window_comes(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect(ends=False)
    kept = wait_for(lambda: f.the_suspect()["kept"], WAIT_S)
    since = f.the_suspect()["since"]
    keeps_fresh_for_a_second(f)
    assert f.job()["state"] == "suspected" and f.actions() == [] and f.cordoned() == []
    assert (f.the_suspect()["kept"], f.the_suspect()["since"]) == (kept, since)
    f.claim(SLOW, [])  # its job has ended
    f.report(SLOW, bad=True, profile="full", order=f.order(SLOW))
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S), f.c.log()


@pytest.mark.once
def test_whom_a_person_withdraws_is_kept_no_more(controller, tmp_path):
    f = Fleet(controller, tmp_path)
    f.suspect(ends=False)
    assert wait_for(lambda: f.the_suspect()["kept"], WAIT_S)
    keeps_fresh_for_a_second(f)
    (one,) = f.c.get("/v1/investigations", token=ADMIN).json["items"]
    body = json.dumps({"reason": "the rack is being moved"}).encode()
    assert f.c.call("POST", f"/v1/investigations/{one['id']}/cancel", body, token=ADMIN).status == 200
    assert wait_for(lambda: f.job()["state"] == "lapsed", WAIT_S)
    f.claim(SLOW, [])
    assert f.orders(SLOW) == [] and f.actions() == []
