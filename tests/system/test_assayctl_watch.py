# SPDX-License-Identifier: Apache-2.0
"""assayctl --watch and colours, on a pseudo-terminal and without one."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from stub_lists import node, stub  # noqa: F401
from waiting import wait_for

LIMIT_S = 30


class Terminal:
    """assayctl on a pseudo-terminal of this size; `text` is all its output."""

    def __init__(self, build, environ, words, rows, columns, env):
        self.master, terminal = pty.openpty()
        self.resize(rows, columns)
        env = {**environ, "TERM": "xterm", **(env or {})}
        self.errors = subprocess.PIPE
        self.process = subprocess.Popen([str(build / "assayctl"), *words], env=env, stdin=terminal, stdout=terminal,
                                        stderr=subprocess.PIPE, start_new_session=True)
        os.close(terminal)
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, condition):
        """Reads until condition(text since the call) is true. Returns that text."""
        start, deadline = len(self.text), time.monotonic() + LIMIT_S
        while not condition(self.text[start:]):
            if not select.select([self.master], [], [], max(deadline - time.monotonic(), 0))[0]:
                pytest.fail(f"waited {LIMIT_S} s; it wrote {self.text[start:]!r}")
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            if not data:
                if condition(self.text[start:]):
                    break
                pytest.fail(f"it ended after {self.text[start:]!r}: {self.process.stderr.read()}")
            self.text += data.decode()
        return self.text[start:]

    def end(self):
        """Reads to the end. Returns the exit status."""
        while True:
            if not select.select([self.master], [], [], LIMIT_S)[0]:
                pytest.fail(f"waited {LIMIT_S} s for its end; it wrote {self.text!r}")
            try:
                data = os.read(self.master, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode()
        return self.process.wait(timeout=LIMIT_S)


@pytest.fixture
def terminal(build, environ, stub):
    """terminal("nodes", "--watch", rows=24, columns=100) starts it against the stub."""
    started = []

    def start(*words, rows=24, columns=100, env=None):
        started.append(Terminal(build, environ, [*words, "--controller", stub.url], rows, columns, env))
        return started[-1]

    yield start
    for t in started:
        if t.process.poll() is None:
            t.process.kill()
            t.process.wait()
        os.close(t.master)


def plain(text):
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text).replace("\r\n", "\n")


def test_colours_on_a_terminal_only_and_not_with_no_color(terminal, stub, run):
    stub.nodes(node("gpu-1"), node("gpu-2", "fail"))
    t = terminal("nodes")
    assert t.end() == 0 and "\x1b[1;31mfail" in t.text and "\x1b[32mpass" in t.text
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        t = terminal("nodes", env=env)
        assert t.end() == 0 and "\x1b" not in t.text and "gpu-2" in t.text
    assert "\x1b" not in run("assayctl", "nodes", "--controller", stub.url).stdout


def test_a_table_fits_the_terminal_and_says_what_is_cut(terminal, stub):
    stub.nodes(node("gpu-1", "inconclusive", "inconclusive: " + "far too slow " * 30))
    t = terminal("nodes", columns=80)
    assert t.end() == 0
    lines = plain(t.text).splitlines()
    assert all(len(line) <= 80 for line in lines) and lines[1].endswith("..")
    assert "(cut to 80 columns; widen the terminal or use -o kv to see everything)" in lines
    t = terminal("nodes", columns=1000)
    assert t.end() == 0 and "(cut" not in t.text


def test_watch_redraws_in_place_marks_what_changed_and_gives_the_terminal_back(terminal, stub):
    stub.nodes(node("gpu-1"), node("gpu-2"))
    t = terminal("nodes", "--watch=200ms")
    first = t.read_until(lambda s: s.count("gpu-2") >= 2)
    assert first.startswith("\x1b[?1049h\x1b[?25l") and first.count("\x1b[H") >= 2
    assert "*" not in plain(first)
    stub.nodes(node("gpu-1"), node("gpu-2", "fail"))
    text = plain(t.read_until(lambda s: re.search(r"^pass +gpu-1 ", plain(s.partition("* changed")[2]), re.M)))
    frame = text.partition("* changed at")[2]
    assert re.search(r"^fail \* +gpu-2 ", frame, re.M) and re.search(r"^pass +gpu-1 ", frame, re.M)
    assert frame.index("2 hosts: 1 pass, 1 fail; worst gpu-2") < frame.index("VERDICT"), "the sentence is never out of sight"
    t.process.send_signal(signal.SIGINT)
    assert t.end() == 0 and t.text.endswith("\x1b[?25h\x1b[?1049l")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_watch_that_waits_for_an_answer(terminal, stub, number):
    stub.answers["/v1/nodes"] = None
    t = terminal("nodes", "--watch")
    t.read_until(lambda s: "\x1b[?1049h" in s)
    assert wait_for(lambda: stub.asked)
    t.process.send_signal(number)
    assert t.end() == 0 and t.text.endswith("\x1b[?1049l")


def test_watch_follows_the_size_of_the_window(terminal, stub):
    stub.nodes(*[node(f"gpu-{i:03d}") for i in range(100)])
    t = terminal("nodes", "--watch=10m", rows=10, columns=90)
    text = plain(t.read_until(lambda s: "more lines" in s))
    assert "gpu-000" in text and "gpu-090" not in text and "(9" in text
    assert text.count("\n") < 10
    t.resize(40, 90)
    t.process.send_signal(signal.SIGWINCH)
    assert "gpu-030" in t.read_until(lambda s: "more lines" in s)


def test_watch_goes_on_when_the_controller_is_away_and_says_since_when_the_picture_is_old(terminal, stub):
    stub.nodes("gpu-1")
    t = terminal("nodes", "--watch=200ms")
    t.read_until(lambda s: "gpu-1" in s)
    stub.answers["/v1/nodes"] = (503, {"detail": "the store is locked"}, "Retry-After: 1")
    text = plain(t.read_until(lambda s: "STALE since " in s and "gpu-1" in s.partition("STALE")[2]))
    assert re.search(r"STALE since \d\d:\d\d:\d\dZ \(\w+( ago)?\): the controller cannot answer now \(the store is locked\)", text)
    stub.nodes("gpu-1", "gpu-2")
    t.read_until(lambda s: "gpu-2" in s.partition("assayctl nodes at")[2])


def test_watch_of_one_host_is_redrawn_too(terminal, stub):
    stub.answers["/v1/nodes/gpu-1/why"] = (200, {**node(), "items": [], "measured": 8, "incidents": []})
    stub.list("/v1/drift", [])
    t = terminal("why", "gpu-1", "--watch=200ms")
    t.read_until(lambda s: s.count("gpu-1: pass: 8 checks") >= 2)


# --- not a terminal ---

class Piped:
    def __init__(self, build, environ, words):
        self.process = subprocess.Popen([str(build / "assayctl"), *words], env=environ, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = b""

    def line(self):
        while b"\n" not in self.text:
            assert select.select([self.process.stdout], [], [], LIMIT_S)[0], f"waited {LIMIT_S} s for a line"
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, "it ended"
            self.text += data
        line, _, self.text = self.text.partition(b"\n")
        return line.decode() + "\n"

    def end(self, number=None):
        """Its remaining output, and its exit status."""
        if number:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, (self.text + out).decode(), err.decode()


@pytest.fixture
def piped(build, environ, stub):
    started = []

    def start(*words):
        started.append(Piped(build, environ, [*words, "--controller", stub.url]))
        return started[-1]

    yield start
    for p in started:
        p.process.kill()
        p.process.wait()


def wait_for_questions(stub, n):
    """Waits for `n` more requests."""
    start = len(stub.asked)
    assert wait_for(lambda: len(stub.asked) >= start + n, LIMIT_S)


def test_watch_into_a_pipe_prints_a_line_of_json_for_each_change(piped, stub):
    stub.nodes("gpu-1")
    p = piped("nodes", "--watch=200ms", "-o", "json")
    assert [n["node"] for n in json.loads(p.line())["items"]] == ["gpu-1"]
    stub.nodes(node("gpu-1", age_s=99.0, seq=7, seen="2026-11-20T11:00:00Z"))
    wait_for_questions(stub, 3)
    stub.nodes(node("gpu-1", "warn"))
    assert json.loads(p.line())["items"][0]["verdict"] == "warn", "what goes on by itself was no change"
    stub.list("/v1/nodes", [])
    assert json.loads(p.line()) == {"items": []}
    assert p.end(signal.SIGTERM) == (0, "", "")


def test_watch_into_a_pipe_prints_a_block_for_each_change(piped, stub):
    stub.nodes("gpu-1")
    p = piped("nodes", "--watch=200ms")
    assert re.fullmatch(r"--- 20\d\d-\d\d-\d\dT[0-9:.]+Z\n", p.line())
    assert p.line() == "1 host: 1 pass\n"
    stub.nodes(node("gpu-1", "fail"))
    while not p.line().startswith("--- "):
        pass
    assert p.line().startswith("1 host: 1 fail; worst gpu-1")
    assert "\x1b" not in p.line()


def test_watch_ends_when_nobody_reads_any_more(piped, stub):
    p = piped("nodes", "--watch=200ms")
    p.line()
    p.process.stdout.close()
    p.process.wait(timeout=LIMIT_S)


def test_watch_says_once_that_the_controller_is_away_and_once_that_it_is_back(piped, stub):
    p = piped("nodes", "--watch=200ms", "-o", "json")
    p.line()
    stub.answers["/v1/nodes"] = (500, {"detail": "broken"})
    wait_for_questions(stub, 3)
    stub.nodes("gpu-99")
    assert "gpu-99" in p.line()
    assert p.end(signal.SIGINT)[2] == ("assayctl: the controller answered with status 500 (broken); see its log; retrying\n"
                   "assayctl: the controller answers again\n")


@pytest.mark.parametrize("answer, status, words", [
    ((401, {"detail": "no token"}), 2, "unauthorized: no token"),
    ((403, {"detail": "role"}), 2, "forbidden: role"),
])
def test_watch_ends_at_once_when_waiting_would_not_help(piped, stub, answer, status, words):
    stub.answers["/v1/nodes"] = answer
    p = piped("nodes", "--watch")
    code, out, err = p.end()
    assert (code, out) == (status, "") and words in err and err.count("\n") == 1


# --- Ctrl-Z ---

class Shell(Terminal):
    """The same under a shell with job control, which gets the terminal while assayctl is stopped."""

    def __init__(self, build, environ, url):
        self.master, terminal = pty.openpty()
        self.resize(24, 100)
        script = f"'{build}/assayctl' nodes --watch=200ms --controller {url}; echo STOPPED; read answer; fg"
        self.process = subprocess.Popen(
            ["bash", "--norc", "-m", "-c", script], env={**environ, "TERM": "xterm"}, stdin=terminal, stdout=terminal,
            stderr=terminal, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.process.stderr = open(os.devnull)  # the shell needs all three to be the terminal
        os.close(terminal)
        self.text = ""


def test_a_watch_that_is_stopped_gives_the_terminal_back_and_goes_on(build, environ, stub):
    stub.nodes("gpu-1")
    t = Shell(build, environ, stub.url)
    try:
        t.read_until(lambda s: "gpu-1" in s)
        os.write(t.master, b"\x1a")
        text = t.read_until(lambda s: "STOPPED" in s)
        assert "\x1b[?25h\x1b[?1049l" in text.partition("STOPPED")[0]
        os.write(t.master, b"\n")
        text = t.read_until(lambda s: "\x1b[?1049h" in s and "gpu-1" in s.partition("\x1b[?1049h")[2])
        asked = len(stub.asked)
        t.read_until(lambda s: len(stub.asked) > asked)
        os.write(t.master, b"\x03")
        t.end()
        assert t.text.rstrip().endswith("\x1b[?25h\x1b[?1049l")
    finally:
        t.process.kill()
        t.process.wait()
        t.process.stderr.close()
        os.close(t.master)  # sends SIGHUP to what it started
