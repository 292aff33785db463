# SPDX-License-Identifier: Apache-2.0
"""deploy/prometheus: each alert fires and ends when it should, uses existing metrics, and says what to do."""
import json
import re

import pytest
import yaml

from fixtures_controller import controller, report  # noqa: F401
from promtool import named, promtool, series_names  # noqa: F401

RULES = "deploy/prometheus/assay-rules.yaml"
BEFORE = 10  # quiet minutes before the fault begins
LATER = 5  # minutes beyond `for` after which an alert must fire
LASTS = 20  # minutes beyond `for` that the fault lasts

# Faults that stop protection until a person intervenes.
STOPS = {"assay_breaker_open", "assay_fenced", "assay_cluster_stale", "assay_stopped", "assay_nodes_overdue", "assay_nodes_sticky",
         "assay_nodes_let_in", "assay_incidents_open", "assay_budget_used", "assay_store_commit_failures_total", "up",
         "assay_certificate_expires_seconds", "assay_spool_oldest_timestamp_seconds"}


@pytest.fixture(scope="module")
def rules(top):
    return [r for g in yaml.safe_load((top / RULES).read_text())["groups"] for r in g["rules"]]


def minutes(text):
    return int(text[:-1]) * {"m": 1, "h": 60, "d": 1440}[text[-1]] if text else 0


class Series:
    """Values of a series, one per minute."""

    def __init__(self, quiet, wrong, rate=(0, 0)):
        self.quiet, self.wrong, self.rate = quiet, wrong, rate

    def text(self, wrong_minutes, after):
        if self.rate == (0, 0):
            return f"{self.quiet}x{BEFORE - 1} {self.wrong}x{wrong_minutes - 1} {self.quiet}x{after}"
        usual, other = self.rate
        first, second = usual * BEFORE, usual * BEFORE + other * wrong_minutes
        return f"0+{usual}x{BEFORE - 1} {first}+{other}x{wrong_minutes - 1} {second}+{usual}x{after}"


def flag(wrong=1, quiet=0):
    return Series(quiet, wrong)


def rising(usual, wrong):
    """A counter, given its increase per minute."""
    return Series(0, 0, (usual, wrong))


NODES = {'assay_nodes{verdict="pass"}': flag(100, 100)}
BUCKETS = {'assay_store_commit_seconds_bucket{le="0.01"}': rising(10, 0), 'assay_store_commit_seconds_bucket{le="1"}': rising(10, 10),
           'assay_store_commit_seconds_bucket{le="+Inf"}': rising(10, 10)}
# (alert, fault, minutes until it resolves after the fault: the range of its expression plus a few)
CASES = (
    ("AssayControllerDown", {'up{job="assay"}': flag(0, 1)}, 5),
    ("AssayControllerDown", {'up{job="assay"}': flag("_", 1)}, 5),
    ("AssayStoreFails", {"assay_store_commit_failures_total": rising(0, 1)}, 15),
    ("AssayStoreSlow", BUCKETS, 15),
    ("AssayStoreDamaged", {"assay_store_damaged_pages": flag(), "assay_store_lost_commits": flag(0), "assay_store_unsure": flag(0)}, 5),
    ("AssayStoreDamaged", {"assay_store_damaged_pages": flag(0), "assay_store_lost_commits": flag(2), "assay_store_unsure": flag(0)}, 5),
    ("AssayStoreDamaged", {"assay_store_damaged_pages": flag(0), "assay_store_lost_commits": flag(0), "assay_store_unsure": flag()}, 5),
    ("AssayTableCrowded", {"assay_baselines_dropped_total": rising(0, 1), "assay_shifts_dropped_total": rising(0, 0.0001)}, 65),
    ("AssayTableCrowded", {'assay_series_left_out{family="assay_checks"}': flag(7)}, 5),
    ("AssayManyFailing", {**NODES, 'assay_nodes{verdict="fail"}': flag(6)}, 5),
    ("AssayReportsStopped", {**NODES, "assay_reports_total": rising(5, 0)}, 35),
    ("AssayNearDescriptorLimit", {'process_open_fds{job="assay"}': flag(950, 90), 'process_max_fds{job="assay"}': flag(1000, 1000)}, 5),
    ("AssayReloadRefused", {"assay_reload_failures_total": rising(0, 0.1)}, 65),
    ("AssayAlertsWait", {'assay_alerts_oldest_seconds{alertmanager="http://a:9093"}': flag(900), "assay_alerts_left_out": flag(0)}, 15),
    ("AssayBreakerOpen", {"assay_breaker_open": flag()}, 5),
    ("AssayFenced", {"assay_fenced": flag()}, 5),
    ("AssayClusterStale", {"assay_cluster_stale": flag()}, 5),
    ("AssayCertificateEnds", {'assay_certificate_expires_seconds{file="tls-cert"}': flag(1000000, 9000000)}, 5),
    ("AssayReportsWaitOnHosts", {'assay_spool_reports{instance="a"}': flag(3), 'assay_spool_oldest_timestamp_seconds{instance="a"}': flag(-9000, 0),
                                 'assay_spool_reports{instance="b"}': flag(0), 'assay_spool_oldest_timestamp_seconds{instance="b"}': flag(0)}, 5),
    ("AssayStopped", {"assay_stopped": flag()}, 5),
    ("AssayBudgetUsedUp", {'assay_budget_used{budget="total"}': flag(5, 4), 'assay_budget_limit{budget="total"}': flag(5, 5)}, 5),
    ("AssayNodesLetIn", {"assay_nodes_let_in": flag(2)}, 5),
    ("AssayNodesSticky", {"assay_nodes_sticky": flag(2)}, 5),
    ("AssayNodesOverdue", {**NODES, "assay_nodes_overdue": flag(30, 2)}, 5),
    ("AssayJobSlow", {'assay_job_own_slowdown{namespace="research",job="research/a"}': flag(1.4, 1.02)}, 5),
    ("AssayJobStopped", {"assay_jobs_standing_still": flag()}, 5),
    ("AssayJobStopped", {"assay_jobs_standing_still": flag(0), "assay_jobs_hung": flag()}, 5),
    ("AssayJobHostSuspected", {"assay_suspects": flag(2)}, 5),
    ("AssayInvestigationStuck", {'assay_investigation_oldest_seconds{state="testing"}': flag(15000, 100),
                                 'assay_investigation_oldest_seconds{state="open"}': flag(0)}, 5),
    ("AssayInvestigationStuck", {'assay_investigation_oldest_seconds{state="testing"}': flag(0),
                                 'assay_investigation_oldest_seconds{state="open"}': flag(91000, 100)}, 5),
    ("AssayPredictionsPoor", {'assay_predictions_poor{class="fix_node"}': flag()}, 5),
    ("AssayManyIncidents", {**NODES, 'assay_incidents_open{check="a",action="alert"}': flag(8), 'assay_incidents_open{check="b",action="cordon"}': flag(8)}, 5),
)
# Minor faults that must not alert.
QUIET = (
    ("AssayManyFailing", {**NODES, 'assay_nodes{verdict="fail"}': flag(3)}),
    ("AssayBudgetUsedUp", {'assay_budget_used{budget="total"}': flag(0), 'assay_budget_limit{budget="total"}': flag(0)}),
    ("AssayReportsStopped", {'assay_nodes{verdict="pass"}': flag(0), "assay_reports_total": flag(0)}),
    ("AssayReportsWaitOnHosts", {"assay_spool_reports": flag(3), "assay_spool_oldest_timestamp_seconds": flag(0, 9e9)}),
    ("AssayControllerDown", {'up{job="assay",instance="a"}': flag(0), 'up{job="assay",instance="b"}': flag(1, 1)}),
    ("AssayNodesOverdue", {**NODES, "assay_nodes_overdue": flag(10)}),
    ("AssayManyIncidents", {**NODES, 'assay_incidents_open{check="a",action="alert"}': flag(9)}),
    ("AssayCertificateEnds", {'assay_certificate_expires_seconds{file="tls-cert"}': flag(9000000, 9000000)}),
)


def asked(alert, at, severity):
    """Asserts whether it fires at minute `at`; `severity` None: it does not."""
    fires = [{"labels": f'ALERTS{{alertname="{alert}",alertstate="firing",severity="{severity}"}}', "value": 1}] if severity else []
    return {"expr": f'max by (__name__, alertname, alertstate, severity) (ALERTS{{alertname="{alert}",alertstate="firing"}})',
            "eval_time": f"{at}m", "exp_samples": fires}


def test_each_alert_fires_and_ends(top, rules, promtool, tmp_path):
    by_name = {r["alert"]: r for r in rules}
    assert {alert for alert, _, _ in CASES} == set(by_name)
    tests = []
    for alert, series, over in CASES:
        rule, wait = by_name[alert], minutes(by_name[alert].get("for"))
        # An expression over a range becomes true a little after the fault begins.
        late = max([0, *(minutes(m) for m in re.findall(r"\[(\w+)\]", rule["expr"]) if alert in ("AssayReportsStopped", "AssayStoreSlow"))])
        wrong = late + wait + LASTS
        steps = [(BEFORE - 1, None), (BEFORE + late + wait + LATER, rule["labels"]["severity"]), (BEFORE + wrong + over, None)]
        if wait >= 5:
            steps.insert(1, (BEFORE + wait - 2, None))
        tests.append({"interval": "1m", "input_series": [{"series": k, "values": v.text(wrong, over + 10)} for k, v in series.items()],
                      "promql_expr_test": [asked(alert, at, severity) for at, severity in steps]})
    for alert, series in QUIET:
        wait = minutes(by_name[alert].get("for")) + LASTS
        tests.append({"interval": "1m", "input_series": [{"series": k, "values": v.text(wait, 10)} for k, v in series.items()],
                      "promql_expr_test": [asked(alert, BEFORE + wait - 1, None)]})
    path = tmp_path / "test.yaml"
    path.write_text(json.dumps({"rule_files": [str(top / RULES)], "evaluation_interval": "1m", "tests": tests}))
    status, words = promtool("test", "rules", path)
    assert status == 0, words


def test_the_test_sees_an_alert_that_never_fires(top, rules, promtool, tmp_path):
    broken = tmp_path / "rules.yaml"
    broken.write_text((top / RULES).read_text().replace("assay_breaker_open == 1", "assay_breaker_open == 2"))
    series = [{"series": "assay_breaker_open", "values": "1x20"}]
    for file, right in ((top / RULES, True), (broken, False)):
        path = tmp_path / "test.yaml"
        path.write_text(json.dumps({"rule_files": [str(file)], "evaluation_interval": "1m", "tests": [
            {"interval": "1m", "input_series": series, "promql_expr_test": [asked("AssayBreakerOpen", 10, "critical")]}]}))
        assert (promtool("test", "rules", path)[0] == 0) == right


def test_what_is_said_has_the_numbers_in_it(top, promtool, tmp_path):
    """Templates are expanded only when firing: one with a label and a duration is tested for all."""
    path = tmp_path / "test.yaml"
    alert = {"eval_time": "70m", "alertname": "AssayCertificateEnds", "exp_alerts": [{
        "exp_labels": {"severity": "warning", "file": "client-ca"},
        "exp_annotations": {"summary": "a certificate of assay-controller expires within two weeks",
                            "description": "The one in client-ca expires in 10d 0h 0m 0s; after that no host can report. Renew it, then reload the controller.",
                            "runbook_url": "docs/acting-runbook.md#assaycertificateends"}}]}
    path.write_text(json.dumps({"rule_files": [str(top / RULES)], "evaluation_interval": "1m", "tests": [
        {"interval": "1m", "alert_rule_test": [alert], "input_series": [
            {"series": 'assay_certificate_expires_seconds{file="client-ca"}', "values": f"{10 * 86400 + 70 * 60}x100"}]}]}))
    status, words = promtool("test", "rules", path)
    assert status == 0, words


def test_promtool_takes_the_alerts(top, promtool):
    status, words = promtool("check", "rules", top / RULES)
    assert status == 0, words


def test_whatever_stops_protection_has_an_alert_and_each_names_what_is_there(top, rules, controller):
    c = controller()
    c.post(report())
    text = c.get("/metrics").body.decode()
    spool = {n for n in named((top / "agents/assayd/spool_metrics.c").read_text()) if n.startswith("assay_spool_")}
    used = {n for r in rules for n in named(r["expr"]) | ({"up"} if "up{" in r["expr"] else set())}
    assert STOPS <= used and not used - series_names(text) - spool - {"up"}


def test_each_alert_says_what_to_do_and_where_it_stands(top, rules):
    book = (top / "docs/acting-runbook.md").read_text()
    headings = {h.lower() for h in re.findall(r"^### (\w+)$", book, re.M)}
    assert len({r["alert"] for r in rules}) == len(rules)
    assert headings == {r["alert"].lower() for r in rules}
    for r in rules:
        a = r["annotations"]
        assert r["labels"]["severity"] in ("warning", "critical") and a["summary"] and a["description"].endswith((".", "?", ")")), r["alert"]
        assert a["runbook_url"] == "docs/acting-runbook.md#" + r["alert"].lower()


def test_no_alert_is_of_a_host(rules):
    for r in rules:
        assert not re.search(r"\bby \([^)]*(node|instance)", r["expr"]) and "$labels.node" not in json.dumps(r), r["alert"]


def test_the_operator_is_given_the_same_rules(top):
    ours = yaml.safe_load((top / RULES).read_text())
    theirs = yaml.safe_load((top / "deploy/kubernetes/components/prometheus/rules.yaml").read_text())
    assert theirs["kind"] == "PrometheusRule" and theirs["spec"] == ours
