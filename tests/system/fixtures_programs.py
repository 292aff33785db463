# SPDX-License-Identifier: Apache-2.0
"""Programs of one build, each test in its own directories.

ASSAY_BUILD names the build directory (default: build/ beside the sources).
"""
import collections
import os
import subprocess
from pathlib import Path

import pytest
from waiting import PATIENCE_S, wait_for

TOP = Path(__file__).resolve().parents[2]
SANITIZED_OF = 3  # the short run tries one of this many tests of a file under the sanitizers
TIMEOUT_S = 120  # for a program that hangs; no passing test waits for it


MARKERS = (
    "alone: measures, or boots an emulated machine: wants the cores for itself",
    "guest: boots an emulated machine (given to whatever asks for the fixture of that name, with `alone`, and `long` but for what is `short`)",
    "short: of what boots emulated machines, the one scenario that the short run has",
    "once: waits, counts or loads for long, or runs none of our C, and other tests have its code under the sanitizers: one build "
    "is enough for scripts/test; each has it with --full",
    "long: of scripts/test --full only: something shorter of its file has the same code in the short run",
    "plain: its turn is on the plain build (given to all but one of SANITIZED_OF tests of a file; each build has all with --full)",
    "some(N): of the ways in which it is played, N, spread evenly, are for the short run, and the others are `long`",
)


def pytest_configure(config):
    for line in MARKERS:
        config.addinivalue_line("markers", line)


def mark_ways(items):
    """Marks the tests that `some` leaves to --full as `long`."""
    ways = {}
    for item in items:
        if item.get_closest_marker("some"):
            ways.setdefault((item.path, item.originalname), []).append(item)
    for of_one in ways.values():
        count, every = of_one[0].get_closest_marker("some").args[0], len(of_one)
        for i, item in enumerate(of_one):
            if i * count // every == (i - 1) * count // every:
                item.add_marker(pytest.mark.long)


def mark_turns(items):
    """Marks the tests that the short run does not try under the sanitizers (three times slower) as `plain`."""
    turns = collections.Counter()
    for item in items:
        if item.get_closest_marker("once") or item.get_closest_marker("alone") or item.get_closest_marker("long"):
            continue
        if turns[item.path] % SANITIZED_OF:
            item.add_marker(pytest.mark.plain)
        turns[item.path] += 1


def mark_guests(items):
    for item in items:
        if "guest" not in item.fixturenames:
            continue
        for mark in (pytest.mark.alone, pytest.mark.guest):
            item.add_marker(mark)
        if not item.get_closest_marker("short"):
            item.add_marker(pytest.mark.long)


def pytest_collection_modifyitems(items):
    mark_ways(items)
    mark_guests(items)
    mark_turns(items)


@pytest.fixture(scope="session")
def top():
    """The source directory."""
    return TOP


@pytest.fixture(scope="session")
def build():
    """The build directory; it is built before the tests."""
    path = Path(os.environ.get("ASSAY_BUILD", TOP / "build")).resolve()
    if not (path / "config.status").exists():
        pytest.fail(f"no build in {path}: run scripts/build, or set ASSAY_BUILD")
    return path


@pytest.fixture
def full():
    """True under scripts/test --full: run the long counts."""
    return os.environ.get("ASSAY_FULL") == "1"


@pytest.fixture
def environ(tmp_path):
    """A private environment: its own state, run and configuration directories, without this host's settings and kernel log."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_") and k not in ("NO_COLOR", "JOURNAL_STREAM")}
    for name in ("state", "run", "conf"):
        (tmp_path / name).mkdir(exist_ok=True)
        env[f"ASSAY_{name.upper()}_DIR"] = str(tmp_path / name)
    # Other tests remount file systems read-only, which the kernel logs.
    (tmp_path / "kmsg").touch()
    env["ASSAY_KMSG"] = str(tmp_path / "kmsg")
    return env


@pytest.fixture
def run(build, environ):
    """run("assay", "list", env={...}) runs a program of the build and returns the CompletedProcess (text)."""

    def start(program, *args, env=None, timeout=TIMEOUT_S, **kwargs):
        path = program if os.sep in str(program) else build / program
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("capture_output", True)
        return subprocess.run([str(path), *map(str, args)], env={**environ, **(env or {})}, timeout=timeout,
                              text=True, errors="surrogateescape", check=False, **kwargs)

    return start


@pytest.fixture
def wait_until():
    """wait_until(lambda: ..., seconds=60): poll until true and return that value; fail at the deadline."""

    def wait(condition, seconds=PATIENCE_S, what="the condition"):
        value = wait_for(condition, seconds)
        if not value:
            pytest.fail(f"waited {seconds} s for {what}")
        return value

    return wait


@pytest.fixture(scope="session")
def configured(build):
    """configured("enable-sanitizers"): was this build configured with that option?"""
    options = subprocess.run([str(build / "config.status"), "--config"], capture_output=True, text=True, check=True).stdout
    return lambda option: f"--{option}" in options
