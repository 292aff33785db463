# SPDX-License-Identifier: Apache-2.0
"""assay run, black box: its output, saved state and exit status for any probes and files."""
import json
import os
import re
import signal
import subprocess

import pytest
from conftest import sample
from processes import gone

ESCAPE = "\033"

# The lines of a probe that lead to each verdict.
BRINGS = {
    "pass": sample(),
    "warn": sample(value=0.0, ok=False, severity="warn"),
    "fail": sample(value=0.0, ok=False),
    "inconclusive": sample(value=None, state="busy"),
}

# Exit status by style and verdict; "usage" is for wrong arguments.
EXITS = {
    "assay": {"pass": 0, "warn": 0, "fail": 1, "inconclusive": 3, "usage": 2},
    "nhc": {"pass": 0, "warn": 0, "fail": 1, "inconclusive": 0, "usage": 2},
    "nagios": {"pass": 0, "warn": 1, "fail": 2, "inconclusive": 3, "usage": 3},
    "npd": {"pass": 0, "warn": 0, "fail": 1, "inconclusive": 2, "usage": 2},
}

NUMBER = (int, float)
TEXT_OR_NONE = (str, type(None))
REPORT = {"v": int, "kind": str, "node": str, "boot_id": str, "seq": int, "time": str, "profile": str, "agent": str,
          "sku": TEXT_OR_NONE, "topology": TEXT_OR_NONE, "env": dict, "duration_s": NUMBER, "samples": list, "problems": list}
VERDICT = {"v": int, "kind": str, "node": str, "time": str, "seq": int, "profile": str, "verdict": str, "sentence": str,
           "items": list}
ITEM = {"check": str, "subject": str, "verdict": str, "value": (*NUMBER, type(None)), "unit": TEXT_OR_NONE,
        "expected": (*NUMBER, type(None)), "floor": (*NUMBER, type(None)), "source": str, "n": int, "sentence": str}
SAMPLE = {"v": int, "check": str, "subject": str, "value": (*NUMBER, type(None)), "better": str,
          "ok": (bool, type(None)), "state": str}
STATES = ("measured", "busy", "foreign-traffic", "set-up", "timeout", "aborted")
CODES = ("timeout", "crashed", "exit", "garbage", "too-much", "empty", "not-executable", "not-applicable", "set-up", "busy")
SOURCES = ("fleet", "sku", "history", "peers", "self-evident")
WEIGHT = ["pass", "inconclusive", "warn", "fail"]


def check_types(what, value, types):
    for key, kind in types.items():
        assert key in value, f"{what}: no {key}"
        assert isinstance(value[key], kind), f"{what}.{key}: {value[key]!r}"


def check_run(run):
    """Checks the object of `run -o json` field by field."""
    assert (run["v"], run["kind"]) == (1, "run")
    report, verdict = run["report"], run["verdict"]
    check_types("report", report, REPORT)
    assert (report["v"], report["kind"]) == (1, "report")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", report["time"])
    for s in report["samples"]:
        check_types("sample", s, SAMPLE)
        assert s["state"] in STATES
        if s["state"] == "measured":
            assert isinstance(s["unit"], str)
        else:
            assert s["value"] is None and s["ok"] is None
    for p in report["problems"]:
        assert isinstance(p["probe"], str) and p["code"] in CODES
    check_types("verdict", verdict, VERDICT)
    assert (verdict["v"], verdict["kind"]) == (1, "verdict")
    assert (verdict["node"], verdict["seq"]) == (report["node"], report["seq"])
    for item in verdict["items"]:
        check_types("item", item, ITEM)
        assert item["source"] in SOURCES
    levels = [WEIGHT.index(item["verdict"]) for item in verdict["items"]]
    assert levels == sorted(levels, reverse=True), "worst first"
    assert verdict["verdict"] == (WEIGHT[max(levels)] if levels else "inconclusive")
    return report, verdict


def kept(environ, name):
    with open(os.path.join(environ["ASSAY_STATE_DIR"], name)) as f:
        return json.load(f)


def state_files(environ):
    return sorted(os.listdir(environ["ASSAY_STATE_DIR"]))


def test_quick_on_this_machine_is_a_valid_run(run, environ):
    done = run("assay", "run", "--profile", "quick", "--busy", "run", "-o", "json")
    report, verdict = check_run(json.loads(done.stdout))
    assert done.returncode == EXITS["assay"][verdict["verdict"]]
    assert report["seq"] == 1 and report["profile"] == "quick"
    assert report["env"]["kernel"] == os.uname().release
    with open("/proc/sys/kernel/random/boot_id") as f:
        assert report["boot_id"] == f.read().strip()
    last = kept(environ, "last/quick.json")
    assert (last["report"], last["verdict"]) == (report, verdict)
    merged = kept(environ, "verdict.json")
    assert merged["items"] == verdict["items"] and merged["profile"] == "quick"


@pytest.mark.parametrize("style", EXITS)
@pytest.mark.parametrize("brought", BRINGS)
def test_exit_status_by_style(run, says, profiles, style, brought):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS[brought])}])
    done = run("assay", "run", "--profiles", file, "--exit-style", style)
    assert done.returncode == EXITS[style][brought], done.stdout + done.stderr
    assert done.stderr == ""
    if style == "nhc" and brought != "fail":
        assert done.stdout == ""
    elif style != "assay":
        assert done.stdout.count("\n") == 1
    if style == "nagios":
        word = {"pass": "OK", "warn": "WARNING", "fail": "CRITICAL", "inconclusive": "UNKNOWN"}[brought]
        assert done.stdout.startswith(f"ASSAY {word} - ")


@pytest.mark.parametrize("style", EXITS)
def test_exit_status_of_wrong_use_by_style(run, style):
    for args in (["--profiles", "/nowhere"], ["--profile", "nosuch"], ["--budget", "-1s"], ["--no-such-option"]):
        done = run("assay", "run", "--exit-style", style, *args)
        assert done.returncode == EXITS[style]["usage"], args
        assert done.stdout == "" and done.stderr != ""


BAD_FILES = {
    # name: (text, the message after "FILE: ")
    "unknown-key": ("v: 1\nprofiles: {q: {budget: 1s, probes: [{name: a, budget: 1s, tempo: 3}]}}",
                    "profiles.q.probes[0].tempo: unknown key"),
    "wrong-type": ("v: 1\nprofiles: {q: {budget: [1], probes: []}}", "profiles.q.budget: expected a duration"),
    "negative-budget": ("v: 1\nprofiles: {q: {budget: -5s, probes: [{name: a, budget: 1s}]}}", "profiles.q.budget: '-5s'"),
    "empty": ("", "empty"),
    "not-yaml": ("v: [1", "line "),
    "no-object": ("3", "expected an object"),
    "too-little-budget": ("v: 1\nprofiles: {q: {budget: 1s, probes: [{name: a, budget: 2s}]}}",
                          "profiles.q.budget: its probes need 2s, more than 1s"),
    "anchors": ("v: 1\nprofiles: {q: &a {budget: 1s, probes: [*a]}}", "line 2"),
    "not-utf8": (b"v: 1\nprofiles: \xff\xfe\n", "byte 16: invalid leading UTF-8 octet"),
}


def refused(done, path, says_what, environ):
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(f"{path}: {says_what}"), done.stderr
    assert state_files(environ) == [], "nothing is changed"


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_profiles_file_is_one_line_with_the_place(run, environ, tmp_path, name):
    text, what = BAD_FILES[name]
    path = tmp_path / "bad.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(run("assay", "run", "--profiles", path), path, what, environ)


@pytest.mark.parametrize("option", ["--profiles", "--policy", "--sku"])
def test_directory_huge_and_absent_files_are_refused(run, environ, tmp_path, option):
    huge = tmp_path / "huge.yaml"
    with open(huge, "wb") as f:
        f.truncate(100 << 20)
    refused(run("assay", "run", option, tmp_path), tmp_path, "Is a directory", environ)
    refused(run("assay", "run", option, huge), huge, "larger than 1048576 bytes", environ)
    refused(run("assay", "run", option, tmp_path / "absent"), tmp_path / "absent", "No such file", environ)


@pytest.mark.parametrize("option", ["--policy", "--sku"])
def test_policy_and_sku_files_are_at_least_checked(run, environ, tmp_path, option):
    path = tmp_path / "f.yaml"
    for text, what in (("", "empty"), ("- 1\n", "expected an object"), ("v: 7\n", "v: expected 1"), ("v: 1\nx: 2\n", "x: unknown key")):
        path.write_text(text)
        refused(run("assay", "run", option, path), path, what, environ)


@pytest.mark.parametrize("name", ["host.json", "host.xml"])
def test_a_topology_that_somebody_names_is_checked(run, environ, tmp_path, name):
    path = tmp_path / name
    path.write_text("{")
    done = run("assay", "run", "--profile", "passive", env={"ASSAY_TOPOLOGY": str(path)})
    if "no hwloc" in run("assay", "topology").stderr and name.endswith("xml"):
        pytest.skip("built without hwloc")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{path}: ") and done.stderr.count("\n") == 1
    assert not os.listdir(environ["ASSAY_STATE_DIR"])


def test_words_of_kv(run, says, profiles):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["fail"])}])
    done = run("assay", "run", "--profiles", file, "-o", "kv")
    lines = done.stdout.splitlines()
    assert all(re.match(r"[^=]+=", line) for line in lines)
    for expected in ("kind=run", "verdict.verdict=fail", "verdict.items.0.check=test.rate", "report.samples.0.ok=false"):
        assert expected in lines
    assert done.returncode == 1


def test_seq_increases_and_is_taken_only_by_runs(run, says, profiles, environ):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    seqs = []
    for _ in range(3):
        seqs.append(json.loads(run("assay", "run", "--profiles", file, "-o", "json").stdout)["report"]["seq"])
        run("assay", "run", "--profile", "nosuch")
    assert seqs == [1, 2, 3]
    assert kept(environ, "verdict.json")["seq"] == 3


def test_no_state_directory_is_one_line_and_the_run_goes_on(run, says, profiles, tmp_path):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    (tmp_path / "plain").write_text("")
    done = run("assay", "run", "--profiles", file, "-o", "json", env={"ASSAY_STATE_DIR": str(tmp_path / "plain" / "state")})
    report, _ = check_run(json.loads(done.stdout))
    assert done.returncode == 0 and report["seq"] == 0
    assert done.stderr.count("\n") == 1 and "plain" in done.stderr and "this run is not stored" in done.stderr


def test_a_broken_seq_file_is_never_started_again(run, says, profiles, environ):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    seq = os.path.join(environ["ASSAY_STATE_DIR"], "seq")
    with open(seq, "w") as f:
        f.write("what")
    done = run("assay", "run", "--profiles", file, "-o", "json")
    assert json.loads(done.stdout)["report"]["seq"] == 0 and seq in done.stderr
    with open(seq) as f:
        assert f.read() == "what"


def test_a_passive_run_never_replaces_what_quick_found(run, says, profiles, environ):
    state = says("s", sample(check="host.state", ok=True))
    worse = says("s2", sample(check="host.state", ok=False))
    gemm = says("g", sample(check="gemm.rate", subject="cpu:0", ok=False), sample(check="gemm.rate", subject="cpu:1"))
    passive = {"name": "s", "exec": state, "active": False}
    file = profiles(passive=[passive], quick=[passive, {"name": "g", "exec": gemm}])
    run("assay", "run", "--profiles", file, "--profile", "quick")
    quick = kept(environ, "verdict.json")
    file = profiles(passive=[{"name": "s", "exec": worse, "active": False}])
    run("assay", "run", "--profiles", file, "--profile", "passive")
    merged = kept(environ, "verdict.json")
    by_key = {(i["check"], i["subject"]): i for i in merged["items"]}
    assert by_key["gemm.rate", "cpu:0"]["verdict"] == "fail"
    assert by_key["gemm.rate", "cpu:1"]["verdict"] == "pass"
    assert by_key["host.state", "cpu:0"]["verdict"] == "fail", "the newest item"
    assert (merged["profile"], merged["time"], merged["seq"]) == ("quick", quick["time"], quick["seq"])
    assert len(by_key) == len(merged["items"]) == 3


def test_the_opinion_of_the_fleet_stays_in_verdict_json(run, says, profiles, environ):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    run("assay", "run", "--profiles", file)
    path = os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json")
    verdict = kept(environ, "verdict.json")
    verdict["fleet"] = {"verdict": "fail", "expires": "2030-01-01T00:00:00Z"}
    with open(path, "w") as f:
        json.dump(verdict, f)
    run("assay", "run", "--profiles", file)
    assert kept(environ, "verdict.json")["fleet"] == verdict["fleet"]


def test_a_torn_verdict_or_a_foreign_one_is_replaced(run, says, profiles, environ):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    run("assay", "run", "--profiles", file)
    foreign = kept(environ, "last/quick.json")
    foreign["verdict"]["node"] = "elsewhere"
    foreign["verdict"]["items"][0]["check"] = "foreign.rate"
    with open(os.path.join(environ["ASSAY_STATE_DIR"], "last", "full.json"), "w") as f:
        json.dump(foreign, f)
    with open(os.path.join(environ["ASSAY_STATE_DIR"], "verdict.json"), "w") as f:
        f.write('{"v":1,"kind":"verd')
    done = run("assay", "run", "--profiles", file)
    assert done.returncode == 0 and done.stderr == ""
    assert [i["check"] for i in kept(environ, "verdict.json")["items"]] == ["test.rate"]


def test_probes_named_one_by_one(run, says, profiles, environ):
    a, b = says("a", sample(check="a.rate")), says("b", sample(check="b.rate"))
    file = profiles(quick=[{"name": "a", "exec": a}], full=[{"name": "b", "exec": b}])
    done = run("assay", "run", "--profiles", file, "--probe", "b", "--probe", "a", "-o", "json")
    report, _ = check_run(json.loads(done.stdout))
    assert [s["check"] for s in report["samples"]] == ["b.rate", "a.rate"]
    assert report["profile"] == "probes"
    assert os.listdir(os.path.join(environ["ASSAY_STATE_DIR"], "last")) == ["probes.json"]
    unknown = run("assay", "run", "--profiles", file, "--probe", "nosuch")
    assert unknown.returncode == 2 and "nosuch" in unknown.stderr


def test_a_probe_of_the_suite_that_is_not_built_changes_nothing(run, says, tmp_path):
    path = tmp_path / "p.yaml"
    probe = says("p", BRINGS["pass"])
    path.write_text(f"v: 1\nprofiles: {{quick: {{budget: 9s, probes: [{{name: loopback, budget: 1s}}, "
                    f"{{name: p, exec: {probe}, budget: 1s}}]}}}}\n")
    (tmp_path / "none").mkdir()
    done = run("assay", "run", "--profiles", path, "-o", "json", env={"ASSAY_PROBE_DIR": str(tmp_path / "none")})
    report, verdict = check_run(json.loads(done.stdout))
    assert report["problems"] == [{"probe": "loopback", "code": "not-applicable", "detail": "not built here", "stderr": ""}]
    assert verdict["verdict"] == "pass"


def test_a_missing_program_of_others_is_not_executable(run, profiles, tmp_path):
    file = profiles(quick=[{"name": "x", "exec": tmp_path / "absent"}])
    report, verdict = check_run(json.loads(run("assay", "run", "--profiles", file, "-o", "json").stdout))
    assert [p["code"] for p in report["problems"]] == ["not-executable"]
    assert verdict["verdict"] == "inconclusive"


def test_budgets_and_busy_are_handed_on(run, script, profiles, tmp_path):
    probe = script("p", f"echo \"$@\" >> {tmp_path}/args\necho '{sample()}'\n")
    file = profiles(budget="20s", quick=[{"name": "p", "exec": probe, "budget": "10s", "args": ["--own", "x y"]}])
    run("assay", "run", "--profiles", file)
    run("assay", "run", "--profiles", file, "--budget", "4s", "--busy", "run")
    first, second = (tmp_path / "args").read_text().splitlines()
    assert "--own x y" in first and "--budget 10" in first and "--busy skip" in first
    assert "--budget 2" in second and "--busy run" in second, "a fifth of the time for each"


def test_a_run_ends_within_its_budget(run, script, profiles):
    probe = script("p", "exec sleep 600\n")
    file = profiles(quick=[{"name": "p", "exec": probe, "budget": "50s"}])
    done = run("assay", "run", "--profiles", file, "--budget", "1s", "-o", "json", timeout=30)
    report, _ = check_run(json.loads(done.stdout))
    assert [p["code"] for p in report["problems"]] == ["timeout"]
    assert done.returncode == 3


def test_disabled_stops_everything(run, says, profiles, environ):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    with open(os.path.join(environ["ASSAY_CONF_DIR"], "disabled"), "w"):
        pass
    done = run("assay", "run", "--profiles", file)
    assert done.returncode == 3 and done.stdout == "" and "disabled" in done.stderr
    assert state_files(environ) == []


@pytest.mark.parametrize("times", [1, 200])  # less and more than a buffer holds
@pytest.mark.parametrize("output", ["table", "json", "kv"])
def test_a_result_that_cannot_be_written_is_said(run, says, profiles, output, times):
    file = profiles(quick=[{"name": "p", "exec": says("p", *[sample(subject=f"cpu:{i}") for i in range(times)])}])
    with open("/dev/full", "w") as full:
        done = run("assay", "run", "--profiles", file, "-o", output, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 2 and done.stderr.count("cannot write the result") == 1


def test_report_hands_each_run_to_the_spool(run, says, profiles, environ):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["fail"])}])
    for seq in (1, 2):
        assert run("assay", "run", "--profiles", file, "--report").returncode == 1
        report = kept(environ, f"spool/{seq}.json")
        check_types("report", report, REPORT)
        assert report["seq"] == seq and report["samples"]


def test_a_report_that_cannot_be_kept_is_a_problem_of_it(run, says, profiles, tmp_path):
    file = profiles(quick=[{"name": "p", "exec": says("p", BRINGS["pass"])}])
    (tmp_path / "plain").write_text("")
    done = run("assay", "run", "--profiles", file, "-o", "json", "--report", env={"ASSAY_STATE_DIR": str(tmp_path / "plain" / "state")})
    value = json.loads(done.stdout)
    assert done.returncode == 3 and value["verdict"]["verdict"] == "inconclusive"
    assert [(p["probe"], p["code"]) for p in value["report"]["problems"]] == [("state", "set-up")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_clean(build, environ, script, profiles, tmp_path, wait_until, number):
    probe = script("p", f"echo $$ > {tmp_path}/pid.tmp; mv {tmp_path}/pid.tmp {tmp_path}/pid; exec sleep 600\n")
    file = profiles(budget="90s", quick=[{"name": "p", "exec": probe, "budget": "60s"}])
    child = subprocess.Popen([str(build / "assay"), "run", "--profiles", str(file)], env=environ, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = int(wait_until((tmp_path / "pid").exists) and (tmp_path / "pid").read_text())
    child.send_signal(number)
    out, err = child.communicate(timeout=30)
    assert child.returncode == -number and out == "" and err.count("\n") == 1
    wait_until(lambda: gone(pid), what="the end of the probe")
    assert state_files(environ) == []
