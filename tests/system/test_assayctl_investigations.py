# SPDX-License-Identifier: Apache-2.0
"""assayctl investigations, investigation: requests and output."""
import json

import pytest

from stub_jobs import detail, serve
from stub_lists import stub  # noqa: F401

HOST = {"node": "gpu-17", "boot": "b0", "class": "compute", "state": "testing", "sentence": "2 of 2 windows blame it", "by": None}
TEST = {"node": "gpu-17", "action": "812", "check": None, "ordered": "2026-11-26T14:06:00Z", "done": None, "result": None}


def one(**more):
    return {"id": 41, "job": "research/llm-7", "job_id": "j12", "run": 1, "state": "testing", "reason": "2 of 2 windows blame it",
            "sentence": "nothing has been found yet", "by": None, "hosts": [HOST], "tests": [TEST], "began": "2026-11-26T14:00:00Z",
            "acted": None, "ended": None, **more}


@pytest.fixture
def ctl(run, stub):
    return lambda *words: run("assayctl", *words, "--controller", stub.url)


def test_the_list_says_which_go_on(ctl, stub):
    over = one(id=40, state="withdrawn", ended="2026-11-26T13:00:00Z", sentence="operator ada: it is being moved")
    stub.list("/v1/investigations", [one(), over])
    shown = ctl("investigations").stdout
    head, first, note, second, other = shown.splitlines()[:5]
    assert head.split() == ["STATE", "ID", "BEGAN", "ENDED", "JOB", "HOSTS"]
    assert first.split()[:2] == ["testing", "41"] and first.split()[-2:] == ["research/llm-7", "gpu-17"] and "nothing has been found yet" in note
    assert second.split()[:2] == ["withdrawn", "40"] and "operator ada: it is being moved" in other
    assert shown.endswith("2 investigations, 1 in progress\n")
    assert [i["id"] for i in json.loads(ctl("investigations", "-o", "json").stdout)["items"]] == [41, 40]
    assert "items.1.state=withdrawn" in ctl("investigations", "-o", "kv").stdout
    stub.list("/v1/investigations", [])
    assert ctl("investigations").stdout == "no investigations\n"


def test_one_shows_its_hosts_tests_and_decision(ctl, stub):
    stub.answers["/v1/investigations/41"] = (200, one())
    shown = ctl("investigation", "41").stdout
    assert "investigation 41 of research/llm-7 (j12), run 1: testing\n" in shown
    lines = {line.split()[0]: line for line in shown.splitlines() if line}
    assert "gpu-17: testing (compute); 2 of 2 windows blame it" in lines["host"] and lines["tests"].endswith(": under way")
    assert lines["decision"].endswith("nothing has been found yet") and "ended" not in lines
    stub.answers["/v1/investigations/41"] = (200, one(state="withdrawn", ended="2026-11-26T15:00:00Z"))
    shown = ctl("investigation", "41").stdout
    assert "not waited for" in shown and "withdrawn, over" in shown
    assert ctl("investigation", "7").returncode == 1


def test_while_it_goes_on_it_says_what_would_help_its_job(ctl, stub):
    plan = {"sentence": "replace gpu-17: 13.28 s -> 10.25 s a step", "without": {"sentence": "without gpu-17 1 worker stops"}}
    stub.answers["/v1/investigations/41"] = (200, one())
    stub.answers["/v1/jobs/j12/plan"] = (200, plan)
    shown = ctl("investigation", "41").stdout
    assert "replace gpu-17: 13.28 s" in shown and "without gpu-17 1 worker stops" in shown
    stub.answers["/v1/investigations/41"] = (200, one(ended="2026-11-26T15:00:00Z"))
    assert "replace gpu-17" not in ctl("investigation", "41").stdout
    del stub.answers["/v1/jobs/j12/plan"]
    stub.answers["/v1/investigations/41"] = (200, one())
    done = ctl("investigation", "41")
    assert done.returncode == 0 and "decision" in done.stdout and "would help" not in done.stdout


@pytest.mark.parametrize("words", ["investigation 41 cancel", "investigation cancel 41"])
def test_it_is_withdrawn_with_the_word_on_either_side(ctl, stub, words):
    stub.answers["/v1/investigations/41/cancel"] = (200, {"id": "41", "sentence": "investigation 41 is withdrawn by operator ada: moved"})
    done = ctl(*words.split(), "-r", "moved")
    assert (done.returncode, done.stdout) == (0, "investigation 41 is withdrawn by operator ada: moved\n")
    ((path, sent),) = stub.sent
    assert path == "/v1/investigations/41/cancel" and sent["reason"] == "moved" and set(sent) <= {"reason", "by"}
    stub.answers["/v1/investigations/41/cancel"] = (409, {"detail": "investigation 41 is over: acquitted"})
    done = ctl(*words.split(), "-r", "moved")
    assert done.returncode == 1 and "is over: acquitted" in done.stderr


@pytest.mark.parametrize("words,line", [
    ("investigation", "investigation: no ID given"),
    ("investigation 41 cancel", "investigation cancel requires --reason"),
    ("investigation 41 stop", "unexpected argument 'stop'"),
    ("investigations 41", "unexpected argument '41'"),
])
def test_wrong_use_is_one_line(run, words, line):
    done = run("assayctl", *words.split())
    assert done.returncode == 2 and line in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_job_says_which_goes_on(ctl, stub):
    serve(stub, detail(), j12=detail(investigation=41))
    assert "`assayctl investigation 41`" in ctl("job", "j12").stdout
    serve(stub, detail(), j12=detail(investigation=None))
    assert "looked into" not in ctl("job", "j12").stdout


def test_a_rude_answer_is_shown_in_clean_words(ctl, stub):
    rude = {"id": "\x1b[2J", "job": 7, "state": "\x1b[31mx", "hosts": [{"node": "a\x07"}, 3], "tests": [None, {"node": "\x1b"}], "sentence": "\x1b", "began": "\x1b"}
    stub.answers["/v1/investigations/1"] = (200, rude)
    stub.list("/v1/investigations", [rude, {}])
    for words in (("investigation", "1"), ("investigations",)):
        done = ctl(*words)
        assert done.returncode == 0 and "\x1b" not in done.stdout and "\x07" not in done.stdout
