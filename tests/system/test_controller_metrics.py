# SPDX-License-Identifier: Apache-2.0
"""/metrics as Prometheus itself reads it, and its alerts: checked by promtool, which is made to be fetched once."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from fixtures_controller import controller, report, sample  # noqa: F401

FETCH_S = 120


def fetch_promtool(where):
    """Only this program out of Debian's package, which would bring a server and a web page. Why not, or None."""
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
    """promtool("check", ..., input=text) -> (status, words); kept under $ASSAY_CACHE."""
    cache = Path(os.environ.get("ASSAY_CACHE") or Path.home() / ".cache/assay")
    program = shutil.which("promtool") or cache / "tools/promtool"
    why = None if os.access(program, os.X_OK) else fetch_promtool(program)
    if why:
        pytest.skip(f"promtool is missing: {why}")

    def run(*args, text=None):
        out = subprocess.run([str(program), *map(str, args)], input=text, capture_output=True, text=True, timeout=60)
        return out.returncode, out.stdout + out.stderr

    return run


@pytest.fixture
def busy_text(controller):
    """What a controller says that has seen good and bad reports, and calls of several kinds."""
    c = controller()
    for i in range(4):
        c.post(report(f"gpu-{i}"), zipped=i % 2 == 0)
    c.post(report("gpu-0"))
    c.post(report("gpu-9", samples=[sample(check="host.kernel_log", subject="pci:0000:1b:00.0", value=1, unit="1",
                                           better="none", ok=False, severity="fatal", code="xid:79")]))
    c.post(b"{")
    c.get("/v1/nodes/nobody")
    c.call("DELETE", "/v1/nodes")
    return c.get("/metrics").body.decode()


def families(text):
    """[(name, type, help)] in the order of the text."""
    helped = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
    return [(name, kind, helped[name]) for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M)]


def test_promtool_has_no_complaint_about_a_busy_controller(busy_text, promtool):
    assert promtool("check", "metrics", text=busy_text) == (0, "")


def test_promtool_would_see_a_counter_without_its_ending(busy_text, promtool):
    status, words = promtool("check", "metrics", text=busy_text.replace("assay_reports_total", "assay_reports"))
    assert status != 0 and "assay_reports" in words


def test_every_family_is_documented_as_it_is(busy_text, top):
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", (top / "docs/metrics.md").read_text(), re.M)
    assert rows == families(busy_text)


def test_the_numbers_are_those_of_what_happened(controller):
    c = controller()
    before = c.metrics()
    c.post(report("gpu-1"))
    c.post(report("gpu-1"))
    m = c.metrics()
    assert (m["assay_reports_total"], m["assay_reports_duplicate_total"], m["assay_reports_waiting"]) == (1, 1, 0)
    assert m["assay_store_bytes"] >= c.db.stat().st_size > 0
    assert 0 < m["process_open_fds"] < m["process_max_fds"] and m["process_resident_memory_bytes"] > 1e6
    assert m["process_cpu_seconds_total"] >= before["process_cpu_seconds_total"] > 0
    started = c.db.stat().st_ctime  # made just after the start
    assert abs(m["process_start_time_seconds"] - started) < 60
    assert m["process_start_time_seconds"] == before["process_start_time_seconds"]


def test_promtool_takes_the_alerts_and_they_name_families_that_are_there(top, promtool, busy_text):
    path = top / "deploy/prometheus/assay-rules.yaml"
    status, words = promtool("check", "rules", path)
    assert status == 0, words
    known = {name for name, _, _ in families(busy_text)} | {f"assay_store_commit_seconds_{n}" for n in ("bucket", "sum", "count")}
    named = set(re.findall(r"\b(?:assay|process)_\w+", "\n".join(re.findall(r"expr: (.*)", path.read_text()))))
    assert named and named <= known


# What stops protection, and stays so until a person does something.
STOPS = {"assay_breaker_open", "assay_fenced", "assay_cluster_stale", "assay_stopped", "assay_nodes_overdue", "assay_nodes_sticky",
         "assay_nodes_let_in", "assay_incidents_open", "assay_budget_used", "assay_store_commit_failures_total", "up"}


def test_whatever_stops_protection_has_an_alert_that_names_what_is_there(top, busy_text):
    rules = [r for g in yaml.safe_load((top / "deploy/prometheus/assay-rules.yaml").read_text())["groups"] for r in g["rules"]]
    named = {n for r in rules for n in re.findall(r"\b(?:up|(?:assay|process)_\w+)\b", r["expr"])}
    known = {name for name, _, _ in families(busy_text)} | {"up", "assay_store_commit_seconds_bucket"}
    assert STOPS <= named <= known
    assert len({r["alert"] for r in rules}) == len(rules)
    for r in rules:
        assert r["labels"]["severity"] in ("warning", "critical") and r["annotations"]["summary"], r["alert"]


def test_the_operator_is_given_the_same_rules(top):
    ours = yaml.safe_load((top / "deploy/prometheus/assay-rules.yaml").read_text())
    theirs = yaml.safe_load((top / "deploy/kubernetes/components/prometheus/rules.yaml").read_text())
    assert theirs["kind"] == "PrometheusRule" and theirs["spec"] == ours
