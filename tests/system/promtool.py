# SPDX-License-Identifier: Apache-2.0
"""promtool, fetched once: only this program from Debian's package, which also contains a server and a web page."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FETCH_S = 120


def fetch_promtool(where):
    """Returns None, or why it failed."""
    where.parent.mkdir(parents=True, exist_ok=True)
    work = where.parent / f"fetch.{os.getpid()}"
    work.mkdir()
    try:
        if not shutil.which("apt-get") or not shutil.which("dpkg"):
            return "no apt-get and dpkg to fetch it with"
        for command in (["apt-get", "download", "-qq", "prometheus"], ["sh", "-c", "dpkg -x prometheus_*.deb tree"]):
            out = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=FETCH_S, stdin=subprocess.DEVNULL)
            if out.returncode:
                return "it cannot be fetched: " + " ".join(out.stderr.split())[-200:]
        os.replace(work / "tree/usr/bin/promtool", where)
        return None
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"it cannot be fetched: {e}"
    finally:
        shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="session")
def promtool():
    """promtool("check", ..., input=text) -> (status, output); cached under $ASSAY_CACHE."""
    cache = Path(os.environ.get("ASSAY_CACHE") or Path.home() / ".cache/assay")
    program = shutil.which("promtool") or cache / "tools/promtool"
    why = None if os.access(program, os.X_OK) else fetch_promtool(program)
    if why:
        pytest.skip(f"promtool is missing: {why}")

    def run(*args, text=None):
        out = subprocess.run([str(program), *map(str, args)], input=text, capture_output=True, text=True, timeout=120)
        return out.returncode, out.stdout + out.stderr

    return run


def families(text):
    """[(name, type, help)] of a text in the Prometheus format, in order."""
    return [(name, kind, help_) for name, help_, kind in
            re.findall(r"^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$", text, re.M)]


# The series that Prometheus creates for a family of each type.
ENDINGS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count"), "gauge": ("",), "counter": ("",)}


def series_names(text):
    """Names of series in such a text."""
    return {name + ending for name, kind, _ in families(text) for ending in ENDINGS[kind]}


def named(query):
    """Our metrics, and those of the process, named in a query or a page."""
    return set(re.findall(r"\b(?:assay|process)_[a-z_]+\b", query))
