# SPDX-License-Identifier: Apache-2.0
"""assayctl diagnose: it shows the plan, asks for confirmation, and the progress is in the investigation."""
import json

import pytest

from stub_jobs import detail, job, serve
from stub_lists import stub  # noqa: F401

PATH = "/v1/jobs/j12/diagnose"
WORDS = ("diagnose", "--job", "research/llm-7", "--reason", "step time up 12 %")


def plan(id=None, mode="enforce", **more):
    return {"id": id, "mode": mode, "job": "research/llm-7", "job_id": "j12", "stops": True, "tests": 2, "rounds": 3,
            "hosts": [{"node": "gpu-08", "domain": None, "idle": False}, {"node": "gpu-09", "domain": "r1", "idle": True}],
            "sentence": "diagnosis of research/llm-7 advises stopping it, and tests 2 hosts", **more}


@pytest.fixture
def ctl(run, stub):
    serve(stub, job(), j12=detail())

    def ask(*words, says="", **answer):
        stub.answers[PATH] = (200, plan(**answer))
        return run("assayctl", *WORDS, *words, "--controller", stub.url, input=says, stdin=None)
    return ask


@pytest.mark.parametrize("says", ["y\n", "Y\n", "yes\n"])
def test_a_person_says_yes_and_it_begins(ctl, stub, says):
    done = ctl(says=says, id=41)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "stops the job, tests 2 hosts. Continue? [y/N] "
    assert "busy" in done.stdout and "gpu-08" in done.stdout and "idle" in done.stdout
    assert "investigation 41: diagnosis of research/llm-7" in done.stdout and "`assayctl investigation 41 --watch`" in done.stdout
    first, second = [body for path, body in stub.sent if path == PATH]
    assert first.pop("plan") is True and first == second and second["reason"] == "step time up 12 %" and set(second) <= {"reason", "by"}


@pytest.mark.parametrize("says", ["n\n", "\n", "", "yup\n", "y" * 40 + "\n"])
def test_anything_else_is_no(ctl, stub, says):
    done = ctl(says=says)
    assert done.returncode == 1 and "nothing was started: answer y, or give --yes" in done.stderr and done.stdout == ""
    assert [body["plan"] for _, body in stub.sent] == [True]


def test_with_yes_nobody_is_asked(ctl, stub):
    done = ctl("--yes", "-o", "json", id=41)
    assert (done.returncode, done.stderr) == (0, "") and json.loads(done.stdout)["id"] == 41
    assert ["plan" in body for _, body in stub.sent] == [True, False]


def test_a_job_that_stands_still_is_not_stopped(ctl):
    assert ctl(says="n\n", stops=False).stderr.startswith("tests 2 hosts. Continue? [y/N] ")


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_without_enforce_only_the_plan_is_shown(ctl, stub, words):
    done = ctl(*words, mode="observe", sentence="it would test 2 hosts; nothing is done: the mode is not enforce")
    assert done.returncode == 0 and "nothing is done: the mode is not enforce" in done.stdout and done.stderr == ""
    assert [body["plan"] for _, body in stub.sent] == [True]


def test_a_refusal_is_the_answer_no(run, stub):
    serve(stub, job(), j12=detail())
    stub.answers[PATH] = (409, {"detail": "investigation 41 of research/llm-7 is investigating it already"})
    done = run("assayctl", *WORDS, "--controller", stub.url)
    assert done.returncode == 1 and "is investigating it already" in done.stderr


@pytest.mark.parametrize("words,line", [
    (("diagnose",), "diagnose requires --reason"),
    (("diagnose", "-r", "x"), "diagnose requires --job"),
    (("diagnose", "llm-7", "-r", "x", "--job", "y"), "unexpected argument 'llm-7'"),
    (("jobs", "--yes"), "jobs has no --yes"),
])
def test_wrong_use_is_one_line(run, words, line):
    done = run("assayctl", *words)
    assert done.returncode == 2 and line in done.stderr and len(done.stderr.splitlines()) == 1


def test_its_investigation_shows_the_timeline(run, stub):
    stub.answers["/v1/investigations/41"] = (200, {
        "id": 41, "job": "research/llm-7", "job_id": "j12", "run": 1, "kind": "diagnosis", "state": "excluded", "reason": "slow", "by": None,
        "sentence": "exclude gpu-08; acquitted 15", "tests": [], "began": "2026-11-26T14:00:00Z", "acted": None, "ended": "2026-11-26T14:10:00Z",
        "hosts": [{"node": "gpu-08", "boot": "b0", "class": "unclear", "state": "excluded", "sentence": "gemm.rate of GPU 3 is low", "by": None}],
        "diagnosis": {"timeline": [{"at": "2026-11-26T14:00:00Z", "text": "operator ada asks for it: slow"},
                                   {"at": "2026-11-26T14:10:00Z", "text": "exclude gpu-08; \x1b[2Jacquitted 15"}, 3],
                      "next": {"at": "2026-11-26T15:00:00Z", "sentence": "run 2 without gpu-08: 8.99 s -> 8.31 s a step: \x1b[2Jfaster by 7.6 %"}}})
    shown = run("assayctl", "investigation", "41", "--controller", stub.url).stdout
    lines = [line for line in shown.splitlines() if line.startswith("diagnosis")]
    assert len(lines) == 2 and "operator ada asks for it" in lines[0] and "exclude gpu-08" in lines[1] and "\x1b" not in shown
    assert "gpu-08: excluded (unclear); gemm.rate of GPU 3 is low" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("verified")]
    assert "run 2 without gpu-08: 8.99 s -> 8.31 s a step" in line and "faster by 7.6 %" in line
