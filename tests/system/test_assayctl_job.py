# SPDX-License-Identifier: Apache-2.0
"""assayctl jobs, job: the output."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from stub_jobs import between, detail, heat, job, own_doing, serve, suspect, window
from stub_lists import stub  # noqa: F401


@pytest.fixture
def ctl(run, stub):
    return lambda *words, **more: run("assayctl", *words, "--controller", stub.url, **more)


@pytest.fixture
def on_terminal(build, environ, stub):
    """on_terminal(columns, words...): the output of assayctl on a terminal of this width."""

    def show(columns, *words):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
        env = {**environ, "TERM": "xterm", "ASSAY_CONTROLLER": stub.url}
        env.pop("NO_COLOR", None)
        process = subprocess.Popen([build / "assayctl", *words], stdout=slave, stderr=slave, env=env)
        os.close(slave)
        text = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the writer has exited
                break
            if not piece:
                break
            text += piece
        os.close(master)
        assert process.wait(60) == 0
        return text.decode().replace("\r", "")

    return show


def lines_of(text):
    """{label: text} of the lines with a label; a list if a label repeats."""
    found = {}
    for label, words in re.findall(r"^([a-z]+) {2,}(\S.*)$", text, re.M):
        found.setdefault(label, []).append(words)
    return found


def test_jobs_are_a_table_with_those_first_that_want_somebody(ctl, stub):
    serve(stub, own_doing(), job("good", "j1", state="healthy", cause=None, suspect=None, slowdown=1.02), job(),
          job("new", "j2", state="waiting", cause=None, suspect=None, slowdown=None, step_s=None, hosts=None, run=None))
    done = ctl("jobs")
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["JOB", "HOSTS", "RUN", "STEP", "SLOWDOWN", "CAUSE", "SUSPECT", "STATE"]
    assert rows[0].split() == ["research/llm-7", "16", "1", "8.99", "s", "1.09", "compute", "gpu-17", "suspected"]
    assert rows[1].split() == ["research/moe-2", "8", "1", "9.07", "s", "1.54", "seqlen", "-", "owner", "informed"]
    assert rows[2].split() == ["new", "-", "-", "-", "-", "-", "-", "waiting"] and rows[3].split()[0] == "good"
    assert rows[-1] == ("4 jobs: 1 suspected, 1 owner informed, 1 waiting, 1 healthy; research/llm-7: gpu-17, "
                        "slowdown 1.09 [1.07, 1.11]")
    assert stub.asked == ["/v1/jobs?limit=1000"]


def test_jobs_for_programs_and_the_first_few(ctl, stub):
    serve(stub, own_doing(), job())
    items = json.loads(ctl("jobs", "-o", "json").stdout)["items"]
    assert [i["job"] for i in items] == ["research/llm-7", "research/moe-2"]
    assert {"job", "id", "hosts", "run", "step_s", "slowdown", "cause", "suspect", "state"} <= items[0].keys()
    assert items[0]["slowdown"] == 1.09 and items[1]["suspect"] is None
    kv = dict(line.split("=", 1) for line in ctl("jobs", "-o", "kv", "--limit", "1").stdout.splitlines())
    assert kv["items.0.job"] == "research/llm-7" and "items.1.job" not in kv
    assert ctl("jobs", "-n1").stdout.splitlines()[-1].startswith("1 of 2 jobs: 1 suspected; ")


def test_a_state_of_tomorrow_comes_first(ctl, stub):
    serve(stub, job(), job("b", "j9", state="cordoned, waits for its drain"))
    rows = ctl("jobs").stdout.splitlines()
    assert rows[1].startswith("b ") and rows[1].endswith("cordoned, waits for its drain")


def test_no_job_yet(ctl, stub):
    serve(stub)
    done = ctl("jobs")
    assert (done.returncode, done.stdout) == (
        0, "no job has sent a trace to this controller yet; see `assayctl job submit`\n")


def test_a_job_is_its_heat_map_then_suspect_cause_decision_and_windows(ctl, stub):
    serve(stub, job(), own_doing(), j12=detail(latest=[window(9, state="rejected", reason="line 3: no 'optype'", slowdown=None, cause=None,
                                                              suspect=None, steps=None), window(8, coarse=True)]))
    done = ctl("job", "research/llm-7")
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert text.startswith("slowdown of each worker, dp by stage: 1.00 to 1.09\n"
                           "dp\\stage    0     1 \n"
                           "       0 1.00  1.00 \n"
                           "       1 1.00  1.00 \n"
                           "       2 1.00  1.00 \n"
                           "       3 1.00  1.09-  stage 1: gpu-17\n"
                           "slowdown:  [ ] below 1.03  [-] 1.03 to 1.10\n\n"), text
    said = lines_of(text)
    assert said["suspect"] == ["gpu-17 (dp 3 stage 1, ranks 56-63): share 0.94 [0.88, 0.99], gain 0.080 [0.060, 0.090] of the step, "
                               "2 of 2 windows; compute"]
    assert said["cause"] == ["compute: One worker is slow at computing: dp 3 stage 1 (ranks 56-63 on gpu-17)."]
    assert said["decision"] == ["probe: gpu-17 would be tested with gemm, gemm-load, memory"]
    assert said["windows"] == ["2 analysed, 1 rejected, 0 failed, 0 queued; the latest:"]
    assert re.search(r"^ +9 +1 +rejected +\d+\w ago +- +- +- +-\n    line 3: no 'optype'$", text, re.M)
    assert re.search(r"^ +8 +1 +analysed, coarse +\d+\w ago +64 +1\.09 \[1\.07, 1\.11\] +compute +gpu-17$", text, re.M)
    assert text.splitlines()[-1] == ("research/llm-7 (j12), run 1: 16 hosts, 8.99 s a step, slowdown 1.09 [1.07, 1.11]: suspected")
    assert stub.asked == ["/v1/jobs?name=research%2Fllm-7&limit=1000", "/v1/jobs/j12"], "a name has slashes, so paths carry ids"


def test_the_tests_of_a_suspect_have_a_line_each_and_one_that_lapsed_is_none(ctl, stub):
    tests = [{"node": "gpu-17", "action": "7", "check": None, "ordered": "2026-01-02T03:04:05.000Z", "done": "2026-01-02T03:05:05.000Z",
              "result": "it failed again"},
             {"node": "gpu-17", "action": "8", "check": "gemm.rate", "ordered": "2026-01-02T03:14:05.000Z", "done": None, "result": None}]
    serve(stub, job(), j12=detail(suspects=[suspect(tests=tests, lapsed=False)]))
    lines = lines_of(ctl("job", "research/llm-7").stdout)
    assert [re.sub(r"ordered .* ago", "ordered", t) for t in lines["tests"]] == [
        "gpu-17: all of the host, ordered: it failed again", "gpu-17: gemm.rate, ordered: under way"]
    serve(stub, job(), j12=detail(suspects=[suspect(lapsed=True)]))
    lines = lines_of(ctl("job", "research/llm-7").stdout)
    assert lines["suspect"] == ["nobody"] and lines["lapsed"][0].startswith("gpu-17")


def test_who_comes_late_has_a_line_where_it_is_known(ctl, stub):
    serve(stub, job(), j12=detail(lateness={"told": True, "sentence": "Slowest in its own work: rank 4 on gpu-1"}))
    assert lines_of(ctl("job", "research/llm-7").stdout)["lateness"] == ["Slowest in its own work: rank 4 on gpu-1"]
    for unknown in (None, {"told": False, "sentence": "Which rank is late is unknown"}):
        serve(stub, job(), j12=detail(lateness=unknown))
        assert "lateness" not in lines_of(ctl("job", "research/llm-7").stdout)


def test_the_jobs_own_doing_blames_no_host(ctl, stub):
    serve(stub, own_doing(), j13=detail(**{**own_doing(), "windows": {}}, suspects=[], heat=heat(slow=((0, 0, 1.31), (1, 0, 1.5))), latest=[],
                                        sentence="forward/backward r = 0.99; no host explains more than 0.05",
                                        decision={"action": "owner", "reason": "balance sequence lengths. No host was tested."}))
    said = lines_of(ctl("job", "research/moe-2").stdout)
    assert said["suspect"] == ["nobody"]
    assert said["cause"] == ["seqlen: forward/backward r = 0.99; no host explains more than 0.05"]
    assert said["decision"] == ["owner: balance sequence lengths. No host was tested."]


def test_who_is_only_the_slowest_is_not_called_a_suspect(ctl, stub):
    serve(stub, job(), j12=detail(suspects=[
        suspect(hosts=["gpu-2"], counts=False, hits=0, of=1, gain=between(0.02, -0.01, 0.04), ranks=[8, 8]),
        suspect(hosts=["gpu-3", "gpu-4"], identifiable=False, counts=False, hits=0, of=0, stage=None, share=between(0.5, None, None))]))
    said = lines_of(ctl("job", "research/llm-7").stdout)
    assert said["suspect"] == ["nobody"] and "stage 1: gpu-2" not in ctl("job", "research/llm-7").stdout
    assert said["slowest"][0] == ("gpu-2 (dp 3 stage 1, rank 8): share 0.94 [0.88, 0.99], gain 0.020 [-0.010, 0.040] of the step, 0 of 1 window; "
                                  "compute; too little or too uncertain to suspect it: some host is always slowest")
    assert said["slowest"][1] == ("gpu-3, gpu-4 (dp 3, ranks 56-63): share 0.50, gain 0.080 [0.060, 0.090] of the step, 0 of 0 window; compute; "
                                  "no other host does the same work: a heavy stage looks the same")


@pytest.mark.parametrize("speed,words", [
    ({"now": 0.908, "tested": 0.991}, "; it computes at 91 % of what is usual for its model, and its own tests ran at 99 %"),
    ({"now": 0.908, "tested": None}, "; it computes at 91 % of what is usual for its model"),
    ({"now": None, "tested": 0.991}, ""), ({"now": None, "tested": None}, ""), (None, "")])
def test_how_fast_a_suspect_is_stands_with_it_where_it_is_known(ctl, stub, speed, words):
    serve(stub, job(), j12=detail(suspects=[suspect(speed=speed)]))
    (line,) = lines_of(ctl("job", "research/llm-7").stdout)["suspect"]
    assert line.endswith("2 of 2 windows; compute" + words)


def test_the_scale_holds_every_value_and_what_is_not_known_has_a_sign(ctl, stub):
    values = [[0.97, 1.03, 1.0999, 1.10], [1.2499, 1.25, 1.5, 212.4], [None, None, "x", 1.0]]
    serve(stub, job(), j12=detail(heat={"rows": 3, "columns": 4, "row": "dp", "column": "stage", "values": values}))
    text = ctl("job", "research/llm-7").stdout
    assert text.startswith("slowdown of each worker, dp by stage: 0.97 to 212\n")
    rows = [line.split() for line in text.splitlines()[2:5]]
    assert rows == [["0", "0.97", "1.03-", "1.10=", "1.10="], ["1", "1.25#", "1.25#", "1.50@", "212@"], ["2", ".", ".", ".", "1.00"]]
    legend = text.splitlines()[5]
    assert legend == "slowdown:  [ ] below 1.03  [-] 1.03 to 1.10  [=] 1.10 to 1.25  [#] 1.25 to 1.50  [@] 1.50 and more  . not known"


def test_a_large_map_is_pooled_and_loses_no_slow_worker(ctl, stub):
    serve(stub, job(), j12=detail(heat=heat(128, 32, slow=((77, 30, 1.3),)), suspects=[suspect(dp=77, stage=30)]))
    text = ctl("job", "research/llm-7").stdout
    rows = text.splitlines()
    assert rows[0] == "slowdown of each worker, dp by stage: 1.00 to 1.30; a cell is the slowest of up to 4 of them"
    assert len([r for r in rows if re.match(r" +\d+-\d+ ", r)]) == 32
    row = next(r for r in rows if "1.30#" in r)
    assert row.split()[0] == "76-79" and row.endswith("stage 30: gpu-17") and text.count("1.30#") == 1


def test_no_map_without_a_value(ctl, stub):
    for none in (None, {}, {"values": []}, {"values": [[None]]}, {"values": "x"}, {"rows": 3}):
        serve(stub, job(), j12=detail(heat=none))
        assert ctl("job", "research/llm-7").stdout.startswith("suspect     gpu-17")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_has_colours_and_no_line_is_too_long(on_terminal, stub, columns):
    serve(stub, job(), j12=detail(heat=heat(16, 32, slow=((3, 1, 1.09),))))
    drawn = on_terminal(columns, "job", "research/llm-7")
    assert "\x1b[38;5;16;48;5;186m" in drawn and "\x1b[1;31msuspect" in drawn
    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    # The name of a suspect is beside the cells, and some columns of the table are never cut.
    long = [line for line in plain.splitlines() if len(line) > columns and not re.search(r"gpu-17|WINDOW|^\(cut to", line)]
    assert long == [], plain


def test_names_that_are_not_known(ctl, stub):
    serve(stub, job(), own_doing(), job("other", "j9"))
    for name, words in (("research/llm-8", "unknown job 'research/llm-8'; did you mean research/llm-7, research/moe-2?"),
                        ("x" * 40, "`assayctl jobs` lists the 3 known jobs")):
        done = ctl("job", name)
        assert (done.returncode, done.stdout) == (1, "") and words in done.stderr and done.stderr.count("\n") == 1


def test_two_jobs_of_one_name_are_told_apart_by_id(ctl, stub):
    serve(stub, job(), job(id="j19", hosts=8, run=3), j19=detail(id="j19"))
    done = ctl("job", "research/llm-7")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert "2 jobs are called 'research/llm-7': j12 (16 hosts, run 1), j19 (8 hosts, run 3); give the id instead" in done.stderr
    assert "(j19), run 1" in ctl("job", "j19").stdout


def test_an_older_controller_is_told(ctl, stub, tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"type":"meta","format":"optrace/1"}\n')
    for words in (["jobs"], ["job", "x"], ["job", "j1", "--windows"], ["job", "submit", trace, "--job", "x"]):
        done = ctl(*words)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == "assayctl: this controller is too old: it does not know jobs\n"


def test_the_windows_of_a_job(ctl, stub):
    serve(stub, job(), j12=detail(latest=[window(9, state="queued", steps=None, slowdown=None, cause=None, suspect=None),
                                          window(8, state="failed", reason="it took more than 60 s of the processor"), window(7)]))
    done = ctl("job", "research/llm-7", "--windows")
    assert done.returncode == 0
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["WINDOW", "RUN", "STATE", "CAME", "STEPS", "SLOWDOWN", "CAUSE", "SUSPECT"]
    assert rows[0].split()[:3] == ["9", "1", "queued"] and rows[2] == "    it took more than 60 s of the processor"
    assert rows[-1] == "research/llm-7: 3 windows"
    assert [w["id"] for w in json.loads(ctl("job", "research/llm-7", "--windows", "-n", "2", "-o", "json").stdout)["items"]] == [9, 8]
    done = ctl("job", "research/llm-7", "--limit", "2")
    assert done.returncode == 2 and "--limit requires --windows" in done.stderr


def test_a_rude_answer_is_shown_in_clean_words(ctl, stub):
    rude = "\x1b[31mred\u202e\n"
    text = {key: rude for key in ("job", "id", "cause", "suspect", "state", "sentence")}
    serve(stub, {**job(), **text}, job("a", "j12"),
          j12={**detail(), **text, "decision": {"action": rude, "reason": rude}, "suspects": [suspect(hosts=[rude, 3], **{"class": rude}), 7, {}],
               "heat": {**heat(), "row": rude, "column": rude}, "latest": [{**window(), "state": rude, "reason": rude, "cause": rude}, 3, {}],
               "windows": 3})
    for words in (["jobs"], ["job", "a"], ["job", "j12", "--windows"]):
        for output in ("table", "json", "kv"):
            done = ctl(*words, "-o", output)
            assert "\x1b" not in done.stdout and "\u202e" not in done.stdout, (words, output)
            assert done.returncode == 0 or "item 1 of the list is not an object" in done.stderr
    serve(stub, {}, {"job": 3, "hosts": "x"}, job("a"), j12={"latest": []})
    assert ctl("jobs").returncode == 0 and ctl("job", "j12").returncode == 0
    stub.answers["/v1/jobs"] = (200, {"items": [{"job": "a", "id": 3}], "next": None})
    done = ctl("job", "a")
    assert done.returncode == 3 and "the job has no id; is this a controller?" in done.stderr


def test_a_job_is_watched(build, environ, stub, wait_until):
    serve(stub, job(), j12=detail())
    process = subprocess.Popen([build / "assayctl", "jobs", "--watch=200ms", "--controller", stub.url], stdout=subprocess.PIPE, text=True, env=environ)
    try:
        wait_until(lambda: len(stub.asked) > 1)
        serve(stub, job(state="healthy", suspect=None))
        seen = ""
        for line in process.stdout:
            seen += line
            if re.search(r"research/llm-7 \*.*healthy", line):
                break
        assert seen.count("--- 20") == 2, seen
    finally:
        process.terminate()
        process.communicate(timeout=60)


def outlook(**more):
    """A prediction whose host was replaced, and which was compared with the next run."""
    p = {"id": 3, "run": 1, "window": 8, "class": "compute", "hosts": ["gpu-17"], "before_s": 8.99, "after_s": 8.31, "low_s": 8.27,
         "high_s": 8.36, "restart_s": 600, "pays_steps": 883, "pays_s": 7338, "made": "2026-11-26T12:01:00Z", "state": "open",
         "trust": {"held": 9, "checked": 10, "poor": False}}
    verified = {**p, "state": "held", "by_run": 2, "measured_s": 8.33, "steps": 64, "instead": ["gpu-31"], "checked": "2026-11-26T14:00:00Z"}
    advice = {"id": 77, "advice": "stop", "exclude": ["gpu-17"], "replacements": ["gpu-31"], "reason": "because of \x1b[31mgpu-17", "state": "open",
              "expires": "2026-11-26T12:16:00Z", "made": "2026-11-26T12:01:00Z", "acknowledged": None, "run": 1, "prediction": 3}
    return detail(**{"prediction": p, "verified": verified, "advice": advice, **more})


def test_a_job_says_what_was_predicted_how_it_came_and_what_is_advised(ctl, stub):
    serve(stub, job(), j12=outlook())
    found = lines_of(ctl("job", "j12").stdout)
    assert found["prediction"][0].startswith("without gpu-17: 8.99 s -> 8.31 s a step [8.27, 8.36]; a restart (10 min)")
    assert found["verified"] == ["run 2, gpu-31 for gpu-17: 8.33 s over 64 steps: held (compute: 9 of 10)"]
    assert found["advice"][0].startswith("77: stop, not acknowledged yet, valid until 2026-11-26T12:16:00Z") and "\x1b" not in found["advice"][0]
    serve(stub, job(), j12=outlook(verified={**outlook()["verified"], "state": "failed", "instead": None, "trust": {"held": 4, "checked": 10, "poor": True}},
                                   advice={**outlook()["advice"], "state": "expired"}, prediction=None))
    text = " ".join(ctl("job", "j12").stdout.split())
    assert "run 2, without gpu-17: 8.33 s over 64 steps: did not hold (compute: 4 of 10; too few to cordon a host for)" in text
    assert "77: stop, expired without an answer" in text
    serve(stub, job(), j12=detail())  # an older controller, without any
    assert not {"prediction", "verified", "advice"} & set(lines_of(ctl("job", "j12").stdout))


@pytest.mark.parametrize("form,expected", [
    ("slurm", "--exclude=gpu-03,gpu-17\n"),
    ("file", "gpu-03\ngpu-17\n"),
    ("kube", "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n        - matchExpressions:\n"
             '            - {key: kubernetes.io/hostname, operator: NotIn, values: ["gpu-03","gpu-17"]}\n'),
])
def test_the_hosts_to_leave_out_are_printed_as_launchers_take_them(ctl, stub, form, expected):
    serve(stub, job(), j12=outlook(suspects=[suspect(hosts=["gpu-03"], action="evict"), suspect(hosts=["gpu-04"], action="probe")]))
    said = ctl("job", "research/llm-7", "--exclude-as", form)
    assert (said.returncode, said.stdout, said.stderr) == (0, expected, "")
    assert json.loads(ctl("job", "j12", "--exclude-as", form, "-o", "json").stdout) == {
        "job": "research/llm-7", "id": "j12", "as": form, "exclude": ["gpu-03", "gpu-17"]}
    serve(stub, job(), j12=detail())
    said = ctl("job", "j12", "--exclude-as", form)
    assert (said.returncode, said.stdout) == (0, "")


def test_what_cannot_be_a_host_is_not_passed_on_to_a_launcher(ctl, stub):
    serve(stub, job(), j12=outlook(advice={**outlook()["advice"], "exclude": ["gpu-17 --wrap=evil"]}))
    said = ctl("job", "j12", "--exclude-as", "slurm")
    assert said.returncode == 3 and said.stdout == "" and len(said.stderr.splitlines()) == 1
    for wrong in (("--exclude-as", "lsf"), ("--exclude-as", "file", "--windows")):
        said = ctl("job", "j12", *wrong)
        assert said.returncode == 2 and len(said.stderr.splitlines()) == 1, said
