# SPDX-License-Identifier: Apache-2.0
"""assay run with misbehaving probes: the right problem, in time, no orphans, bounded memory."""
import json
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from conftest import sample

MARK = "ASSAY_TEST_MARK"
GOOD = f"echo '{sample()}'\n"
AT_ONCE_S = 60  # the budget of a probe that must end long before it
SLACK_S = 20  # beyond a budget, on a busy machine
SHORT = "500ms"

# name: (shell text, budget, code of the problem or None, part of its detail, samples kept)
BAD = {
    "sleeps-for-ever": ("exec sleep 1000\n", SHORT, "timeout", "budget of 500ms", 0),
    "good-then-sleeps": (GOOD + "sleep 1000\n", SHORT, "timeout", "", 1),
    "ignores-signals": ("trap '' TERM INT HUP\nwhile :; do sleep 1000; done\n", SHORT, "timeout", "", 0),
    "stops-itself": ("kill -STOP $$\n", SHORT, "timeout", "", 0),
    "closes-its-output": (GOOD + "exec >&- 2>&-\nexec sleep 1000\n", SHORT, "timeout", "", 1),
    "forks-and-setsids": ("setsid sh -c 'setsid sleep 1000 & sleep 1000' &\nexec sleep 1000\n", SHORT, "timeout", "", 0),
    "leaves-a-daemon": (GOOD + "(setsid sh -c 'setsid sleep 1000 &' &)\nexit 0\n", f"{AT_ONCE_S}s", None, "", 1),
    "many-children": ("i=0; while [ $i -lt 100 ]; do setsid sleep 1000 & i=$((i+1)); done\nexit 3\n",
                      f"{AT_ONCE_S}s", "exit", "exit status 3", 0),
    "prints-1-GB": ("yes | head -c 1000000000\n", f"{AT_ONCE_S}s", "too-much", "more than 4 MiB", 0),
    "1-GB-of-stderr": ("yes | head -c 1000000000 >&2\n" + GOOD, f"{AT_ONCE_S}s", None, "", 1),
    "one-endless-line": (GOOD + "cat /dev/zero\n", f"{AT_ONCE_S}s", "too-much", "a line of more than 64 KiB", 1),
    "5000-samples": (f"yes '{sample()}' | head -n 5000\nsleep 1000\n", f"{AT_ONCE_S}s", "too-much", "4096 samples", 4096),
    "half-a-line-then-dies": (GOOD + "printf '{\"v\":1,\"check\":'\nkill -SEGV $$\n", f"{AT_ONCE_S}s", "crashed",
                              "died by SIGSEGV; also line 2: ", 1),
    "half-a-line": (GOOD + "printf '{\"v\":1,\"check\":'\n", f"{AT_ONCE_S}s", "garbage", "line 2: ", 1),
    "invalid-utf8": (GOOD + "printf '{\"check\":\"\\377\"}\\n'\n" + GOOD, f"{AT_ONCE_S}s", "garbage",
                     "line 2: unable to decode byte 0xff", 2),
    "nan": (GOOD + f"echo '{sample(value=7.25)}' | sed s/7.25/NaN/\n", f"{AT_ONCE_S}s", "garbage", "line 2: ", 1),
    "1e999": (GOOD + f"echo '{sample(value=7.25)}' | sed s/7.25/1e999/\n", f"{AT_ONCE_S}s", "garbage",
              "line 2: real number overflow", 1),
    "prints-nothing": ("exit 0\n", f"{AT_ONCE_S}s", "empty", "printed no sample", 0),
    "exit-2": ("echo no such option >&2\nexit 2\n", f"{AT_ONCE_S}s", "set-up", "no such option", 0),
    "exit-3": ("echo out of luck >&2\nexit 3\n", f"{AT_ONCE_S}s", "exit", "exit status 3: out of luck", 0),
    "exit-77": ("echo no such device here >&2\nexit 77\n", f"{AT_ONCE_S}s", "not-applicable", "no such device here", 0),
}


def seconds(text):
    return int(text[:-2]) / 1000 if text.endswith("ms") else int(text[:-1])


def marked(mark):
    """PIDs of all descendants of a test."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass  # gone meanwhile
    return found


@pytest.fixture
def start(build, environ):
    """start(file) starts assay run on that profiles file; the Popen has its mark."""

    def begin(file):
        mark = uuid.uuid4().hex
        child = subprocess.Popen([str(build / "assay"), "run", "--profiles", str(file), "-o", "json"],
                                 env={**environ, MARK: mark}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        child.mark = mark
        return child

    return begin


@pytest.fixture
def measure(start):
    """measure(file) -> (report, verdict, seconds, peak KiB of assay and its children); asserts that no process is left."""

    def begin(file):
        before = time.monotonic()
        child = start(file)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stdout.close()
        assert marked(child.mark) == []
        assert child.returncode in (0, 3)
        done = json.loads(out)
        return done["report"], done["verdict"], time.monotonic() - before, usage.ru_maxrss

    return begin


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("active", [False, True], ids=["passive", "active"])
def test_a_bad_probe_is_one_problem(measure, script, profiles, name, active):
    text, budget, code, detail, kept = BAD[name]
    report, verdict, took, _ = measure(profiles(quick=[{"name": "bad", "exec": script("bad", text), "budget": budget,
                                                       "active": active}]))
    assert [p["code"] for p in report["problems"]] == ([code] if code else [])
    if code:
        assert detail in report["problems"][0]["detail"]
        assert report["problems"][0]["probe"] == "bad"
    assert len(report["samples"]) == kept
    if code and code != "not-applicable":
        assert any(i["verdict"] == "inconclusive" for i in verdict["items"])
    assert verdict["verdict"] != "fail", "a bad probe never condemns a device"
    assert took < (seconds(budget) + SLACK_S if budget == SHORT else AT_ONCE_S)


@pytest.mark.once
@pytest.mark.parametrize("name", ["prints-1-GB", "1-GB-of-stderr", "one-endless-line"])
def test_memory_stays_flat(measure, script, profiles, name):
    *_, before = measure(profiles(quick=[{"name": "good", "exec": script("good", GOOD)}]))
    *_, after = measure(profiles(quick=[{"name": "bad", "exec": script("bad", BAD[name][0]), "budget": BAD[name][1]}]))
    assert after - before < 64 * 1024, f"{before} KiB, then {after} KiB"


def test_what_is_not_executable_is_told(measure, tmp_path, profiles):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n" + GOOD)
    words = tmp_path / "words"
    words.write_text("just words\n")
    words.chmod(0o755)
    paths = [plain, tmp_path, tmp_path / "absent", words]
    report, verdict, *_ = measure(profiles(quick=[{"name": f"p{i}", "exec": p} for i, p in enumerate(paths)]))
    assert [p["code"] for p in report["problems"]] == ["not-executable"] * 4
    for problem, path in zip(report["problems"], paths):
        assert str(path) in problem["detail"]
    assert verdict["verdict"] == "inconclusive"


def test_bad_probes_cost_nothing_to_the_others(measure, script, profiles):
    names = [n for n in BAD if BAD[n][2]]
    probes = [{"name": n, "exec": script(n, BAD[n][0]), "budget": BAD[n][1], "active": False} for n in names]
    probes.append({"name": "good", "exec": script("good", f"echo '{sample(check='good.rate')}'\n")})
    report, *_ = measure(profiles(budget="120s", quick=probes))
    assert [(p["probe"], p["code"]) for p in report["problems"]] == [(n, BAD[n][2]) for n in names]
    assert [s["check"] for s in report["samples"]].count("good.rate") == 1
    assert len(report["samples"]) == 4096


def test_assay_killed_leaves_no_orphan(start, script, profiles, tmp_path, wait_until):
    text = f"trap '' TERM HUP INT\nsetsid sh -c 'touch {tmp_path}/up; exec sleep 1000' &\nwait\n"
    child = start(profiles(budget="130s", quick=[{"name": "p", "exec": script("p", text), "budget": "60s"},
                                                {"name": "q", "exec": script("q", text), "budget": "60s",
                                                 "active": False}]))
    wait_until((tmp_path / "up").exists, seconds=SLACK_S)
    assert len(marked(child.mark)) >= 3
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=SLACK_S)
    wait_until(lambda: not marked(child.mark), seconds=SLACK_S, what="the end of all processes of the run")
