# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests: real programs of one build, each test in its own directories.

ASSAY_BUILD names the build directory (default: build/ beside the sources).
"""
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120  # for a program that hangs; no test waits for it


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
    """A private environment: own state, run and configuration directories, nothing of this host's settings."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_") and k not in ("NO_COLOR", "JOURNAL_STREAM")}
    for name in ("state", "run", "conf"):
        (tmp_path / name).mkdir(exist_ok=True)
        env[f"ASSAY_{name.upper()}_DIR"] = str(tmp_path / name)
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
    """wait_until(lambda: ..., seconds=10): poll until true and return that value; fail at the deadline."""

    def wait(condition, seconds=10.0, what="the condition"):
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                pytest.fail(f"waited {seconds} s for {what}")
            time.sleep(0.02)

    return wait


@pytest.fixture
def script(tmp_path):
    """script("name", "shell text") writes an executable and returns its path: a probe that does what a test wants."""

    def write(name, text):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    return write


def sample(check="test.rate", subject="cpu:0", value=1.0, **more):
    """One sample line; a value of None needs state=... other than measured."""
    line = {"v": 1, "check": check, "subject": subject, "value": value, "unit": "B/s", "better": "higher",
            "ok": None, "state": "measured", **more}
    return json.dumps(line)


@pytest.fixture
def says(script):
    """says("name", sample(...), ...) is a scripted probe that prints these lines."""

    def write(name, *lines, end=""):
        return script(name, "cat <<'EOF'\n%s\nEOF\n%s\n" % ("\n".join(lines), end))

    return write


@pytest.fixture
def profiles(tmp_path):
    """profiles(quick=[{...probe...}], ...) writes a profiles file; probes get a budget of 5 s unless they have one."""

    def write(budget="60s", **by_name):
        value = {"v": 1, "profiles": {}}
        for name, probes in by_name.items():
            probes = [{"budget": "5s", "active": True, **p, "exec": str(p["exec"])} for p in probes]
            value["profiles"][name] = {"budget": budget, "probes": probes}
        path = tmp_path / "profiles.yaml"
        path.write_text(json.dumps(value))
        return path

    return write


@pytest.fixture(scope="session")
def configured(build):
    """configured("enable-sanitizers"): whether this build was configured with that option."""
    options = subprocess.run([str(build / "config.status"), "--config"], capture_output=True, text=True, check=True).stdout
    return lambda option: f"--{option}" in options


@pytest.fixture(scope="session")
def installed(build, tmp_path_factory):
    """The root directory under which `make install` put everything."""
    root = tmp_path_factory.mktemp("installed")
    out = subprocess.run(["make", "-s", "-C", str(build), "install", f"DESTDIR={root}"], capture_output=True, text=True,
                         check=False)
    if out.returncode:
        pytest.fail(f"make install: {out.stdout}{out.stderr}")
    return root


@pytest.fixture(scope="session")
def installed_units(installed):
    """The directory of the installed units."""
    found = sorted(installed.rglob("assay-quick.service"))
    if not found:
        pytest.skip("units are not installed: configured with --with-systemdsystemunitdir=no")
    return found[0].parent
