# SPDX-License-Identifier: Apache-2.0
"""The scripts that build and count tests: no failure may look like a pass."""
import os
import re
import subprocess
import sys

import pytest
from processes import gone

pytestmark = pytest.mark.once

LINE = "%d passed, %d failed, %d skipped\n"


@pytest.fixture
def parts(top, monkeypatch):
    monkeypatch.syspath_prepend(str(top / "scripts"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import parts as module
    return module


@pytest.fixture
def unit_logs(parts, tmp_path):
    """unit_logs({name: (result, log)}) returns the tally of these unit programs."""

    def read(programs):
        for name, (result, log) in programs.items():
            (tmp_path / (name + ".log")).write_text(log)
            (tmp_path / (name + ".trs")).write_text(f":test-result: {result}\n:global-test-result: {result}\n")
        return parts.read_unit_logs(str(tmp_path))

    return read


@pytest.mark.parametrize("result,log,counts,word", [
    ("PASS", "x\n" + LINE % (3, 0, 0), (3, 0, 0), None),
    ("PASS", "SKIP a_test: no device\n" + LINE % (2, 0, 1), (2, 0, 1), "a_test: no device"),
    ("FAIL", "x\n" + LINE % (2, 1, 0), (2, 1, 0), "FAILED in test_a"),
    ("FAIL", "half a line", (0, 1, 0), "crashed?"),          # died before its closing line
    ("FAIL", LINE % (3, 0, 0), (3, 1, 0), "crashed?"),       # died after it
    ("PASS", LINE % (2, 1, 0), (2, 2, 0), "crashed?"),       # failed and ended with 0
    ("ERROR", "", (0, 1, 0), "crashed?"),
    ("PASS", "1 passed, 0 failed\n", (0, 1, 0), "crashed?"),  # not the closing line
])
def test_a_unit_program_counts_by_its_closing_line_and_status(unit_logs, result, log, counts, word):
    tally = unit_logs({"test_a": (result, log)})
    assert (tally.passed, tally.failed, tally.skipped) == counts
    assert word is None or any(word in w for w in tally.words)


SUITES = "  Test: it_adds ...%s\na: " + LINE[:-1] + "%s\nSKIP it_waits: no device\nb: " + LINE + LINE


@pytest.mark.parametrize("result,words,counts,word,names", [
    ("PASS", ("passed", 2, 0, 0, "", 1, 0, 1, 3, 0, 1), (3, 0, 1), "skipped area b: it_waits: no device", []),
    ("FAIL", ("FAILED", 1, 1, 0, "", 1, 0, 1, 2, 1, 1), (2, 1, 1), "FAILED in area a: it_adds", ["area:a"]),
    ("FAIL", ("passed", 0, 1, 0, ", crashed: ended by signal 11 (Segmentation fault)", 1, 0, 1, 1, 1, 1), (1, 1, 1),
     "FAILED in area a: ended by signal 11 (Segmentation fault) (crashed?)", ["area:a"]),
    ("FAIL", ("passed", 2, 0, 0, "", 1, 0, 1, 3, 0, 1), (3, 1, 1), "FAILED area did not end as its closing line says (crashed?)", []),  # after it
    ("PASS", ("passed", 2, 0, 0, "", 1, 0, 1, 4, 0, 1), (3, 1, 1), "FAILED area did not end as its closing line says (crashed?)", []),  # a different sum
])
def test_each_suite_of_a_unit_program_counts(unit_logs, result, words, counts, word, names):
    tally = unit_logs({"area": (result, SUITES % words)})
    assert (tally.passed, tally.failed, tally.skipped) == counts
    assert any(w.startswith(word) for w in tally.words)
    assert [os.path.basename(case.name) for case in tally.cases] == names


def test_a_unit_program_that_ends_within_a_suite_has_failed(unit_logs):
    tally = unit_logs({"area": ("FAIL", "a: " + LINE % (2, 0, 0) + "  Test: it_adds ...")})
    assert str(tally) == "2 passed, 1 failed, 0 skipped" and "crashed?" in tally.words[0]


def test_unit_programs_add_up(unit_logs):
    tally = unit_logs({"test_a": ("PASS", LINE % (3, 0, 1)), "test_b": ("FAIL", LINE % (1, 2, 0)), "test_c": ("FAIL", "")})
    assert str(tally) == "4 passed, 3 failed, 1 skipped"


def test_what_failed_is_named_in_a_line_each(parts, unit_logs):
    """Stored output may be truncated, so the last lines repeat all failures."""
    tally = unit_logs({"test_b": ("FAIL", "  Test: it_adds ...FAILED\n    1. b.c:1 - a\n" + LINE % (1, 1, 0)), "test_c": ("FAIL", "")})
    assert tally.names_of_failed() == ["FAILED in test_b: it_adds",
                                       "FAILED test_c did not end as its closing line says (crashed?):"]
    for i in range(100):
        tally.fail("case %d" % i)
    assert len(tally.names_of_failed()) == 61 and tally.names_of_failed()[-1] == "and 42 more"


def test_system_tests_count_by_their_cases(parts, tmp_path):
    path = tmp_path / "junit.xml"
    path.write_text('<testsuites><testsuite><testcase classname="c" name="good"/>'
                    '<testcase classname="c" name="bad"><failure message="m">why it failed</failure></testcase>'
                    '<testcase classname="c" name="broken"><error message="set-up"/></testcase>'
                    '<testcase classname="c" name="left"><skipped message="no GPU"/></testcase></testsuite></testsuites>')
    tally = parts.read_junit(str(path))
    assert str(tally) == "1 passed, 2 failed, 1 skipped"
    assert "skipped c::left: no GPU" in tally.words
    assert any("why it failed" in w for w in tally.words) and any("set-up" in w for w in tally.words)


def test_the_short_run_has_each_system_test_on_one_build(parts, top, build):
    def chosen(mark):
        out = subprocess.run([parts.PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "-m", mark,
                              *(top / "tests/system" / f"test_{name}.py" for name in ("run", "list", "gemm_gpu", "guest"))],
                             capture_output=True, text=True, check=True, env={**os.environ, "ASSAY_BUILD": str(build)}).stdout
        return {line for line in out.splitlines() if "::" in line}

    every, plain, sanitized = (chosen("not alone and not long and " + mark) for mark in ("not guest", parts.ON_PLAIN, parts.ON_SANITIZED))
    assert plain | sanitized == every and not plain & sanitized
    assert 0.2 < len(sanitized) / len(every) < 0.5
    assert len(chosen("guest and not long")) == 1


@pytest.mark.parametrize("content,counts", [("umask >&2; echo 1", (2, 0)), ("umask", (1, 1)), ("echo 2; false", (1, 1))])
def test_a_tarball_that_is_another_the_second_time_has_failed(parts, tmp_path, content, counts):
    """With a makefile whose tarball is the output of `content`."""
    (tmp_path / "Makefile").write_text(f"dist:\n\t{{ {content}; }} >assay-1.tar.xz\n")
    subprocess.run(["sh", "-c", "umask 022 && make dist || :"], cwd=tmp_path, check=True, timeout=60, capture_output=True)
    tally = parts.dist_again(parts.Build(str(tmp_path)), parts.Tally(passed=1))
    assert (tally.passed, tally.failed) == counts


def test_a_part_that_cannot_run_has_failed(parts, capsys):
    def broken(full):
        raise OSError("no such program")

    assert parts.with_progress("name", broken, False).failed == 1
    assert "no such program" in capsys.readouterr().out


def test_a_command_past_its_limit_ends_with_all_it_started(parts, tmp_path, wait_until):
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", f"sleep 1000 & echo $! > {pid_file}; wait"]
    assert parts.run(command, str(tmp_path / "log"), 1, str(tmp_path), dict(os.environ)) == 124
    pid = int(pid_file.read_text())
    wait_until(lambda: gone(pid), what="the end of what the command started")


BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_a_part_says_the_processor_time_of_all_that_its_commands_waited_for(parts, tmp_path, capsys):
    command = [sys.executable, "-c", f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])"]

    def burns(full):
        ended = parts.beside(lambda i: parts.run(command, str(tmp_path / str(i)), 60, str(tmp_path), dict(os.environ)), range(2), 2)
        assert ended == [0, 0]
        return parts.Tally(passed=1)

    for part in (burns, lambda full: parts.Tally(passed=1)):
        parts.with_progress("name", part, False)
    first, second = re.findall(r"CPU +([\d.]+) s   1 passed, 0 failed", capsys.readouterr().out)
    assert float(first) >= 0.6 and float(second) == 0.0


@pytest.fixture
def bare_host(tmp_path):
    """An environment without root and without installed packages."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("id", "echo 1000"), ("dpkg-query", "exit 1"), ("apt-get", "echo called >&2; exit 1")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}


@pytest.mark.parametrize("script,packages", [
    ("build", {"gcc", "make", "libjansson-dev", "libyaml-dev"}),
    ("quickstart", {"gcc", "libhwloc-dev", "libopenblas-dev"}),
    ("test", {"gcc", "libhwloc-dev", "libcunit1-dev", "python3-pytest"}),
])
def test_without_root_the_one_command_is_printed(top, bare_host, script, packages):
    out = subprocess.run([top / "scripts" / script], env=bare_host, capture_output=True, text=True, timeout=60)
    commands = [line for line in out.stderr.splitlines() if line.startswith("apt-get install -y ")]
    assert out.returncode == 2 and len(commands) == 1 and "called" not in out.stderr, out.stderr
    assert packages <= set(commands[0].split()[3:])
    assert not any("|" in name for name in commands[0].split())


def test_the_build_is_installed_whole(build, environ, tmp_path):
    made = subprocess.run(["make", "-C", build, "install", f"DESTDIR={tmp_path}/dest"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300, env={k: v for k, v in environ.items() if "MAKE" not in k})
    assert made.returncode == 0, made.stderr
    programs = {p.name: p for p in (tmp_path / "dest").rglob("*") if p.is_file() and os.access(p, os.X_OK)}
    assert {"assay", "assay-probe-host-state"} <= set(programs)
    assert programs["assay"].parent.name == "bin" and programs["assay-probe-host-state"].parent.name == "assay"
    assert {"README.md", "formats.md", "openapi.yaml"} <= {p.name for p in (tmp_path / "dest").rglob("doc/assay/*")}
    # the tree is complete: no options are needed for its policies and probes
    env = {k: v for k, v in environ.items() if k not in ("ASSAY_POLICY_DIR", "ASSAY_PROBE_DIR")}
    out = subprocess.run([programs["assay"], "run", "--probe", "host-state", "-o", "json"], env=env, capture_output=True, text=True,
                         timeout=60)
    assert out.returncode in (0, 1, 3) and "inventory.cpus" in out.stdout, out.stderr


@pytest.mark.some(1)
@pytest.mark.parametrize("options, config, state", [
    ([], "/etc", "/var"),
    (["--prefix=/usr"], "/etc", "/var"),
    (["--prefix=/usr", "--sysconfdir=/opt/etc", "--localstatedir=/opt/var"], "/opt/etc", "/opt/var"),
    (["--prefix=/opt/assay"], "${prefix}/etc", "${prefix}/var"),
])
def test_configuration_and_state_are_those_of_the_system(top, tmp_path, options, config, state):
    """Only the part of configure that sets its directories, before any checks."""
    text = (top / "configure.ac").read_text()
    part = re.search(r"^AS_CASE\(\[\$prefix\].*?^\]\)$", text, re.M | re.S).group()
    (tmp_path / "configure.ac").write_text(f"AC_INIT([t], [1])\n{part}\nAC_CONFIG_FILES([dirs])\nAC_OUTPUT\n")
    (tmp_path / "dirs.in").write_text("@sysconfdir@ @localstatedir@\n")
    for command in (["autoconf"], ["./configure", *options]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert (tmp_path / "dirs").read_text().split() == [config, state]


@pytest.mark.long
def test_for_another_machine_assayctl_is_not_run(top, tmp_path):
    """With another machine name for which this compiler works too, which configure cannot know."""
    done = subprocess.run([top / "configure", "--build=x86_64-pc-linux-gnu", "--host=x86_64-other-linux-gnu"], cwd=tmp_path,
                          check=True, capture_output=True, text=True, timeout=600)
    assert "manual page and completions of assayctl: no" in done.stdout
    made = subprocess.run(["make", "-pn", "config.h"], cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "assayctl" in made and "./assayctl man" not in made


FUZZER = """import os, sys
grown = [a for a in sys.argv[1:] if not a.startswith("-")][0]
artifact = [a for a in sys.argv if a.startswith("-artifact_prefix=")][0].split("=", 1)[1] + "crash-1"
%s
"""


@pytest.fixture
def fuzzed(parts, tmp_path, monkeypatch):
    """fuzzed(python text) returns the tally of a fuzz target that runs this."""

    def run(text):
        class Build:
            dir = str(tmp_path)
        (tmp_path / "tests/fuzz").mkdir(parents=True)
        program = tmp_path / "tests/fuzz/fuzz_words"
        program.write_text(f"#!{sys.executable}\n" + FUZZER.replace("%s", text))
        program.chmod(0o755)
        monkeypatch.setattr(parts, "CACHE", str(tmp_path / "cache"))
        return parts.fuzz_one(Build, "tests/fuzz/fuzz_words", 1, "7")

    return run


@pytest.mark.parametrize("environ, full, seed", [
    ({}, False, "1"), ({}, True, "0"), ({"FUZZ_SECONDS": "400"}, False, "0"), ({"FUZZ_SEED": "9"}, True, "9")])
def test_a_short_search_is_the_same_each_time_and_a_long_one_is_not(parts, monkeypatch, environ, full, seed):
    for name in ("FUZZ_SECONDS", "FUZZ_SEED"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert parts.fuzz_seed(full) == seed


def test_a_target_is_told_its_seed(fuzzed):
    assert fuzzed("print('#1 DONE   cov: %d ft: 2 corp: 9/1b' % int('-seed=7' in sys.argv))").words == ["words: 1 inputs, 1 edges, 9 kept"]


def test_a_target_that_survives_says_how_much_it_tried(fuzzed):
    tally = fuzzed("print('#4711\\tDONE   cov: 98 ft: 232 corp: 95/1531b lim: 598 exec/s: 6978 rss: 98Mb')")
    assert (tally.passed, tally.failed) == (1, 0) and tally.words == ["words: 4711 inputs, 98 edges, 95 kept"]


@pytest.mark.parametrize("text", [
    "print(\"artifact_prefix='x'; Test unit written to \" + artifact); sys.exit(77)",
    "print('#9 DONE   cov: 98 ft: 2 corp: 9/1b'); print(\"artifact_prefix='x'; Test unit written to \" + artifact)",  # slow
])
def test_a_target_that_found_something_fails_and_says_how_to_do_it_again(fuzzed, tmp_path, text):
    tally = fuzzed(text)
    assert (tally.passed, tally.failed) == (0, 1)
    assert any(f"again: {tmp_path}/tests/fuzz/fuzz_words {tmp_path}/cache/fuzz/words-crash-1" in w for w in tally.words)


def test_a_target_that_ends_without_a_count_failed(fuzzed):
    assert fuzzed("print('INITED')").failed == 1


SECOND = """import os
def test_late(): os.mkdir("{there}")
def test_wrong(): assert {wrong}
def test_right(): pass
"""


def some(parts, tmp_path, wrong=False, also=""):
    """The Tally of tests, one of which passes only on retry, and how that is handled."""
    path = tmp_path / "test_some.py"
    path.write_text((SECOND + also).format(there=tmp_path / "made/late", wrong=not wrong))
    build = parts.Build(str(tmp_path))
    t = parts.pytest_some(build, False, "", [str(path)], "first")
    tests = [(case, "%s::%s" % (path, case.name.split("::")[1])) for case, _ in t.cases]  # it is outside the source tree
    t.cases = [(case, lambda test=test: parts.pytest_some(build, False, "", [test], "again")) for case, test in tests]
    (tmp_path / "made").mkdir()
    return t


@pytest.mark.parametrize("wrong, counts, named", [(False, (3, 0), 1), (True, (2, 1), 1)])
def test_what_fails_once_is_tried_again_and_named(parts, tmp_path, capsys, wrong, counts, named):
    t = some(parts, tmp_path, wrong)
    parts.second_try(t)
    assert (t.passed, t.failed) == counts
    said = capsys.readouterr().out
    assert said.count("again, alone       passed, and is to be mended: FAILED ") == named and said.count(" failed: FAILED ") == wrong
    assert len(t.names_of_failed()) == wrong
    assert [w for w in t.words if w.startswith("passed at its second try, alone: FAILED ") and "test_late" in w]


@pytest.mark.parametrize("also", [
    "def test_dead(): raise ValueError('==7==ERROR: AddressSanitizer: heap-use-after-free')\n",
    "".join("def test_%d(): assert 0\n" % i for i in range(4)),
])
def test_what_is_no_accident_is_not_tried_again(parts, tmp_path, capsys, also):
    t = some(parts, tmp_path, also=also)
    before = (t.passed, t.failed)
    parts.second_try(t)
    assert (t.passed, t.failed) == before and not capsys.readouterr().out


def test_what_could_not_be_built_is_not_tried_again(parts, tmp_path):
    t = some(parts, tmp_path)
    t.fail("build in gcc")
    parts.second_try(t)
    assert t.failed == 2


@pytest.mark.parametrize("suites", [False, True])
def test_what_failed_of_a_unit_program_is_tried_again_by_itself(parts, tmp_path, suites):
    """A program with two tests that pass once `made` exists: the whole suite `late` is retried, if it has suites."""
    (tmp_path / "Makefile").write_text(
        "check:\n\tif tests/unit/a >tests/unit/a.log; then r=PASS; else r=FAIL; fi; echo \":test-result: $$r\" >tests/unit/a.trs\n")
    (tmp_path / "tests/unit").mkdir(parents=True)
    program = tmp_path / "tests/unit/a"
    lines = ("echo late: $p passed, $f failed, 0 skipped\n[ $# -gt 0 ] || { echo b: 3 passed, 0 failed, 0 skipped; p=$((p + 3)); }\n"
             if suites else "p=$((p + 3))\n")
    program.write_text("#!/bin/sh\nif [ -e made ]; then f=0 p=2; else f=2 p=0; fi\n%s"
                       "echo $* >>asked\necho $p passed, $f failed, 0 skipped\n[ $f -eq 0 ]\n" % lines)
    program.chmod(0o755)
    t = parts.unit(parts.Build(str(tmp_path)), False)
    assert (t.passed, t.failed) == (3, 2)
    (tmp_path / "made").touch()
    parts.second_try(t)
    assert (t.passed, t.failed) == (5, 0)
    assert (tmp_path / "asked").read_text() == ("\nlate\n" if suites else "\n\n")
