# SPDX-License-Identifier: Apache-2.0
"""Traces are sent, analysed by a child of the controller, and shown with their jobs; a bad trace affects only itself."""
import contextlib
import hashlib
import json
import os
import random
import shutil
import sqlite3
import threading
import urllib.parse

import pytest
from fixtures_controller import controller, report  # noqa: F401
from waiting import wait_for

END_S = 60
QUEUED = 64  # windows that can wait, over all jobs
AT_ONCE = 4  # windows of a job that may arrive within a minute
ENDS = {"analysed", "rejected", "failed"}

# The trace controls this one: its first line is the command, the rest is its output.
ANALYSER = """#!/bin/sh
[ "$6" = - ] || exit 1
read -r word more
case $word in
answer) cat ;;
soon) while [ -e "$0.wait" ]; do sleep 0.1; done; cat ;;
join) n=$(grep -c join -) ; printf '%s' "$more" | sed "s/PARTS/$((n + 1))/" ;;
reject) echo "assay-attribute: standard input: line 2: rank 3 is there twice" >&2; exit 2 ;;
fail) echo "assay-attribute: out of luck" >&2; exit 1 ;;
crash) kill -SEGV $$ ;;
flood) exec yes ;;
tested) sed "s|said by the analyser|$(tr -d '\"' <"${7#--speeds=}")|" ;;
shape) sed 's/SHAPE/'"$(cat "${7#--meta=}")"'/' ;;
esac
"""


@pytest.fixture
def build(build, tmp_path):
    """A build directory with the controller and a fake analyser."""
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    programs = tmp_path / "programs"
    programs.mkdir()
    shutil.copy(build / "assay-controller", programs)
    (programs / "policies").symlink_to((build / "policies").resolve())
    (programs / "assay-attribute").write_text(ANALYSER)
    (programs / "assay-attribute").chmod(0o755)
    return programs


def number(value):
    return {"value": value, "low": value - 0.01, "high": value + 0.01}


def summary(slowdown=1.09, kind="compute", host="gpu-17", steps=64, **more):
    suspects = [{"hosts": [host], "dp": 3, "stage": 1, "ranks": [56, 63], "class": kind, "share": number(0.94), "alone": number(0.9),
                 "gain": number(0.07), "identifiable": True, "counts": True}] if host else []
    return {"format": "assay-attribution-summary/1", "steps": steps, "ranks": 128, "hosts": 16, "step_s": 8.99,
            "slowdown": number(slowdown), "cause": "worker", "class": kind, "enough": True, "suspects": suspects,
            "heat": {"rows": 1, "columns": 2, "row": "dp", "column": "stage", "values": [[1.0, None]]},
            "sentence": "said by the analyser", **more}


def trace(word="answer", mark="", **more):
    return f"{word} {mark}\n{json.dumps(summary(**more))}\n".encode()


def send(c, body, job="research/llm-7", ages=None, **more):
    arguments = {"job": job, **{k: more.pop(k) for k in ("run", "meta", "part", "of") if k in more}}
    headers = {} if ages is None else {"Assay-First-Step-Age": str(ages[0]), "Assay-Last-Step-Age": str(ages[1])}
    return c.call("POST", "/v1/traces?" + urllib.parse.urlencode(arguments), body, headers=headers, **more)


def window(c, answer):
    """The window named in an answer, once it is finished."""
    sent = answer.json

    def ended():
        items = c.get(f"/v1/jobs/{sent['id']}/windows").json["items"]
        return next((w for w in items if w["id"] == sent["window"] and w["state"] in ENDS), None)
    found = wait_for(ended, END_S)
    assert found, c.log()
    return found


def job(c, answer):
    return c.get(f"/v1/jobs/{answer.json['id']}").json


def files(tmp_path):
    return sorted(p.name for p in (tmp_path / "traces").iterdir())


def test_a_trace_is_analysed_and_shown_with_its_job(controller, tmp_path):
    c = controller()
    body = trace()
    sent = send(c, body, ages=(130, 10))
    assert sent.status == 202 and sent.json["state"] == "queued" and sent.json["run"] == 1
    found = window(c, sent)
    assert found["state"] == "analysed" and found["digest"] == hashlib.sha256(body).hexdigest()
    assert found["steps"] == 64 and found["slowdown"] == 1.09 and found["suspect"] == "gpu-17" and not found["coarse"]
    again = send(c, body, ages=(140, 20))
    assert again.status == 200 and again.json["window"] == sent.json["window"] and again.json["state"] == "analysed"

    (listed,) = c.get("/v1/jobs?name=research/llm-7").json["items"]
    assert listed["id"] == sent.json["id"] and listed["state"] == "watched" and listed["cause"] == "compute"
    assert c.get("/v1/jobs").json["items"] == [listed] and c.get("/v1/jobs?name=none").json["items"] == []
    shown = job(c, sent)
    assert shown["sentence"] == "said by the analyser" and shown["decision"]["action"] == "watch"
    assert shown["heat"]["values"] == [[1.0, None]] and shown["windows"]["analysed"] == 1
    assert (shown["suspects"][0]["hits"], shown["suspects"][0]["of"]) == (1, 1)
    whole = c.get(f"/v1/jobs/{sent.json['id']}/windows/{sent.json['window']}").json
    assert whole["suspects"][0]["share"]["value"] == 0.94 and "heat" in whole
    assert files(tmp_path) == []
    metrics = c.metrics()
    assert metrics['assay_windows_total{result="analysed"}'] == 1 and metrics['assay_jobs{state="watched"}'] == 1
    assert metrics['assay_job_slowdown{namespace="research",job="research/llm-7"}'] == pytest.approx(1.09)


def test_a_host_is_suspected_once_two_windows_apart_blame_it(controller):
    c = controller()
    window(c, send(c, trace(mark="1"), ages=(900, 700)))
    second = send(c, trace(mark="2"), ages=(130, 10))
    window(c, second)
    shown = job(c, second)
    assert shown["state"] == "suspected" and shown["decision"]["action"] == "probe" and shown["suspects"][0]["hits"] == 2
    # The next start of the job begins from scratch.
    third = send(c, trace(mark="3"), ages=(60, 5), run=2)
    window(c, third)
    assert job(c, third)["state"] == "watched" and job(c, third)["run"] == 2


def test_windows_count_by_their_steps_whatever_the_order_in_which_they_come(controller):
    c = controller()
    window(c, send(c, trace(mark="late"), ages=(130, 10)))
    early = send(c, trace(mark="early", slowdown=1.2), ages=(900, 700))
    window(c, early)
    (listed,) = c.get("/v1/jobs").json["items"]
    assert listed["state"] == "suspected" and listed["slowdown"] == 1.09 and listed["windows"] == 2
    assert 0 <= listed["age_s"] < 900
    assert job(c, early)["suspects"][0]["hits"] == 2


def test_jobs_that_nobody_knew_find_the_queue_full_as_others_do(controller, build):
    c = controller()
    (build / "assay-attribute.wait").touch()
    answers = [send(c, trace("soon"), job=f"made-up-{i}") for i in range(QUEUED + 6)]
    assert [a.status for a in answers] == [202] * QUEUED + [429] * 6
    assert "too many windows are waiting" in answers[-1].json["detail"] and int(answers[-1].headers["Retry-After"]) >= 1
    assert send(c, trace("soon"), job="made-up-3").status == 200
    assert len(c.get("/v1/jobs").json["items"]) == QUEUED


def test_a_window_shows_no_analysis_of_another_that_had_its_number(controller, build, tmp_path):
    c = controller()
    (build / "assay-attribute.wait").touch()
    sent = send(c, trace("soon"))
    (tmp_path / "analyses" / f"{sent.json['window']}.json").write_text('{"of": "another job"}')
    gone = c.get(f"/v1/jobs/{sent.json['id']}/windows/{sent.json['window']}")
    assert gone.status == 410 and "queued" in gone.json["detail"]


def test_the_policy_says_how_many_windows_make_a_suspect(controller, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("v: 1\nmode: dry-run\njobs: {mode: enforce, windows: {k: 1, n: 1, steps: 50}}\nrules: []\n")
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\npolicy: {policy}\n")
    c = controller("--config", config, "--mode", "enforce")
    modes = c.get("/v1/policy").json
    assert (modes["mode"], modes["mode_of_policy"], modes["mode_of_jobs"]) == ("dry-run", "dry-run", "dry-run")
    short = send(c, trace(steps=49), ages=(900, 700))
    window(c, short)
    assert job(c, short)["decision"]["action"] == "watch" and job(c, short)["suspects"][0]["of"] == 0
    sent = send(c, trace(steps=50), ages=(130, 10))
    window(c, sent)
    assert job(c, sent)["state"] == "suspected" and job(c, sent)["suspects"][0]["of"] == 1


def test_why_says_which_windows_of_which_job_blame_a_host(controller):
    c = controller()
    for name in ("gpu-17", "gpu-18"):
        assert c.post(report(name)).status == 202
    first = send(c, trace(mark="1"), ages=(900, 700))
    window(c, first)
    speed = {"now": 0.88, "tested": 0.99}
    found = summary()
    found["suspects"][0]["speed"] = speed
    second = send(c, f"answer 2\n{json.dumps(found)}\n".encode(), ages=(130, 10))
    window(c, second)
    (blames,) = c.get("/v1/nodes/gpu-17/why").json["jobs"]
    assert (blames["job"], blames["id"], blames["run"], blames["class"]) == ("research/llm-7", second.json["id"], 1, "compute")
    assert blames["windows"] == [second.json["window"], first.json["window"]] and (blames["hits"], blames["of"]) == (2, 2)
    assert (blames["action"], blames["reason"]) == ("probe", "gpu-17 would be tested with gemm, gemm-load, memory")
    assert blames["share"]["value"] == 0.94 and blames["speed"] == speed
    assert job(c, second)["suspects"][0]["speed"] == speed
    assert c.get(f"/v1/jobs/{first.json['id']}/windows/{first.json['window']}").json["suspects"][0]["speed"] == {"now": None, "tested": None}
    assert c.get("/v1/nodes/gpu-18/why").json["jobs"] == []
    # A finding that the next window does not repeat is over.
    window(c, send(c, trace(mark="3", kind="none", slowdown=1.01, host=None), ages=(5, 1)))
    assert c.get("/v1/nodes/gpu-17/why").json["jobs"] == []


def test_a_job_that_slows_itself_is_for_its_owner(controller):
    c = controller()
    sent = send(c, trace(slowdown=1.54, kind="job", host=None), job="research/moe-2")
    assert window(c, sent)["coarse"]
    shown = job(c, sent)
    assert shown["state"] == "owner informed" and shown["decision"]["action"] == "owner" and shown["suspect"] is None


def told_owners(c, count):
    """The number of stored owners, after it has stopped, because its store cannot be read while it runs."""
    assert wait_for(lambda: c.log().count("telling the owner") == count, END_S), c.log()
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        return db.execute("SELECT node, message FROM cluster_events WHERE reason = 'AssayJobSlow' ORDER BY id").fetchall()


def test_an_owner_is_told_once_of_each_cause_of_a_run(controller):
    c, name = controller(), "research/moe-2"

    def sends(mark, cause, run=1, kind="job"):
        sent = send(c, trace(mark=mark, slowdown=1.54, kind=kind, cause=cause, host=None, sentence="Sequence lengths differ."), job=name, run=run)
        assert window(c, sent)["state"] == "analysed"
        return job(c, sent)["informed"]
    assert sends("1", "seqlen") == sends("2", "seqlen") == ["seqlen"]
    (told,) = told_owners(c, 1)
    assert told[0] == name and "1.54 times as long" in told[1] and "Sequence lengths differ." in told[1] and "no host is to blame" in told[1]
    c = controller()
    assert sends("3", "unclear", kind="unclear") == ["seqlen", "unclear"]
    assert sends("4", "seqlen", run=2) == ["seqlen"]
    assert [node for node, _ in told_owners(c, 2)] == [name] * 3


@pytest.mark.parametrize("body,state,reason", [
    (b"reject\n", "rejected", "line 2: rank 3 is there twice"),
    (b"fail\n", "failed", "out of luck"),
    (b"crash\n", "failed", "signal"),
    (b"flood\n", "failed", "its output is too long"),
    (b"answer\n{}\n", "failed", "summary: format"),
    (b"answer\n", "failed", "summary"),
    (trace(ranks=16385), "rejected", "16385 ranks"),
])
def test_what_is_wrong_with_a_trace_is_said_with_its_window_and_costs_only_that(controller, tmp_path, body, state, reason):
    c = controller()
    bad, good = send(c, body), send(c, trace())
    ended = window(c, bad)
    assert ended["state"] == state and reason in ended["reason"], ended
    assert window(c, good)["state"] == "analysed"
    gone = c.get(f"/v1/jobs/{bad.json['id']}/windows/{bad.json['window']}")
    assert gone.status == 410 and state in gone.json["detail"]
    assert wait_for(lambda: files(tmp_path) == [], END_S)
    assert c.metrics()[f'assay_windows_total{{result="{state}"}}'] == 1


def test_a_shape_that_is_sent_apart_reaches_the_analysis(controller):
    c = controller()
    body = b"shape\n" + json.dumps(summary(sentence="SHAPE")).encode() + b"\n"
    sent = send(c, body, meta="dp 4")
    assert window(c, sent)["state"] == "analysed" and job(c, sent)["sentence"] == "dp 4"
    other = send(c, body, meta="dp 8")  # another shape is another window
    assert other.status == 202 and other.json["window"] != sent.json["window"]


@pytest.mark.parametrize("arguments,headers,words", [
    ({}, {}, "job: expected a name"),
    ({"job": "a b"}, {}, "job: expected a name"),
    ({"job": "a" * 254}, {}, "job: expected a name"),
    ({"job": "a", "run": "0"}, {}, "run: expected a number"),
    ({"job": "a", "run": "x"}, {}, "run: expected a number"),
    ({"job": "a", "part": "1", "of": "513"}, {}, "of: expected a number from 1 to 512"),
    ({"job": "a", "part": "3", "of": "2"}, {}, "part: expected a number from 1 to 2"),
    ({"job": "a", "meta": "x" * 2049}, {}, "meta: expected YAML"),
    ({"job": "a"}, {"Assay-First-Step-Age": "1"}, "or neither"),
    ({"job": "a"}, {"Assay-First-Step-Age": "1", "Assay-Last-Step-Age": "2"}, "at least as old"),
    ({"job": "a"}, {"Assay-First-Step-Age": "nan", "Assay-Last-Step-Age": "2"}, "Assay-First-Step-Age: expected an age"),
    ({"job": "a"}, {"Assay-First-Step-Age": "1e9", "Assay-Last-Step-Age": "2"}, "Assay-First-Step-Age: expected an age"),
])
def test_what_cannot_be_asked_is_refused_in_a_sentence(controller, arguments, headers, words):
    c = controller()
    answer = c.call("POST", "/v1/traces?" + urllib.parse.urlencode(arguments), trace(), headers=headers)
    assert answer.status == 400 and words in answer.json["detail"], answer.body
    assert c.get("/v1/jobs").json["items"] == []


def test_an_empty_body_and_paths_of_nothing_are_refused(controller):
    c = controller()
    assert send(c, b"").status == 400
    for path in ("/v1/jobs/j1", "/v1/jobs/1", "/v1/jobs/jx/windows", "/v1/jobs/j1/windows/1", "/v1/jobs/j1/windows/x"):
        assert c.get(path).status == 404, path


def test_one_job_floods_nobody(controller):
    c = controller()
    answers = [send(c, trace(mark=str(i))) for i in range(100)]
    assert [a.status for a in answers].count(202) == AT_ONCE
    late = answers[-1]
    assert late.status == 429 and "more than one window a minute" in late.json["detail"] and int(late.headers["Retry-After"]) >= 1
    assert send(c, trace(mark="0")).status == 200  # a duplicate is recognized despite the rate limit
    assert send(c, trace(), job="another").status == 202


def test_a_token_for_one_job_speaks_for_no_other(controller, tmp_path):
    tokens = {"submit": 'role: submit, jobs: "research/*"', "read": "role: read", "operate": "role: operate", "node": "node: gpu-1"}
    file = tmp_path / "tokens.yaml"
    rows = [f"  - {{sha256: {hashlib.sha256(t.encode()).hexdigest()}, {role}}}\n" for t, role in tokens.items()]
    file.write_text("v: 1\ntokens:\n" + "".join(rows))
    c = controller("--tokens", file)
    assert send(c, trace(), token="submit").status == 202
    other = send(c, trace(), job="finance/llm", token="submit")
    assert other.status == 403 and "finance/llm" in other.json["detail"]
    assert send(c, trace(), token="read").status == 403 and send(c, trace(), token="node").status == 403
    assert send(c, trace(mark="2"), job="finance/llm", token="operate").status == 202
    assert c.get("/v1/jobs", token="submit").status == 403 and c.get("/v1/nodes", token="submit").status == 403
    assert len(c.get("/v1/jobs", token="read").json["items"]) == 2


def part_of(mark):
    return f"join {json.dumps(summary(sentence='PARTS parts', mark=mark))}\n".encode()


def test_parts_come_in_any_order_and_twice_and_are_analysed_once(controller, tmp_path):
    c = controller()
    first = send(c, part_of(3), part=3, of=3, ages=(300, 200))
    assert (first.status, first.json["parts"], first.json["of"], first.json["state"]) == (202, 1, 3, "queued")
    assert send(c, part_of(3), part=3, of=3).status == 200  # as after a lost answer
    assert send(c, part_of(1), part=1, of=3, ages=(310, 190)).json["parts"] == 2
    c.kill()
    c = controller("--listen", f"127.0.0.1:{c.port}")
    other = send(c, part_of(9), part=1, of=3)
    assert other.status == 409 and "part 1 of window 1 exists with other content" in other.json["detail"]
    other = send(c, part_of(9), part=1, of=2)
    assert other.status == 409 and "is still missing some of its 3 parts" in other.json["detail"]
    assert len(files(tmp_path)) == 2
    last = send(c, part_of(2), part=2, of=3, ages=(305, 195))
    assert last.status == 202 and last.json["window"] == first.json["window"]
    found = window(c, last)
    assert found["state"] == "analysed" and job(c, last)["sentence"] == "3 parts" and not found["coarse"]
    again = send(c, part_of(2), part=2, of=3)
    assert again.status == 200 and again.json["state"] == "analysed"
    assert wait_for(lambda: files(tmp_path) == [], END_S)
    assert c.metrics()['assay_windows_total{result="analysed"}'] == 1


def test_parts_of_other_steps_wait_until_the_window_is_closed(controller):
    """A rank had no sample in a round: parts of the next round do not complete its window."""
    c = controller()
    first = send(c, part_of(1), part=1, of=2, ages=(300, 290))
    for ages in ((240, 230), (360, 350)):
        other = send(c, part_of(2), part=2, of=2, ages=ages)
        assert other.status == 409 and "window 1 of this run covers other steps and is still missing some of its 2 parts" in other.json["detail"]
    last = send(c, part_of(2), part=2, of=2, ages=(295, 285))
    assert last.status == 202 and window(c, first)["state"] == "analysed"


@pytest.mark.once
def test_a_window_whose_parts_never_come_is_rejected_and_names_them(controller, tmp_path):
    c = controller()
    for part in (2, 6):
        sent = send(c, part_of(part), part=part, of=9)
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:  # shift it two minutes back
        db.execute("UPDATE trace_windows SET received_us = received_us - 121000000")
        db.commit()
    c = controller("--listen", f"127.0.0.1:{c.port}")
    found = window(c, sent)
    assert found["state"] == "rejected" and found["reason"] == "of its 9 parts, these never arrived: 1, 3-5, 7-9"
    assert wait_for(lambda: files(tmp_path) == [], END_S)
    assert send(c, part_of(1), part=1, of=9).json["parts"] == 1  # a new one begins


@pytest.mark.once
def test_killed_at_any_moment_each_window_ends_and_no_file_is_left(controller, tmp_path, full):
    kills = 60 if full else 12
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "3")))
    c = controller()
    taken = {}
    for i in range(kills):
        word = dice.choice(("answer", "reject", "fail"))
        answer = send(c, trace(word, mark=str(i)), job=f"job-{i}")
        assert answer.status == 202
        taken[i] = word
        threading.Event().wait(dice.random() * 0.2)
        c.kill()
        c = controller("--listen", f"127.0.0.1:{c.port}")
    ends = {"answer": "analysed", "reject": "rejected", "fail": "failed"}
    for i, word in taken.items():
        (found,) = c.get(f"/v1/jobs?name=job-{i}").json["items"]

        def one(found=found):
            (w,) = c.get(f"/v1/jobs/{found['id']}/windows").json["items"]
            return w if w["state"] in ENDS else None
        assert wait_for(one, END_S)["state"] == ends[word], word
    assert wait_for(lambda: files(tmp_path) == [], END_S)


def test_an_analysis_under_way_goes_with_its_controller_and_is_made_again(controller, build):
    c = controller()
    hold = build / "assay-attribute.wait"
    hold.touch()
    sent = send(c, trace("soon"))

    def held():
        return [p for p in os.listdir("/proc") if p.isdigit() and str(build / "assay-attribute") in command(p)]
    assert wait_for(held, END_S)
    assert c.stop()[0] == 0
    assert wait_for(lambda: not held(), END_S)
    hold.unlink()
    c = controller("--listen", f"127.0.0.1:{c.port}")
    assert window(c, sent)["state"] == "analysed"


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().replace("\0", " ")
    except OSError:
        return ""
