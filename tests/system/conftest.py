# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests: real programs of one build, each test in its own directories (fixtures_programs.py)."""
import json
import subprocess
import sys

import pytest
from fixtures_programs import (build, configured, environ, full, pytest_collection_modifyitems, pytest_configure, run, top,  # noqa: F401
                               wait_until)


@pytest.fixture
def script(tmp_path):
    """script("name", "shell text") writes an executable probe and returns its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    return write


def sample(check="test.rate", subject="cpu:0", value=1.0, **more):
    """A sample line; a value of None needs a state= other than measured."""
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
def installed(build, tmp_path_factory):
    """The DESTDIR of `make install`."""
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


GUEST_TIMEOUT_S = 400  # boot and scenario, emulated, on a busy machine
GUEST_NOT_HERE = 77


@pytest.fixture(scope="session")
def guest(top, build, configured):
    """guest("perftest") runs a scenario with the programs of the build; returns the CompletedProcess."""
    if configured("enable-sanitizers"):
        pytest.skip("guests run the plain build: emulation and sanitizers together take minutes")

    def run(scenario, *words):
        done = subprocess.run([sys.executable, top / "tests/guest/run", str(scenario), "--build", build, *words], text=True,
                              capture_output=True, timeout=GUEST_TIMEOUT_S, check=False)
        if done.returncode == GUEST_NOT_HERE:
            pytest.skip(done.stderr.strip())
        return done

    return run
