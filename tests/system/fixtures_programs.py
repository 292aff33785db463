# SPDX-License-Identifier: Apache-2.0
"""Programs of one build, each test in its own directories.

ASSAY_BUILD names the build directory (default: build/ beside the sources).
"""
import os
import subprocess
from pathlib import Path

import pytest
from waiting import PATIENCE_S, wait_for

TOP = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120  # for a program that hangs; no test waits for it


MARKERS = (
    "alone: measures, or boots an emulated machine: wants the cores for itself",
    "guest: boots an emulated machine (given to whatever asks for the fixture of that name, and `alone` with it)",
    "once: waits, counts or loads for long, or runs none of our C, and other tests have its code under the sanitizers: one build "
    "is enough for scripts/test; each has it with --full",
)


def pytest_configure(config):
    for line in MARKERS:
        config.addinivalue_line("markers", line)


@pytest.fixture(scope="session")
def top():
    """The source directory."""
    return TOP


@pytest.fixture(scope="session")
def build():
    """The build directory, made before the tests."""
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
    """A private environment: own state, run and configuration directories, nothing of this host's settings or log."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_") and k not in ("NO_COLOR", "JOURNAL_STREAM")}
    for name in ("state", "run", "conf"):
        (tmp_path / name).mkdir(exist_ok=True)
        env[f"ASSAY_{name.upper()}_DIR"] = str(tmp_path / name)
    # Other tests remount file systems read-only, and the kernel says so.
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
    """configured("enable-sanitizers"): whether this build was configured with that option."""
    options = subprocess.run([str(build / "config.status"), "--config"], capture_output=True, text=True, check=True).stdout
    return lambda option: f"--{option}" in options
