# SPDX-License-Identifier: Apache-2.0
"""/metrics as parsed by Prometheus. Alerts and dashboards: test_deploy_alerts.py, test_deploy_grafana.py."""
import re

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from promtool import families, named, promtool, series_names  # noqa: F401
from waiting import wait_for


@pytest.fixture
def busy_text(controller):
    """The metrics of a controller after good and bad reports and calls of several kinds."""
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


def test_promtool_has_no_complaint_about_a_busy_controller(busy_text, promtool):
    assert promtool("check", "metrics", text=busy_text) == (0, "")


def test_promtool_would_see_a_counter_without_its_ending(busy_text, promtool):
    status, words = promtool("check", "metrics", text=busy_text.replace("assay_reports_total", "assay_reports"))
    assert status != 0 and "assay_reports" in words


def test_every_family_is_documented_as_it_is(busy_text, top):
    page = (top / "docs/metrics.md").read_text().partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", page, re.M)
    assert rows == families(busy_text)


def test_the_numbers_are_those_of_what_happened(controller):
    c = controller()
    before = c.metrics()
    c.post(report("gpu-1"))
    c.post(report("gpu-1"))
    counts = ("assay_reports_total", "assay_reports_duplicate_total", "assay_reports_waiting")
    assert wait_for(lambda: tuple(c.metrics()[name] for name in counts) == (1, 1, 0))
    size = c.db.stat().st_size
    m = c.metrics()
    assert m["assay_store_bytes"] >= size > 0
    assert 0 < m["process_open_fds"] < m["process_max_fds"] and m["process_resident_memory_bytes"] > 1e6
    assert m["process_cpu_seconds_total"] >= before["process_cpu_seconds_total"] > 0
    started = c.db.stat().st_ctime  # created just after the start
    assert abs(m["process_start_time_seconds"] - started) < 60
    assert m["process_start_time_seconds"] == before["process_start_time_seconds"]


def test_no_page_names_a_metric_that_is_not_told(busy_text, top):
    """Except those of hosts, which docs/metrics.md, docs/jobs.md and docs/rings.md list in their own tables; process_full is a reason."""
    tables = "".join((top / page).read_text() for page in ("docs/metrics.md", "docs/jobs.md", "docs/rings.md"))
    known = {"process_full"} | series_names(busy_text) | {name for name, _, _ in families(busy_text)} | set(re.findall(r"^\| `(assay_[a-z_]+)", tables, re.M))
    pages = [top / "README.md", *(top / "docs").glob("*.md")]
    assert {page.name: sorted(named(page.read_text()) - known) for page in pages if named(page.read_text()) - known} == {}
