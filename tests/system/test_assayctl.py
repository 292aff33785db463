# SPDX-License-Identifier: Apache-2.0
"""assayctl without a controller."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest


def test_the_shipped_policy_is_good(run, top):
    done = run("assayctl", "policy", "check", top / "policies" / "default.yaml")
    assert done.returncode == 0 and done.stdout.startswith(f"{top}/policies/default.yaml: good\n") and done.stderr == ""
    assert "mode     observe" in done.stdout


@pytest.mark.parametrize("text, message", [
    ("v: 1\nmode: on\n", "mode: 'on' is not one of observe, dry-run, enforce"),
    ("v: 1\nbudget: {total: {percent: -4}}\n", "budget.total.percent: -4 is outside 0 to 100"),
    ("v: 1\nrules: [{name: a, match: {}, action: alert, colour: red}]\n", "rules[0].colour: unknown key"),
    ("", "empty"),
    ("v: [", "line 2 column 1: "),
])
def test_a_bad_policy_is_one_line_that_names_the_place(run, tmp_path, text, message):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    for done in (run("assayctl", "policy", "check", file), run("assay", "run", "--policy", file),
                 run("assayctl", "policy", "replay", file, "--since", "7d")):
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"{file}: ") and message in done.stderr and done.stderr.count("\n") == 1


def test_a_policy_that_is_no_file_or_huge_is_refused(run, tmp_path):
    huge = tmp_path / "huge.yaml"
    with open(huge, "wb") as f:
        f.truncate(100 << 20)
    for path in (tmp_path, huge, tmp_path / "nothing"):
        done = run("assayctl", "policy", "check", path)
        assert done.returncode == 2 and str(path) in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words, message", [
    ("dance", "unknown command 'dance'; see assayctl --help"),
    ("cordn gpu-1", "unknown command 'cordn'; did you mean cordon?"),
    ("cordon gpu-1 --reson x", "unknown option '--reson'; did you mean --reason?"),
    ("policy", "'policy' is incomplete; there is 'policy check' 'policy replay'"),
    ("why", "why: no NODE given"),
    ("why a b", "why: unexpected argument 'b'"),
    ("nodes --colour", "unknown option '--colour'; see assayctl --help"),
    ("nodes -x", "unknown option '-x'; see assayctl --help"),
    ("nodes --all", "nodes has no --all; see assayctl nodes --help"),
    ("nodes -o xml", "--output: 'xml' is not one of table, wide, json, kv"),
    ("nodes -o", "--output requires a FORMAT"),
    ("nodes --limit 0", "--limit: '0' is not between 1 and 1000000"),
    ("nodes --limit=-1", "--limit: '-1' is not between 1 and 1000000"),
    ("nodes --verdict good", "--verdict: 'good' is not one of pass, warn, fail, inconclusive"),
    ("nodes --stale=yes", "--stale takes no value"),
    ("nodes --timeout 1ms", "--timeout: '1ms' is not between 200ms and 1d"),
    ("nodes --watch=soon", "--watch: 'soon'"),
    ("nodes --controller ftp://x", "--controller: 'ftp://x' is not a URL like https://controller:9470"),
    ("nodes --controller http://x/y", "--controller: 'http://x/y': nothing may follow the port"),
    ("nodes --controller=", "--controller requires a URL"),
    ("cordon", "cordon: no NODE given"),
    ("plan", "plan: no JOB given"),
    ("cordon gpu-1", "cordon requires --reason TEXT: the reason, recorded"),
    ("cordon gpu-1 --reason=", "--reason requires a TEXT"),
    ("why gpu-1 gpu-2", "why: unexpected argument 'gpu-2'"),
    ("cordon gpu-1 -r x --watch", "cordon has no --watch; see assayctl cordon --help"),
    ("cordon gpu-1 -r x --break-glass=yes", "--break-glass takes no value"),
    ("uncordon gpu-1 -r x --break-glass", "uncordon has no --break-glass"),
    ("override gpu-1", "override requires --until TIME"),
    ("override gpu-1 --until tomorrow", "--until: 'tomorrow' is neither a time in UTC like 2026-11-22T08:00:00Z nor a duration like 12h"),
    ("override gpu-1 --until 0", "--until: '0' is neither a time"),
    ("override gpu-1 --until 2026-11-22T08:00:00+01:00", "is neither a time in UTC"),
    ("silence gpu-1 --reason x", "silence requires --for DURATION"),
    ("silence gpu-1 --reason x --for 10ms", "--for: '10ms' is not between 1s and 366d"),
    ("silence gpu-1 --reason x --for 9999d", "--for: "),
    ("silence gpu-1 --reason x --for soon", "--for: 'soon'"),
    ("breaker close", "breaker: unexpected argument 'close'"),
    ("breaker reset", "breaker reset requires --reason TEXT"),
    ("policy replay nowhere.yaml", "policy replay requires --since DURATION"),
    ("job", "job: no NAME given"),
    ("job submit", "job submit: no TRACE given"),
    ("jobs llm-7", "jobs: unexpected argument 'llm-7'"),
    ("job llm-7 --job x", "job has no --job; see assayctl job --help"),
    ("nodes --cert c.pem", "a client certificate needs its key, and a key its certificate"),
    ("nodes --token-file /nowhere/token", "/nowhere/token"),
])
def test_wrong_use_is_one_line_that_says_what_to_do(run, words, message):
    done = run("assayctl", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.startswith("assayctl: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["nodes", "--help"], ["override", "--help"], ["job", "submit", "--help"]], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(build, environ, words):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    done = subprocess.run([build / "assayctl", *words], stdout=slave, stderr=subprocess.PIPE, env=environ, timeout=60, check=True)
    os.close(slave)
    text = b""
    while not text.rstrip().endswith(b"no whole answer."):
        text += os.read(master, 65536)
    os.close(master)
    lines = text.decode().replace("\r", "").splitlines()
    assert not done.stderr and [line for line in lines if len(line) > 80] == []
    at = next(i for i, line in enumerate(lines) if "--controller=URL" in line)
    assert lines[at + 1] == 31 * " " + "http://127.0.0.1:9470), else $ASSAY_CONTROLLER"


def test_help_tells_every_command_and_its_options(run):
    done = run("assayctl")
    assert done.returncode == 2 and done.stdout == "" and "Usage: assayctl COMMAND" in done.stderr
    done = run("assayctl", "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "Usage: assayctl silence NODE... --reason=TEXT --for=DURATION [OPTION...]" in run("assayctl", "silence", "--help").stdout
    for command in ("nodes", "why NODE", "incidents", "policy check FILE", "cordon NODE...", "breaker reset", "evidence NODE", "jobs",
                    "job NAME", "job submit TRACE"):
        assert f"\n  {command} " in done.stdout
    assert re.findall(r"^(\w.*):$", done.stdout, re.M) == ["Look at the fleet", "Take hosts out of service and put them back",
                                                          "Find what slows jobs down", "Set up a site", "Policies, and your shell", "Options"]
    assert run("assayctl", "help").stdout == run("assayctl", "-h").stdout == done.stdout
    for words in (["nodes", "--help"], ["help", "nodes"], ["--help", "nodes"], ["-?", "nodes"]):
        assert "--verdict=LEVEL" in run("assayctl", *words).stdout
    assert "policy check FILE" in run("assayctl", "policy", "check", "--help").stdout
    assert run("assayctl", "--version").stdout.startswith("assayctl ")
