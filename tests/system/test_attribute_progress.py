# SPDX-License-Identifier: Apache-2.0
"""assay-attribute on long input: a bar on a terminal, and nowhere else."""
import os
import pty
import re
import select
import subprocess
import time

import pytest
from attribution_fixtures import generator, trace  # noqa: F401

DEADLINE_S = 60
MOMENT_S = 0.01


def feed(build, environ, path, stderr, drawn):
    """Feeds the trace through a pipe, repeating its operations with new steps, until `drawn()`. That waits a moment, because
    all input has to be processed."""
    head, *lines = path.read_text().splitlines()
    first = int(re.search(r'"step":(\d+)', lines[0]).group(1))
    lines = [line for line in lines if f'"step":{first},' in line]
    process = subprocess.Popen([build / "assay-attribute", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                               env=environ)
    until, step = time.monotonic() + DEADLINE_S, 0
    process.stdin.write((head + "\n").encode())
    while not drawn() and time.monotonic() < until:
        text = "\n".join(line.replace(f'"step":{first},', f'"step":{step},') for line in lines)
        process.stdin.write((text + "\n").encode())
        step += 1
    process.stdin.close()
    process.stdin = None
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0 and out.startswith(b"{")
    return err


@pytest.fixture
def small(trace):  # noqa: F811
    return trace("none", 1, "dp=2", "pp=2", "mb=2", "steps=3")[0]


def test_a_bar_is_drawn_on_a_terminal_and_cleared(build, environ, small):
    ours, theirs = pty.openpty()
    seen = b""

    def drawn():
        nonlocal seen
        while select.select([ours], [], [], MOMENT_S)[0]:
            seen += os.read(ours, 4096)
        return b"million operations" in seen

    feed(build, environ, small, theirs, drawn)
    assert drawn()
    os.close(theirs)
    os.close(ours)
    assert re.search(rb"\r\x1b\[K[\d.]+ MB  [\d.]+ million operations  standard input", seen)
    assert seen.endswith(b"\r\x1b[K")


@pytest.mark.once
def test_none_is_drawn_elsewhere(build, environ, small):
    until = time.monotonic() + 2.5  # longer than the patience of the bar

    def over():
        select.select([], [], [], MOMENT_S)
        return time.monotonic() > until

    assert feed(build, environ, small, subprocess.PIPE, over) == b""
