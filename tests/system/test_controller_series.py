# SPDX-License-Identifier: Apache-2.0
"""Families of /metrics with labels that hosts choose, and /metrics/nodes."""
import hashlib
import re
import shutil
import subprocess

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

CHECKS_MAX, INCIDENTS_MAX, BASELINES_MAX = 2800, 495, 1700  # of controller/routes/metrics.h
FATAL = sample(check="host.kernel_log", subject="pci:0000:1b:00.0", value=1, unit="1", better="none", ok=False, severity="fatal", code="xid:79")


def series(c, family):
    """{(label values): value} of a family."""
    found = {}
    for key, value in c.metrics().items():
        name, _, labels = key.partition("{")
        if name == family:
            found[tuple(re.findall(r'="((?:[^"\\]|\\.)*)"', labels))] = value
    return found


def others(n):
    return ("(others)",) * n


def test_hosts_are_counted_by_their_sku_check_and_worst_part(controller):
    c = controller()
    for i in range(3):
        assert c.post(report(f"gpu-{i}")).status == 202
    assert c.post(report("gpu-3", samples=[*report()["samples"], FATAL])).status == 202
    assert c.post(report("gpu-4", sku="other")).status == 202
    assert wait_for(lambda: sum(series(c, "assay_checks").values()) == 6)
    found = series(c, "assay_checks")
    assert {k: v for k, v in found.items() if k[1] == "host.kernel_log"} == {("generic-cpu", "host.kernel_log", "fail"): 1}
    assert sum(v for k, v in found.items() if k[:2] == ("generic-cpu", "gemm.rate")) == 4
    assert sum(v for k, v in found.items() if k[:2] == ("other", "gemm.rate")) == 1
    assert found[others(3)] == 0 and set(series(c, "assay_series_left_out").values()) == {0}


def test_a_host_that_gets_well_changes_its_place(controller):
    c = controller()
    bad = [sample(subject=f"cpu:{i}", value=70e9 if i else 1e9) for i in range(8)]
    c.post(report("gpu-1", samples=bad))
    assert wait_for(lambda: any(k[2] in ("warn", "fail") for k in series(c, "assay_checks")))
    c.post(report("gpu-1", seq=2))
    assert wait_for(lambda: {k[2] for k in series(c, "assay_checks")} <= {"pass", "inconclusive", "(others)"})


def test_open_incidents_are_told_by_check_and_action(controller):
    c = controller()
    assert series(c, "assay_incidents_open") == {others(2): 0}
    for name in ("gpu-1", "gpu-2"):
        c.post(report(name, samples=[FATAL]))
    assert wait_for(lambda: sum(series(c, "assay_incidents_open").values()) == 2)
    found = series(c, "assay_incidents_open")
    assert [k[0] for k in found if k != others(2)] == ["host.kernel_log"]
    assert sum(found.values()) == len(c.get("/v1/incidents?state=open").json["items"])


def test_a_baseline_is_the_median_of_its_hosts(controller):
    c = controller()
    for i, value in enumerate((60e9, 70e9, 71e9)):
        c.post(report(f"gpu-{i}", samples=[sample(subject=f"cpu:{k}", value=value) for k in range(8)]))
    told = next(b for b in c.get("/v1/baselines").json["items"] if b["check"] == "gemm.rate")
    assert series(c, "assay_baseline") == {("generic-cpu", "gemm.rate", told["class"] or ""): pytest.approx(told["median"], rel=1e-5)}


def test_however_much_is_made_up_the_series_stay_within_their_limit(controller):
    """Each host invents checks: the first ones are exported, those beyond the limit are counted, none is silent."""
    c = controller()
    hosts, each = 12, 300
    for i in range(hosts):
        samples = [sample(check=f"made.up_{i}_{k}", subject="host", value=1, unit="1", better="none", ok=False, severity="fail") for k in range(each)]
        assert c.post_again(report(f"gpu-{i}", samples=samples)).status == 202
    assert wait_for(lambda: sum(series(c, "assay_checks").values()) == hosts * each)
    found = series(c, "assay_checks")
    left = series(c, "assay_series_left_out")
    assert len(found) == CHECKS_MAX + 1 and left[("assay_checks",)] == hosts * each - CHECKS_MAX == found[others(3)]
    opened = series(c, "assay_incidents_open")
    assert len(opened) <= INCIDENTS_MAX + 1 and sum(opened.values()) == len(opened) - 1 + opened[others(2)]
    assert len(series(c, "assay_baseline")) <= BASELINES_MAX


def test_names_that_hosts_make_up_break_no_line(controller):
    c = controller()
    c.post(report("gpu-1", sku='a"} 1\nb{x="', samples=[sample(check='gemm.rate')]))
    text = c.get("/metrics").body.decode()
    assert not [line for line in text.splitlines() if not re.fullmatch(r'#.*|[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? [-+.0-9e]+(Inf)?|\w+_bucket.*', line)]


# --- one line per host -----------------------------------------------------------------------


def sha(token):
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def guarded(controller, tmp_path):
    """guarded(text of controller.yaml): a controller with tokens "reader" and "host"."""
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"v: 1\ntokens:\n  - {{sha256: {sha('reader')}, role: read}}\n  - {{sha256: {sha('ann')}, role: operate, name: ann}}\n"
                      f"  - {{sha256: {sha('host')}, node: gpu-1}}\n")
    config = tmp_path / "controller.yaml"

    def start(more):
        config.write_text(f"v: 1\ntokens: {tokens}\n{more}")
        c = controller("--config", config)
        c.config = config
        return c

    return start


def test_hosts_are_told_only_when_it_is_set_and_only_to_readers(guarded):
    c = guarded("")
    answer = c.get("/metrics/nodes", token="reader")
    assert answer.status == 404 and "metrics-nodes: true in controller.yaml" in answer.json["detail"]
    assert c.get("/metrics/nodes").status == 401
    c.config.write_text(c.config.read_text() + "metrics-nodes: true\n")
    c.process.send_signal(1)
    assert wait_for(lambda: c.get("/metrics/nodes", token="reader").status == 200)
    assert c.get("/metrics/nodes").status == 401 and c.get("/metrics/nodes", token="host").status == 403
    assert "only a restart" not in c.log()


def test_two_series_a_host(guarded, top):
    c = guarded("metrics-nodes: true\nmode: enforce\n")
    c.post(report("gpu-1"), token="host")

    def told():
        lines = c.get("/metrics/nodes", token="reader").body.decode().splitlines()
        return {k: float(v) for k, _, v in (line.rpartition(" ") for line in lines if line[0] != "#")}

    assert set(told()) == {'assay_node_verdict{node="gpu-1"}', 'assay_node_cordoned{node="gpu-1"}'}
    assert told()['assay_node_cordoned{node="gpu-1"}'] == 0
    assert wait_for(lambda: c.call("POST", "/v1/nodes/gpu-1/cordon", '{"reason": "x"}', token="ann").status == 200)
    assert wait_for(lambda: told()['assay_node_cordoned{node="gpu-1"}'] == 1)
    level = ["pass", "inconclusive", "warn", "fail"].index(c.get("/v1/nodes/gpu-1", token="reader").json["verdict"])
    assert told()['assay_node_verdict{node="gpu-1"}'] == level
    rows = re.findall(r"^\| `(assay_node_\w+)` \| (\w+) \| (.*) \|$", (top / "docs/metrics.md").read_text(), re.M)
    text = c.get("/metrics/nodes", token="reader").body.decode()
    assert rows == [(n, k, h) for n, h, k in re.findall(r"^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$", text, re.M)] and len(rows) == 2


def test_no_family_of_metrics_names_a_host(controller):
    c = controller()
    for i in range(3):
        c.post(report(f"gpu-{i}"))
    assert wait_for(lambda: sum(series(c, "assay_checks").values()) == 3)
    assert not re.search(r"gpu-\d", c.get("/metrics").body.decode())


# --- certificates --------------------------------------------------------------------------------


def test_when_the_certificate_ends_is_told(controller, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: it makes the certificate")
    cert, key = tmp_path / "c.pem", tmp_path / "c.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-days", "9", "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    c = controller("--tls-cert", cert, "--tls-key", key, tls=cert)
    dates = subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-enddate", "-dateopt", "iso_8601"], capture_output=True, text=True, timeout=60).stdout
    end = subprocess.run(["date", "-u", "-d", dates.split("=")[1].strip(), "+%s"], capture_output=True, text=True, check=True).stdout
    assert series(c, "assay_certificate_expires_seconds") == {("tls-cert",): float(end)}
