# SPDX-License-Identifier: Apache-2.0
"""GET /v1/jobs/{id}/plan and assayctl plan: remedies for a job, their costs, and the effect of losing some hosts."""
import json
import urllib.parse

import pytest
from fixtures_controller import controller  # noqa: F401
from test_job_judged import ADMIN, AGES, ENDS, HOSTS, JOB, SENDER, SLOW, WAIT_S, Fleet
from waiting import wait_for

pytestmark = pytest.mark.once  # sanitizers need more memory than an analysis is allowed

SPARE = "gpu-07"
COSTS = "jobs: {checkpoint-interval: 20m, warm-up: 30s, rebalance: 5s}\n"
KINDS = {"none", "replace", "drop-replica", "micro-batches"}


class Planned(Fleet):
    """A job slowed by SLOW according to two windows, and one idle tested host."""

    def __init__(self, controller, tmp_path, spare=True, config_more=COSTS, **more):
        super().__init__(controller, tmp_path, mode="observe", config_more=config_more, **more)
        if spare:
            self.report(SPARE, profile="full")

    def plan(self, status=200, token=ADMIN, **query):
        (listed,) = self.c.get("/v1/jobs?" + urllib.parse.urlencode({"name": JOB}), token=ADMIN).json["items"]
        text = "?" + urllib.parse.urlencode(query) if query else ""
        answer = self.c.get(f"/v1/jobs/{listed['id']}/plan{text}", token=token)
        assert answer.status == status, answer.body
        return answer.json


    def run_again(self, instead="gpu-08"):
        """Two windows of its second run, with an average host instead of SLOW."""
        trace = self.trace(slow="none")
        self.report(instead)
        self.claim(SLOW, [])
        self.claim(instead, self.ranks(SLOW, trace), age=1)
        for _ in range(2):
            self.sent += 1
            answer = self.c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": JOB, "run": 2}), trace + b"\n" * self.sent,
                                 headers={"Assay-First-Step-Age": "2e-6", "Assay-Last-Step-Age": "1e-6"}, token=ADMIN)  # after both claims
            assert answer.status == 202, answer.body

            def ended():
                items = self.c.get(f"/v1/jobs/{answer.json['id']}/windows", token=ADMIN).json["items"]
                return [w["state"] for w in items if w["id"] == answer.json["window"] and w["state"] in ENDS]
            assert wait_for(ended, WAIT_S) == ["analysed"]


def of(plan, kind):
    return next(r for r in plan["remedies"] if r["kind"] == kind)


def test_a_plan_says_what_each_way_out_costs_and_gains(controller, tmp_path, run):  # noqa: F811
    f = Planned(controller, tmp_path)
    f.suspect(ends=False)
    plan = f.plan()
    assert plan["reason"] is None and plan["job"] == JOB and {r["kind"] for r in plan["remedies"]} >= KINDS
    replace = of(plan, "replace")
    assert replace["hosts"] == [SLOW] and replace["sure"] == "exact" and replace["possible"] and plan["spares"] == [SPARE]
    # 10 minutes by the policy, half of the checkpoint interval, and the warm-up.
    assert replace["cost_s"] == plan["costs"]["restart_s"] + 10 * 60 + 30 == 20 * 60 + 30
    assert replace["gain_s"]["low"] <= replace["gain_s"]["value"] <= replace["gain_s"]["high"]
    assert replace["after_s"] == pytest.approx(plan["step_s"] - replace["gain_s"]["value"], abs=2e-6)
    assert replace["pays_steps"]["value"] == pytest.approx(replace["cost_s"] / replace["gain_s"]["value"], rel=1e-3)
    assert of(plan, "micro-batches")["cost_s"] == 5 and "restart" not in of(plan, "micro-batches")["needs"]
    assert "restart" in of(plan, "drop-replica")["needs"]
    # Without the number of remaining steps the cheapest is first; the loss in 15 minutes is more than 5 s, and less than a restart.
    costs = [r["cost_s"] for r in plan["remedies"]]
    assert costs == sorted(costs) and plan["remedies"][0]["kind"] == "none" and plan["lost_s"] > 5
    assert plan["remedies"][plan["advised"]]["kind"] == "micro-batches", plan
    # The window's own prediction for replacing it, as recorded: the same except for the hosts it is compared with.
    gain = f.the_suspect()["gain"]["value"]
    assert replace["gain_s"]["value"] / plan["step_s"] == pytest.approx(gain, abs=0.05)
    many = f.plan(steps=10**9)
    over = [r["over_s"] for r in many["remedies"]]
    assert over == sorted(over, reverse=True) and many["remedies"][0]["kind"] != "none" and many["advised"] == 0
    assert f.plan(steps=0)["remedies"][0]["kind"] == "none"

    token = tmp_path / "token"
    token.write_text(ADMIN)
    token.chmod(0o600)
    result = run("assayctl", "plan", JOB, "--without", SLOW, "--controller", f"http://{f.c.host}:{f.c.port}", "--token-file", token)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["REMEDY", "STEP", "GAIN", "A", "STEP", "COST", "PAYS", "AFTER", "SURE", "NEEDS"]
    assert any(line.startswith(f"replace {SLOW}") for line in lines) and f"with {SPARE}" in result.stdout
    result = run("assayctl", "plan", JOB, "-o", "json", "--controller", f"http://{f.c.host}:{f.c.port}", "--token-file", token)
    assert {r["kind"] for r in json.loads(result.stdout)["remedies"]} >= KINDS


def test_what_cordoning_a_host_does_to_the_job(controller, tmp_path):  # noqa: F811
    f = Planned(controller, tmp_path)
    f.suspect(ends=False)
    plan = f.plan(without=SLOW)["without"]
    assert plan["hosts"] == [SLOW] and plan["strangers"] == []
    assert plan["workers"] >= 1 and plan["replicas"] >= 1 and plan["left"] == plan["of_replicas"] - plan["replicas"] > 0
    assert plan["spares"] == [SPARE] and plan["enough"] and plan["replaced_cost_s"] == 20 * 60 + 30
    assert plan["replaced_s"] == of(f.plan(), "replace")["after_s"] and plan["dropped_s"] > 0
    assert SLOW in plan["sentence"] and SPARE in plan["sentence"]
    # A host without a part of it, and an unknown one.
    assert f.plan(without=f"{SLOW},nowhere")["without"]["sentence"] == f"{plan['sentence']}; it does not run on nowhere"
    other = f.plan(without=f"{SPARE},nowhere")["without"]
    assert (other["hosts"], other["strangers"], other["workers"]) == ([], [SPARE, "nowhere"], 0) and "none of these" in other["sentence"]
    for wrong in ({"without": "a b"}, {"without": ""}, {"steps": "-1"}, {"steps": "x"}, {"without": ",".join(f"n{i}" for i in range(65))}):
        assert ("without" if "without" in wrong else "steps") in f.plan(status=400, **wrong)["detail"]
    f.plan(status=403, token=SENDER)


def test_without_a_spare_a_host_is_not_to_be_replaced(controller, tmp_path):  # noqa: F811
    f = Planned(controller, tmp_path, spare=False, config_more="")
    f.suspect(ends=False)
    plan = f.plan(without=SLOW, steps=10**9)
    replace = of(plan, "replace")
    assert not replace["possible"] and replace["spares_missing"] == 1 and plan["spares"] == [] and replace["deed"] == f"replace {SLOW}"
    assert plan["remedies"][-1]["kind"] == "replace" and plan["remedies"][plan["advised"]]["possible"]
    assert not plan["without"]["enough"] and "0 spares" in plan["without"]["sentence"]


def test_a_job_of_which_nothing_is_kept_has_no_plan_and_says_why(controller, tmp_path):  # noqa: F811
    f = Planned(controller, tmp_path)
    assert f.c.get("/v1/jobs/j1/plan", token=ADMIN).status == 404
    f.send(f.trace(), AGES[0])
    assert f.plan()["reason"] is None
    for kept in tmp_path.rglob("analyses/*"):
        kept.unlink()
    plan = f.plan()
    assert plan["remedies"] == [] and "not stored" in plan["reason"]


def test_what_was_promised_is_held_against_the_next_run(controller, tmp_path, run):  # noqa: F811
    f = Planned(controller, tmp_path)
    for host in HOSTS:
        f.claim(host, f.ranks(host, f.trace()))
    f.suspect(ends=False)
    promised = f.plan()
    assert promised["checked"] == []
    f.run_again()
    (checked,) = f.plan()["checked"]
    assert (checked["kind"], checked["hosts"], checked["run"], checked["by_run"]) == ("replace", [SLOW], 1, 2)
    assert checked["window"] == promised["window"] and checked["promised_s"] == of(promised, "replace")["after_s"]
    assert checked["steps"] == 24 and checked["state"] == "held" and checked["measured_s"] == pytest.approx(checked["promised_s"], rel=0.03)
    token = tmp_path / "token"
    token.write_text(ADMIN)
    token.chmod(0o600)
    result = run("assayctl", "plan", JOB, "--controller", f"http://{f.c.host}:{f.c.port}", "--token-file", token)
    assert f"checked: replace {SLOW}: promised " in result.stdout and "as promised" in result.stdout, result.stdout
