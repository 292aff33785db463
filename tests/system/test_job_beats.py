# SPDX-License-Identifier: Apache-2.0
"""Heartbeats of a job: what is accepted, what is reported about a hung job, and what it triggers."""
import contextlib
import hashlib
import json
import re
import sqlite3
import urllib.parse
from pathlib import Path

import pytest
from clock_fixtures import clock, clock_shift  # noqa: F401
from fixtures_controller import controller, report  # noqa: F401
from test_placement import put, ranks
from waiting import wait_for

TOP = Path(__file__).resolve().parents[2]
JOB = "research/llm-7"
STEP_S = 100  # a leap that does not count as a gap in listening
LIMIT_S = 600 + 40 * 2  # for steps of 2 s


def beat(c, step, job=JOB, seconds=(2.0,) * 6, token=None, run=None, body=None, **more):
    query = {"job": job, **({"run": run} if run else {})}
    text = json.dumps({"step": step, "seconds": list(seconds), **more}) if body is None else body
    return c.call("POST", "/v1/steps?" + urllib.parse.urlencode(query), text.encode(), token=token)


def job(c, name=JOB, **more):
    items = c.get(f"/v1/jobs?name={urllib.parse.quote(name, safe='')}", **more).json["items"]
    return items[0] if items else None


class Time:
    """A controller's time: it passes in leaps, each followed by a check."""

    def __init__(self, clock):  # noqa: F811
        self.clock, self.wall = clock, 0

    def leap(self, seconds):
        self.wall += seconds
        self.clock.set(wall=self.wall)

    def quiet(self, c, until_s, each=lambda: None, name=JOB):
        """Passes time without a step; calls a function at each leap."""
        while job(c, name)["beats"]["quiet_s"] < until_s:
            before = job(c, name)["beats"]["quiet_s"]
            self.leap(STEP_S)
            assert wait_for(lambda before=before: job(c, name)["beats"]["quiet_s"] >= before + STEP_S - 1)
            each()
        return job(c, name)


@pytest.fixture
def time(clock):  # noqa: F811
    return Time(clock)


def events(c):
    """Events of hung jobs, after it has stopped, because its store cannot be read while it runs."""
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        return db.execute("SELECT node, message FROM cluster_events WHERE reason = 'AssayJobStopped' ORDER BY id").fetchall()


def test_a_beat_makes_a_job_known_and_is_shown_with_it(controller):  # noqa: F811
    c = controller()
    said = beat(c, 1204, seconds=[8.3] * 6, age=3)
    assert said.status == 200 and said.json == {"job": JOB, "id": "j1", "run": 1, "step": 1204}
    shown = job(c)
    assert shown["state"] == "waiting" and shown["beats"]["state"] == "running" and shown["beats"]["step_s"] == pytest.approx(8.3)
    assert wait_for(lambda: job(c)["beats"]["sentence"] == "step 1204, 8.3 s a step")
    assert beat(c, 1206, seconds=[9.1, 9.2, 9.3]).status == 200
    assert wait_for(lambda: job(c)["beats"]["step"] == 1206)
    whole = c.get("/v1/jobs/j1").json
    assert whole["beats"]["sentence"] and whole["names"] == [JOB] and whole["latest"] == []
    assert beat(c, 1207, done=True).status == 200
    assert wait_for(lambda: job(c)["beats"]["state"] == "ended") and job(c)["state"] == "waiting"
    assert c.metrics()["assay_jobs_standing_still"] == 0
    assert beat(c, 1100).status == 200  # started again, from its last checkpoint
    assert wait_for(lambda: job(c)["beats"]["state"] == "running") and job(c)["beats"]["step"] == 1100


@pytest.mark.parametrize("status,words,more", [
    (409, "step 100 of run 2 has been reported, and steps never go back within a run: a restart needs run 3", {"step": 99}),
    (409, "run 2 has started: run 1 is over", {"step": 101, "run": 1}),
    (422, "seconds[1]: expected the duration of a step, more than 0", {"step": 101, "seconds": [1, 0]}),
    (422, "seconds[0]: expected the duration of a step, more than 0 and at most 86400", {"step": 101, "seconds": [1e9]}),
    (422, "body: seconds: 65 numbers, more than 64", {"step": 101, "seconds": [1] * 65}),
    (422, "body: age: ", {"step": 101, "age": -1}),
    (422, "body: age: ", {"step": 101, "age": 7 * 86400 + 1}),
    (422, "body: step: ", {"step": -1}),
    (422, "body: step: ", {"step": 1.5}),
    (422, "body: step: ", {"step": None}),
    (400, "body: ", {"step": 0, "body": "{"}),
    (400, "body: ", {"step": 0, "body": '{"step": 101, "age": NaN}'}),
    (422, "body: step: ", {"step": 0, "body": "{}"}),
    (400, "job: expected a name", {"step": 0, "job": "no job"}),
    (400, "run: expected a number", {"step": 0, "run": "x"}),
    (413, "", {"step": 101, "body": json.dumps({"step": 101, "more": "x" * 4096})}),
])
def test_what_cannot_be_is_refused_in_a_sentence(controller, status, words, more):  # noqa: F811
    c = controller()
    assert beat(c, 100, run=2).status == 200
    said = beat(c, **{"run": 2, **more})
    assert said.status == status and words in said.json["detail"], said.body
    assert job(c)["beats"]["step"] == 100 and job(c)["beats"]["run"] == 2


def test_what_a_later_version_says_more_is_no_error(controller):  # noqa: F811
    assert beat(controller(), 0, body='{"step": 7, "loss": 2.1}').status == 200


def test_the_lines_of_the_documentation_beat(controller, tmp_path, monkeypatch):  # noqa: F811
    c, token = controller(), tmp_path / "token"
    token.write_text("x\n")
    for name, value in {"ASSAY_CONTROLLER": f"http://{c.host}:{c.port}", "ASSAY_JOB": JOB, "ASSAY_RUN": "2", "ASSAY_TOKEN_FILE": str(token)}.items():
        monkeypatch.setenv(name, value)
    (lines,) = [b for b in re.findall(r"^```python\n(.*?)^```", (TOP / "docs/jobs.md").read_text(), re.M | re.S) if "/v1/steps" in b]
    training = {}
    exec(lines.replace("every=15", "every=3"), training)
    for step in range(1, 101):
        training["stepped"](step, 2.5)
    assert wait_for(lambda: job(c) and job(c)["beats"]["step"] == 100)
    training["stepped"](101, 2.5)
    training["beat"](done=True)
    shown = job(c)["beats"]
    assert (shown["run"], shown["step"], shown["step_s"]) == (2, 101, 2.5)
    assert wait_for(lambda: job(c)["beats"]["state"] == "ended")


def test_one_job_floods_nobody(controller):  # noqa: F811
    c = controller()
    answers = [beat(c, i) for i in range(20)]
    assert [a.status for a in answers[:8]] == [200] * 8
    late = next(a for a in answers if a.status != 200)
    assert late.status == 429 and "more than one beat in 2 s" in late.json["detail"] and int(late.headers["Retry-After"]) >= 1
    assert beat(c, 1, job="another").status == 200


def test_who_may_not_send_traces_of_a_job_may_send_no_beats(controller, tmp_path):  # noqa: F811
    tokens = {"submit": 'role: submit, jobs: "research/*"', "read": "role: read", "operate": "role: operate", "node": "node: gpu-1"}
    file = tmp_path / "tokens.yaml"
    rows = [f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {role}}}\n" for t, role in tokens.items()]
    file.write_text("v: 1\ntokens:\n" + "".join(rows))
    c = controller("--tokens", file)
    other = beat(c, 1, job="finance/llm", token="submit")
    assert other.status == 403 and "may not send beats for 'finance/llm'" in other.json["detail"]
    node = beat(c, 1, token="node")
    assert node.status == 403 and "no rank of 'research/llm-7' is known to run on 'gpu-1'" in node.json["detail"]
    assert beat(c, 1, token="read").status == 403 and beat(c, 1).status == 401
    assert c.get("/v1/jobs", token="read").json["items"] == []
    assert put(c, "gpu-1", ranks(0), token="node").status == 200
    assert beat(c, 1, token="node").status == 200 and beat(c, 2, token="submit").status == 200
    assert beat(c, 1, job="finance/llm", token="operate").status == 200


def test_one_that_beats_and_takes_no_step_is_told_once(controller, time, clock):  # noqa: F811
    c = controller(env=clock.env())
    assert beat(c, 1204).status == 200
    shown = time.quiet(c, LIMIT_S - 2 * STEP_S, lambda: beat(c, 1204))
    assert shown["state"] == "waiting" and shown["beats"]["state"] == "running"
    shown = time.quiet(c, LIMIT_S, lambda: beat(c, 1204))
    assert shown["state"] == "stands still" and shown["beats"]["state"] == "stands still", shown
    assert "m; its steps took 2 s: step 1204" in shown["beats"]["sentence"] and shown["beats"]["limit_s"] == LIMIT_S
    assert c.get("/v1/jobs/j1").json["state"] == "stands still"
    assert wait_for(lambda: c.metrics()["assay_jobs_standing_still"] == 1)
    assert wait_for(lambda: beat(c, 1206).status == 200)
    assert wait_for(lambda: job(c)["beats"]["state"] == "running") and job(c)["state"] == "waiting"
    assert wait_for(lambda: c.metrics()["assay_jobs_standing_still"] == 0)
    # It took that long once, so it may again: twice that time is allowed.
    assert job(c)["beats"]["limit_s"] > 2 * LIMIT_S - STEP_S
    (told,) = events(c)
    assert told[0] == JOB and told[1].startswith(f"{JOB} stands still: no step for 1") and told[1].endswith("its steps took 2 s: step 1204")


@pytest.mark.some(2)
@pytest.mark.once
@pytest.mark.parametrize("what,state", [("live", "stands still"), ("gone", "ended"), ("silent", "unknown"), ("later", "ended"), ("before", "unknown")])
def test_one_whose_beats_cease_is_what_agents_say_of_its_ranks(controller, time, clock, what, state):  # noqa: F811
    c = controller(env=clock.env())
    assert put(c, "gpu-1", ranks(0, 1, ASSAY_RUN="1")).status == 200
    assert beat(c, 5).status == 200

    def agent():
        if what == "live":
            assert put(c, "gpu-1", ranks(0, 1, ASSAY_RUN="1")).status == 200
        if what == "gone":
            assert put(c, "gpu-1", []).status == 200
        if what == "later":
            assert put(c, "gpu-1", ranks(0, 1, start=2000, ASSAY_RUN="2")).status == 200

    if what == "before":
        time.quiet(c, 300)
    shown = time.quiet(c, LIMIT_S + 500, agent)
    assert shown["beats"]["state"] == state, shown
    assert shown["state"] == ("stands still" if what == "live" else "waiting")
    if what == "live":
        assert "no beats arrive, but its ranks are running" in shown["beats"]["sentence"]
    assert len(events(c)) == (what == "live")


def test_after_a_restart_stillness_begins_anew_and_is_not_told_twice(controller, time, clock):  # noqa: F811
    c = controller(env=clock.env())
    assert beat(c, 1204).status == 200
    time.quiet(c, LIMIT_S, lambda: beat(c, 1204))
    assert wait_for(lambda: "stands still: no step" in c.log())
    assert wait_for(lambda: c.get("/readyz").status == 200)
    c.stop()
    time.leap(86400)  # the controller was down
    c = controller(env=clock.env())
    shown = job(c)
    assert shown["beats"]["state"] == "unknown" and shown["beats"]["sentence"] == "no beat has arrived since the controller started: step 1204"
    assert shown["beats"]["heard"] is None and shown["beats"]["limit_s"] == LIMIT_S and shown["beats"]["quiet_s"] < STEP_S
    assert beat(c, 1204, seconds=[], age=86400).status == 200
    assert wait_for(lambda: job(c)["beats"]["state"] == "running")
    shown = time.quiet(c, LIMIT_S, lambda: beat(c, 1204))
    assert shown["state"] == "stands still"
    assert len(events(c)) == 1


def test_a_time_in_which_it_did_not_run_is_no_stillness(controller, time, clock):  # noqa: F811
    c = controller(env=clock.env())
    assert beat(c, 7).status == 200
    time.quiet(c, 300, lambda: beat(c, 7))
    time.leap(3600)
    assert wait_for(lambda: job(c)["beats"]["quiet_s"] < STEP_S)
    assert job(c)["beats"]["state"] == "running" and events(c) == []


POLICY = "v: 1\nmode: enforce\nbreaker: {{silent_percent: 100}}\njobs: {{mode: {mode}, on_stop: {on_stop}}}\nrules: []\n"


def still(controller, time, clock, tmp_path, **policy):  # noqa: F811
    """A hung job of two hosts under the policy."""
    file, config = tmp_path / "policy.yaml", tmp_path / "controller.yaml"
    file.write_text(POLICY.format(**policy))
    config.write_text(f"v: 1\npolicy: {file}\n")
    c = controller("--config", config, "--mode", "enforce", env=clock.env())
    for i, node in enumerate(("gpu-1", "gpu-2")):
        assert c.post(report(node=node)).status == 202
        assert put(c, node, ranks(i, ASSAY_RUN="3")).status == 200
    assert beat(c, 1204, run=3).status == 200
    time.quiet(c, LIMIT_S, lambda: beat(c, 1204, run=3))
    assert wait_for(lambda: "stands still: no step" in c.log())
    return c, config


@pytest.mark.once
@pytest.mark.parametrize("mode,on_stop", [("enforce", "tell"), ("dry-run", "diagnose"), ("observe", "diagnose")])
def test_it_is_only_told_where_the_policy_says_so(controller, time, clock, tmp_path, mode, on_stop):  # noqa: F811
    c, _ = still(controller, time, clock, tmp_path, mode=mode, on_stop=on_stop)
    time.quiet(c, LIMIT_S + 2 * STEP_S, lambda: beat(c, 1204, run=3))
    assert c.get("/v1/investigations").json["items"] == []
    assert len(events(c)) == 1


def test_its_diagnosis_begins_once_for_a_run(controller, time, clock, tmp_path):  # noqa: F811
    c, config = still(controller, time, clock, tmp_path, mode="enforce", on_stop="diagnose")
    assert wait_for(lambda: c.get("/v1/investigations").json["items"]), c.log()
    (one,) = c.get("/v1/investigations").json["items"]
    assert (one["kind"], one["run"], one["job"], one["ended"]) == ("diagnosis", 3, JOB, None)
    assert one["reason"].startswith("it stands still: no step for 1") and one["reason"].endswith("its steps took 2 s: step 1204")
    assert c.get(f"/v1/investigations/{one['id']}").json["diagnosis"]["who"] == "jobs.on_stop"
    assert [h["node"] for h in one["hosts"]] == ["gpu-1", "gpu-2"]
    advice = wait_for(lambda: (lambda a: a["advice"] == "stop" and a)(c.get("/v1/jobs/j1/advice").json))
    assert advice, c.log()
    cancel = c.call("POST", f"/v1/investigations/{one['id']}/cancel", json.dumps({"reason": "it loads data"}).encode())
    assert cancel.status == 200, cancel.body
    time.quiet(c, LIMIT_S + 3 * STEP_S, lambda: beat(c, 1204, run=3))
    assert len(c.get("/v1/investigations").json["items"]) == 1
    c.stop()
    c = controller("--config", config, "--mode", "enforce", env=clock.env())
    time.quiet(c, LIMIT_S + STEP_S, lambda: beat(c, 1204, run=3))
    assert job(c)["state"] == "stands still" and len(c.get("/v1/investigations").json["items"]) == 1


@pytest.mark.long
@pytest.mark.once
def test_hundreds_of_jobs_cost_little(controller):  # noqa: F811
    c, n = controller(), 400
    assert beat(c, 1, job="first").status == 200
    before = c.metrics()["process_resident_memory_bytes"]
    for i in range(n):
        assert wait_for(lambda i=i: beat(c, 7, job=f"research/job-{i}", seconds=[1.0] * 64).status == 200)
    grown = (c.metrics()["process_resident_memory_bytes"] - before) / 2**20
    print(f"beats of {n} jobs: {grown:.1f} MiB of resident memory more")
    assert len(c.get("/v1/jobs?limit=1000").json["items"]) == n + 1 and grown < 32 * n / 1000


def test_assayctl_sends_a_beat_and_shows_what_stands_still(controller, run, time, clock):  # noqa: F811
    c = controller(env=clock.env())

    def ctl(*words):
        return run("assayctl", *words, "--controller", f"http://{c.host}:{c.port}")

    done = ctl("job", "beat", "--job", JOB, "--step", "1204", "--seconds", "2,2,2,2,2,2", "--age", "0.5")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{JOB} (j1), run 1: step 1204\n", "")
    assert job(c)["beats"]["step_s"] == 2
    for words, why in ((("--seconds", "2,x"), "--seconds: '2,x' is not a list of step durations"), (("--age", "-1"), "--age: '-1' is not an age in seconds"),
                       (("--step", "1.5"), "--step: '1.5' is not the number of a step")):
        done = ctl("job", "beat", "--job", JOB, "--step", "1204", *words)
        assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = ctl("job", "beat", "--job", JOB, "--step", "3")
    assert done.returncode != 0 and "steps never go back within a run" in done.stderr
    assert "beats       running: step 1204, 2 s a step; heard" in ctl("job", JOB).stdout
    time.quiet(c, LIMIT_S, lambda: beat(c, 1204))
    assert wait_for(lambda: "stands still: no step" in c.log())
    listed = ctl("jobs").stdout
    assert "1 job: 1 stands still" in listed and "2.00 s" in listed, listed
    assert "beats       stands still: no step for 1" in ctl("job", JOB).stdout
    assert ctl("job", "beat", "--job", JOB, "--step", "1205", "--done").returncode == 0
    assert wait_for(lambda: job(c)["beats"]["state"] == "ended")
