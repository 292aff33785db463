# SPDX-License-Identifier: Apache-2.0
"""assay run's output for people: the table, the terminal, the live line, help."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
from conftest import sample

ESCAPE = "\033"
ERASE = "\r\033[K"

SLOW_CORE = [sample(check="gemm.rate", subject=f"cpu:{i}", value=30e9 if i == 3 else 40e9 + i * 1e8, unit="FLOP/s",
                    **{"class": "self"}) for i in range(12)]


@pytest.fixture
def on_terminal(build, environ):
    """on_terminal(["run", ...], columns=80, out=True) -> (status, output on the terminal, output in the pipe)."""

    def start(args, columns=100, out=True, env=None):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        child = subprocess.Popen([str(build / "assay"), *map(str, args)], env={**environ, "TERM": "xterm", **(env or {})},
                                 stdin=subprocess.DEVNULL, stdout=slave if out else subprocess.PIPE, stderr=slave)
        os.close(slave)
        seen = read_all(master, 60)
        piped = "" if out else child.stdout.read().decode()
        os.close(master)
        return child.wait(30), seen, piped

    return start


def read_all(fd, seconds):
    seen = b""
    deadline = time.monotonic() + seconds
    while select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the last process on the other side has exited
            return seen.decode()
        if not piece:
            return seen.decode()
        seen += piece
    pytest.fail(f"still open after {seconds} s: {seen!r}")


def test_the_table_is_read_at_a_glance(run, says, profiles):
    file = profiles(quick=[{"name": "g", "exec": says("g", *SLOW_CORE, sample(check="gemm.correct", unit="1", ok=True))}])
    lines = run("assay", "run", "--profiles", file).stdout.splitlines()
    assert lines[0].startswith("FAIL  ")
    assert lines[2].split() == ["VERDICT", "CHECK", "SUBJECT", "VALUE", "EXPECTED", "FLOOR", "FROM"]
    assert lines[3].split()[:3] == ["fail", "gemm.rate", "cpu:3"], "worst first"
    assert "30.0 GFLOP/s" in lines[3] and lines[3].endswith("peers")
    assert any("all 11" in line and "40.0..41.1 GFLOP/s" in line for line in lines), "passes are one line"
    assert lines[-1].startswith("fail: ") and "cpu:3" in lines[-1], "ends with the culprit"


def test_nothing_but_the_result_goes_into_a_pipe(run, says, profiles):
    file = profiles(quick=[{"name": "g", "exec": says("g", *SLOW_CORE)}])
    for args in ([], ["-o", "json"], ["-o", "kv"]):
        done = run("assay", "run", "--profiles", file, *args)
        assert ESCAPE not in done.stdout and "\r" not in done.stdout
        assert done.stderr == ""


def test_colours_only_on_a_terminal_that_wants_them(on_terminal, says, profiles):
    file = profiles(quick=[{"name": "g", "exec": says("g", *SLOW_CORE)}])
    status, seen, _ = on_terminal(["run", "--profiles", file])
    assert status == 1 and "\033[1;31mFAIL\033[0m" in seen
    _, plain, _ = on_terminal(["run", "--profiles", file], env={"NO_COLOR": "1"})
    assert ESCAPE not in plain.replace(ERASE, "") and "FAIL" in plain


def test_the_live_line_names_the_probe_and_is_erased(on_terminal, script, profiles):
    probe = script("p", f"sleep 0.5\necho '{sample()}'\n")
    file = profiles(quick=[{"name": "slowish", "exec": probe}, {"name": "next", "exec": probe}])
    status, seen, piped = on_terminal(["run", "--profiles", file], out=False)
    assert status == 0
    assert "slowish (1 of 2), " in seen and "next (2 of 2), " in seen and " s left" in seen
    assert seen.endswith(ERASE), "erased at the end"
    assert "\n" not in seen, "one line, rewritten in place"
    assert piped.startswith("MEASURED  ") and ESCAPE not in piped


def test_an_interrupted_run_leaves_a_clean_terminal(on_terminal, script, profiles, environ):
    # The parent of a probe is its supervisor, whose parent is assay.
    probe = script("p", "sleep 0.5\nkill -INT $(cut -d' ' -f4 /proc/$PPID/stat)\nexec sleep 600\n")
    status, seen, piped = on_terminal(["run", "--profiles", profiles(quick=[{"name": "p", "exec": probe}])], out=False)
    assert status == -signal.SIGINT and piped == ""
    assert "p (1 of 1), " in seen
    assert seen[seen.rindex(ERASE):] == ERASE + "assay: stopped by a signal; this run is discarded\r\n"
    assert os.listdir(environ["ASSAY_STATE_DIR"]) == []


@pytest.mark.parametrize("columns", [44, 60, 80, 120])
def test_the_table_fits_the_terminal(on_terminal, says, profiles, columns):
    long = [sample(check="loopback.write_bw", subject=f"mlx5_{i}:1>gpu:GPU-12345678-1234-1234-1234-1234567890ab", ok=i > 2)
            for i in range(4)]
    file = profiles(quick=[{"name": "g", "exec": says("g", *long)}])
    _, seen, _ = on_terminal(["run", "--profiles", file], columns=columns, env={"NO_COLOR": "1"})
    seen = seen[seen.index("FAIL"):].split("\r\n")
    assert max(map(len, seen[1:])) <= columns
    assert any("loopback" in line for line in seen)


def test_what_a_probe_says_cannot_play_with_the_terminal(on_terminal, says, profiles):
    evil = sample(subject="cpu:0\x1b]0;owned\x07", note="\x1b[2Jgone\nPASS", ok=False)
    file = profiles(quick=[{"name": "g", "exec": says("g", evil, end="printf '\\033[31mred' >&2; exit 1")}])
    _, seen, _ = on_terminal(["run", "--profiles", file], env={"NO_COLOR": "1"})
    assert ESCAPE not in seen.replace(ERASE, "")


def test_many_bad_ones_are_counted(run, says, profiles):
    lines = [sample(check="host.x", subject=f"cpu:{i}", ok=False) for i in range(30)]
    file = profiles(quick=[{"name": "g", "exec": says("g", *lines)}])
    out = run("assay", "run", "--profiles", file).stdout
    assert "and 20 more" in out and len(out.splitlines()) < 40


def test_help_and_version_and_unknown_commands(run):
    assert run("assay", "--version").stdout.startswith("assay 0.")
    for word in ("--help", "help"):
        done = run("assay", word)
        assert done.returncode == 0 and "  run " in done.stdout and "  list " in done.stdout
    for args in (["nosuch"], []):
        done = run("assay", *args)
        assert done.returncode == 2 and done.stdout == ""
    assert run("assay", "nosuch").stderr == "assay: no command 'nosuch'; see assay --help\n"
    assert run("assay", "amdit").stderr == "assay: no command 'amdit'; did you mean admit?\n"
    assert "--exit-style" in run("assay", "run", "--help").stdout
