# SPDX-License-Identifier: Apache-2.0
"""The closed loop: the gain of replacing a host is predicted before it is cordoned, its job is advised, and the next run verifies it."""
import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import urllib.parse

import pytest
from clock_fixtures import MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_job_judged import ADMIN, ENDS, JOB, OTHER, SENDER, SLOW, WAIT_S, Fleet
from waiting import wait_for

SPARE, STRANGER, HOST = "gpu-08", "t" * 32, "h" * 32
STEPS = 12  # of a trace


class Loop(Fleet):
    """The job still runs on its other hosts; a host outside the job was tested and is idle."""

    def __init__(self, controller, tmp_path, spare=True, policy="", **more):
        super().__init__(controller, tmp_path, **more)
        tokens = tmp_path / "tokens.yaml"
        roles = {STRANGER: 'role: submit, jobs: "other/*"', HOST: f"node: {OTHER}"}
        tokens.write_text(tokens.read_text() + "".join(f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {r}}}\n" for t, r in roles.items()))
        self.policy.write_text(self.policy.read_text().replace("jobs: {", "jobs: {" + policy))
        self.c.process.send_signal(signal.SIGHUP)
        assert wait_for(lambda: self.c.get("/v1/jobs", token=STRANGER).status == 403, WAIT_S)
        self.claim(OTHER, self.ranks(OTHER, self.trace()))
        if spare:
            self.report(SPARE, profile="full")

    def path(self):
        (listed,) = self.c.get("/v1/jobs?" + urllib.parse.urlencode({"name": JOB}), token=ADMIN).json["items"]
        return f"/v1/jobs/{listed['id']}/advice"

    def advice(self, after=None, wait=0, token=SENDER):
        query = f"?wait={wait}" + (f"&after={after}" if after is not None else "")
        return self.c.call("GET", self.path() + query, token=token, timeout=WAIT_S + 30)

    def acknowledge(self, number, token=SENDER):
        return self.c.call("POST", self.path(), json.dumps({"id": number}).encode(), token=token)

    def evict(self):
        """Two windows blame SLOW, and its test fails."""
        self.suspect()
        self.report(SLOW, bad=True, profile="full", order=self.order(SLOW))

    def stopped(self):
        self.evict()
        said = self.advice(after=0, wait=WAIT_S).json
        assert said["advice"] == "stop", said
        return said

    def run_2(self, slow="none", times=2):
        """Windows of the next run, on SPARE instead of SLOW."""
        trace = self.trace(slow=slow)
        self.claim(SPARE, self.ranks(SLOW, trace), age=1)
        for _ in range(times):
            self.sent += 1
            answer = self.c.call("POST", "/v1/traces?" + urllib.parse.urlencode({"job": JOB, "run": 2}), trace + b"\n" * self.sent,
                                 headers={"Assay-First-Step-Age": "0.2", "Assay-Last-Step-Age": "0.1"}, token=ADMIN)
            assert answer.status == 202, answer.body

            def ended():
                items = self.c.get(self.path().replace("advice", "windows"), token=ADMIN).json["items"]
                return [w for w in items if w["id"] == answer.json["window"] and w["state"] in ENDS]
            assert wait_for(ended, WAIT_S)[0]["state"] == "analysed"


@pytest.mark.once
def test_a_host_is_replaced_and_the_next_run_is_as_predicted(controller, tmp_path):
    f = Loop(controller, tmp_path)
    f.suspect()
    shown = f.job()
    assert shown["prediction"]["state"] == "shown" and shown["prediction"]["id"] is None
    assert shown["advice"]["id"] == 0 and f.advice().json["advice"] == "continue"
    held = []
    waiter = threading.Thread(target=lambda: held.append(f.advice(after=0, wait=WAIT_S)))
    waiter.start()
    f.report(SLOW, bad=True, profile="full", order=f.order(SLOW))
    waiter.join()
    stop = held[0].json
    assert (stop["advice"], stop["exclude"], stop["replacements"], stop["state"]) == ("stop", [SLOW], [SPARE], "open"), f.job()
    assert SLOW in stop["reason"] and stop["expires"]
    made = f.job()["prediction"]
    assert made["id"] == stop["prediction"] and made["state"] == "open" and made["hosts"] == [SLOW]
    assert made["low_s"] <= made["after_s"] <= made["high_s"] < made["before_s"]
    # A restart costs ten minutes: it pays off after enough steps to save them.
    assert made["pays_steps"] * (made["before_s"] - made["after_s"]) >= 600 > (made["pays_steps"] - 1) * (made["before_s"] - made["after_s"])
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S)
    assert f.advice(after=stop["id"]).status == 204  # not stopped yet
    first, again = f.acknowledge(stop["id"]), f.acknowledge(stop["id"])
    assert first.status == again.status == 200 and first.json == again.json and first.json["state"] == "acknowledged"
    resume = f.advice(after=stop["id"], wait=WAIT_S).json
    assert (resume["advice"], resume["exclude"], resume["replacements"]) == ("resume", [SLOW], [SPARE])
    assert f.acknowledge(stop["id"]).json == first.json  # a client that missed the answer repeats it
    assert f.acknowledge(resume["id"]).status == 200
    f.run_2(times=1)
    assert f.job()["verified"] is None  # too few steps
    f.run_2(times=1)
    said = f.job()["verified"]
    assert (said["state"], said["by_run"], said["steps"], said["instead"]) == ("held", 2, 2 * STEPS, [SPARE]), said
    assert abs(said["measured_s"] / said["after_s"] - 1) <= 0.03
    assert said["trust"] == {"held": 1, "checked": 1, "poor": False}
    assert f.c.metrics()['assay_predictions_total{class="compute",held="true"}'] == 1
    assert f.advice().json["id"] == resume["id"]
    assert wait_for(lambda: f.c.get("/v1/investigations/1", token=ADMIN).json["state"] == "verified", WAIT_S)


@pytest.mark.once
def test_a_wrong_prediction_is_told_and_a_class_that_fails_evicts_no_more(controller, tmp_path):
    f = Loop(controller, tmp_path, policy="trust: {least: 0.5, of: 1}, ")
    f.stopped()
    f.run_2(slow="gpu-06")
    said = f.job()["verified"]
    assert said["state"] == "failed" and said["measured_s"] > 1.03 * said["high_s"] and said["trust"]["poor"]
    metrics = f.c.metrics()
    assert metrics['assay_predictions_total{class="compute",held="false"}'] == 1 and metrics['assay_predictions_poor{class="compute"}'] == 1


@pytest.mark.once
def test_a_suspect_that_its_job_keeps_busy_is_stopped_for_once_it_has_cost_a_restart(controller, tmp_path):
    f = Loop(controller, tmp_path, policy="busy: drain, restart_cost: 1s, ")
    f.suspect(ends=False)
    stop = f.advice(after=0, wait=WAIT_S).json
    assert (stop["advice"], stop["exclude"]) == ("stop", [SLOW]) and "tested without jobs" in stop["reason"]
    assert f.job()["prediction"]["id"] == stop["prediction"] and f.orders(SLOW) == []
    assert f.acknowledge(stop["id"]).status == 200
    f.claim(SLOW, [])  # the job has left
    order = f.order(SLOW)
    assert f.advice(after=stop["id"]).status == 204 and f.cordoned() == []
    f.report(SLOW, bad=True, profile="full", order=order)
    resume = f.advice(after=stop["id"], wait=WAIT_S).json
    assert (resume["advice"], resume["exclude"], resume["prediction"]) == ("resume", [SLOW], stop["prediction"])
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S)  # recorded as done a moment later


@pytest.mark.once
def test_without_a_spare_nothing_is_stopped(controller, tmp_path):
    f = Loop(controller, tmp_path, spare=False)
    f.evict()
    said = f.advice(after=0, wait=WAIT_S).json
    assert (said["advice"], said["replacements"], said["state"]) == ("continue", [], "none") and "no spare" in said["reason"]
    assert wait_for(lambda: f.cordoned() == [SLOW], WAIT_S)
    f.report(SPARE, profile="full")
    stop = f.advice(after=said["id"], wait=WAIT_S).json
    assert (stop["advice"], stop["replacements"]) == ("stop", [SPARE])
    assert f.acknowledge(said["id"]).status == 409  # not the latest


@pytest.mark.once
def test_advice_that_nobody_acknowledges_expires_and_is_the_same_after_a_kill(controller, tmp_path, clock):
    f = Loop(functools.partial(controller, env=clock.env()), tmp_path)
    stop = f.stopped()
    f.c.kill()
    f.c = f.start(*f.options)
    assert f.advice().json == stop
    clock.set(wall=16 * MIN)
    assert wait_for(lambda: f.advice().json["id"] > stop["id"], WAIT_S), f.job()
    said = f.job()["advice"]
    assert said["advice"] == "continue" and said["reason"].startswith(f"advice {stop['id']} to stop expired without being acknowledged")
    assert f.acknowledge(stop["id"]).status == 410
    assert f.acknowledge(said["id"]).status == 200
    assert f.advice(after=said["id"]).status == 204  # a prediction is advised once


@pytest.mark.once
def test_only_who_may_speak_for_a_job_is_advised(controller, tmp_path):
    f = Loop(controller, tmp_path)
    f.suspect(ages=((130, 10),))
    path = f.path()
    assert f.advice(token=STRANGER).status == f.acknowledge(0, token=STRANGER).status == 403
    assert JOB.encode() not in f.advice(token=STRANGER).body
    assert f.advice(token=HOST).status == 200  # a rank of it is there
    assert f.acknowledge(0).status == 409  # there is nothing to acknowledge
    for wrong in ("{", "[]", "{}", '{"id": -1}', '{"id": "1"}', '{"id": 1.5}'):
        assert f.c.call("POST", path, wrong.encode(), token=SENDER).status == 400
    for query in ("wait=x", "wait=301", "wait=-1", "after=x", "after=99999999999999999999"):
        assert f.c.call("GET", path + "?" + query, token=SENDER).status == 400
    gone = "/v1/jobs/j999/advice"
    assert f.c.get(gone, token=SENDER).status == f.c.call("POST", gone, b'{"id": 1}', token=SENDER).status == 404
    assert f.c.get("/v1/jobs/12/advice", token=SENDER).status == 404


@pytest.mark.once
def test_nobody_is_advised_to_stop_unless_the_policy_acts(controller, tmp_path):
    f = Loop(controller, tmp_path, jobs="dry-run")
    f.suspect()
    f.report(SLOW, bad=True, profile="full")
    assert wait_for(lambda: f.job()["state"] == "suspected", WAIT_S)
    assert f.advice().json["id"] == 0 and f.job()["prediction"]["state"] == "shown"
    assert f.c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        assert db.execute("SELECT count(*) FROM predictions").fetchone() == db.execute("SELECT count(*) FROM advices").fetchone() == (0,)


@pytest.mark.once
def test_the_launcher_of_the_manual_stops_and_starts_by_advice(controller, tmp_path, top):
    if not shutil.which("curl") or not shutil.which("jq"):
        pytest.skip("the launcher of docs/jobs.md needs curl and jq")
    f = Loop(controller, tmp_path)
    f.suspect()
    launcher, command, token, said, pids = (tmp_path / name for name in ("launcher.sh", "train.sh", "token", "runs", "pids"))
    (text,) = re.findall(r"```bash\n(#!/bin/bash\n# launcher.*?)```", (top / "docs/jobs.md").read_text(), re.S)
    assert "wait=10&" in text
    launcher.write_text(text.replace("wait=10&", "wait=1&"))
    # The first run continues until it is stopped, the next one ends.
    command.write_text(f'echo $$ >>{pids}; echo "$ASSAY_RUN:$EXCLUDE" >>{said}\n[ "$ASSAY_RUN" = 2 ] || exec tail -f /dev/null\n')
    token.write_text(SENDER + "\n")
    job = f.path().split("/")[3]
    process = subprocess.Popen(["bash", launcher, job, "bash", command], start_new_session=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, "ASSAY_CONTROLLER": f"http://{f.c.host}:{f.c.port}", "ASSAY_TOKEN_FILE": str(token)})
    try:
        assert wait_for(said.exists, WAIT_S)
        f.report(SLOW, bad=True, profile="full", order=f.order(SLOW))
        assert process.wait(WAIT_S) == 0, process.stderr.read()
    finally:
        for group in [process.pid] * (process.poll() is None) + [int(pid) for pid in pids.read_text().split()]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        process.stderr.close()
    assert said.read_text().split() == ["1:", f"2:{SLOW}"]
    assert (f.advice().json["advice"], f.advice().json["state"]) == ("resume", "acknowledged")
