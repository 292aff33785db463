# SPDX-License-Identifier: Apache-2.0
"""assay-controller's HTTP interface: accepted reports are stored, bad requests get the right status."""
import gzip
import json
import re
import signal
import sqlite3
import subprocess

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for


def rows(c, sql):
    """Rows in the store of a stopped controller."""
    db = sqlite3.connect(c.db)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def test_a_report_is_accepted_and_its_copy_is_a_duplicate(controller):
    c = controller()
    first, again = c.post(report()), c.post(report())
    assert (first.status, first.json) == (202, {"accepted": 1})
    assert (again.status, again.json) == (200, {"duplicate": 1})
    assert c.metrics()["assay_reports_total"] == 1
    assert c.metrics()["assay_reports_duplicate_total"] == 1


def test_an_acknowledged_report_survives_kill_9(controller):
    c = controller()
    for seq in range(1, 6):
        assert c.post(report(seq=seq)).status == 202
    c.kill()
    c = controller()
    for seq in range(1, 6):
        assert c.post(report(seq=seq)).status == 200, f"report {seq} was acknowledged and is gone"
    assert c.post(report(seq=6)).status == 202


def test_the_store_keeps_the_body_as_it_was_sent(controller):
    c = controller()
    assert c.post(report(seq=1)).status == 202
    assert c.post(report(seq=2), zipped=True).status == 202
    status, _, _ = c.stop()
    assert status == 0
    (plain, _), (coding, body) = rows(c, "SELECT coding, body FROM reports ORDER BY seq")
    assert plain in (0, 2)
    assert coding == 1
    assert json.loads(gzip.decompress(body))["seq"] == 2


def test_what_is_not_pass_has_its_own_rows(controller):
    c = controller()
    slow = [sample(subject=f"cpu:{i}", value=40e9 if i == 3 else 70e9 + i * 1e8) for i in range(8)]
    assert c.post(report(samples=slow)).status == 202
    assert c.metrics()['assay_nodes{verdict="fail"}'] == 1
    c.stop()
    found = rows(c, "SELECT check_name, subject, value, sentence FROM items")
    assert [(r[0], r[1], r[2]) for r in found] == [("gemm.rate", "cpu:3", 40e9)]
    assert "cpu:3" in found[0][3]


def test_a_passive_report_does_not_hide_what_an_active_one_found(controller, wait_until):
    c = controller()
    slow = [sample(subject=f"cpu:{i}", value=40e9 if i == 3 else 70e9 + i * 1e8) for i in range(8)]
    c.post(report(seq=1, samples=slow))
    c.post(report(seq=2, profile="passive", samples=[sample("host.uptime", "host", 1.0, "1", better="none")],
                  time="2026-11-20T10:05:00Z"))
    wait_until(lambda: c.metrics()["assay_reports_total"] == 2)
    assert c.metrics()['assay_nodes{verdict="fail"}'] == 1
    c.post(report(seq=3, time="2026-11-20T10:10:00Z"))
    wait_until(lambda: c.metrics()['assay_nodes{verdict="pass"}'] == 1)


def test_a_late_report_is_kept_and_changes_no_verdict(controller):
    c = controller()
    slow = [sample(subject=f"cpu:{i}", value=40e9 if i == 3 else 70e9) for i in range(8)]
    assert c.post(report(seq=5)).status == 202
    assert c.post(report(seq=4, samples=slow)).status == 202
    m = c.metrics()
    assert m['assay_nodes{verdict="pass"}'] == 1
    assert m["assay_reports_late_total"] == 1


BAD = [
    (b"", 400, "empty"),
    (b"{", 400, "report"),
    (b"{} {}", 400, "report"),
    (b'{"v":1,"v":1}', 400, "duplicate"),
    (b"[" * 100 + b"]" * 100, 400, "report"),
    (b"\xff\xfe", 400, "report"),
    (b"[]", 422, "object"),
    (b"{}", 422, "kind"),
    (json.dumps(report(seq=0)).encode(), 422, "seq"),
    (json.dumps(report(node="../../etc")).encode(), 422, "node"),
    (json.dumps(report(node="")).encode(), 422, "node"),
    (json.dumps(report(boot_id="x" * 65)).encode(), 422, "boot_id"),
    (json.dumps(report(samples=[{"v": 1, "check": "x"}])).encode(), 422, "samples[0]"),
    (json.dumps({**report(), "v": 2}).encode(), 422, "v"),
]


@pytest.mark.parametrize("body, status, words", BAD, ids=range(len(BAD)))
def test_a_malformed_report_is_refused_with_the_place(controller, body, status, words):
    c = controller()
    answer = c.post(body)
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(answer.json) == {"type", "title", "status", "detail"}
    assert answer.json["status"] == status
    assert words in answer.json["detail"]
    assert c.post(report()).status == 202


def test_gzip_is_taken_and_a_bomb_is_not(controller):
    c = controller()
    broken = {"Content-Encoding": "gzip"}
    assert c.post(report(), zipped=True).status == 202
    assert c.post(b" " * (64 << 20), zipped=True).status == 413
    assert c.post(b"no gzip", headers=broken).status == 400
    assert c.post(gzip.compress(b"{}")[:-4], headers=broken).status == 400
    assert c.post(b"{}", headers={"Content-Encoding": "br"}).status == 415


def test_a_huge_body_is_refused(controller):
    c = controller()
    answer = c.post(b" " * (2 * 1024 * 1024 + 1))
    assert answer.status == 413
    with c.connect() as s:  # not one byte of this one is wanted
        s.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        assert b" 413 " in s.recv(4096)
    assert wait_for(lambda: c.metrics()["assay_http_body_bytes"] == 0)


def test_paths_and_methods_that_are_not_there(controller):
    c = controller()
    assert c.get("/v1/nothing").status == 404
    for method, path, allow in (("GET", "/v1/reports", "POST"), ("HEAD", "/v1/reports", "POST"), ("DELETE", "/healthz", "GET, HEAD"),
                                ("PUT", "/v1/nodes/n/cordon", "POST"), ("PUT", "/v1/campaigns", "POST, GET, HEAD"),
                                # Orders are consumed by reading: an observer would take them from their host.
                                ("HEAD", "/v1/nodes/n/orders", "GET")):
        answer = c.call(method, path)
        assert (answer.status, answer.headers["Allow"]) == (405, allow)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/v1/nodes", "/v1/nodes/gpu-1", "/v1/breaker", "/v1/nodes/gpu-2", "/v1/nothing"])
def test_head_answers_as_get_without_the_body(controller, path):
    c = controller()
    c.post(report())
    get, head = c.get(path), c.call("HEAD", path)
    assert (head.status, head.body) == (get.status, b"")
    same = ("Content-Type", "Cache-Control", "Allow")
    assert [head.headers[name] for name in same] == [get.headers[name] for name in same]
    assert int(head.headers["Content-Length"]) > 0
    # What follows on the connection is not taken for a body.
    with c.connect() as s:
        s.sendall(f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        parts = b"".join(iter(lambda: s.recv(65536), b"")).split(b"HTTP/1.1 ")
    assert len(parts) == 3 and parts[1].endswith(b"\r\n\r\n") and parts[2].startswith(b"200 ")


def test_a_breaker_that_never_opened_has_no_cause(controller):
    breaker = controller().get("/v1/breaker").json
    assert (breaker["open"], breaker["cause"], breaker["opened"], breaker["reason"]) == (False, None, None, "")


def test_health_and_readiness(controller):
    c = controller()
    assert c.get("/healthz").status == 200
    assert c.get("/readyz").status == 200


def test_metrics_are_prometheus_text(controller):
    c = controller()
    c.post(report())
    answer = c.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    helped, typed = set(), {}
    for line in answer.body.decode().splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split()[2])
        elif line.startswith("# TYPE "):
            typed[line.split()[2]] = line.split()[3]
        else:
            m = re.fullmatch(r'([a-z_]+)(\{(?:[a-z]+="[^"]*",?)+\})? ([0-9.e+-]+)', line)
            assert m, line
            family = re.sub("_(bucket|sum|count)$", "", m[1]) if m[1] not in typed else m[1]
            assert family in typed and family in helped, line
            assert typed[family] != "counter" or family.endswith("_total"), line
    m = c.metrics()
    assert m['assay_store_commit_seconds_bucket{le="+Inf"}'] == m["assay_store_commit_seconds_count"] >= 1
    assert sum(m[f'assay_nodes{{verdict="{v}"}}'] for v in ("pass", "warn", "fail", "inconclusive")) == 1


def test_half_open_clients_cost_nothing(controller):
    c = controller()
    silent = [c.connect() for _ in range(100)]
    for s in silent[:50]:
        s.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Le")
    assert c.post(report()).status == 202
    with open(f"/proc/{c.process.pid}/stat") as f:
        before = f.read().split()
    with pytest.raises(TimeoutError):  # one of them waits; nothing else is processed
        silent[0].settimeout(2)
        silent[0].recv(1)
    with open(f"/proc/{c.process.pid}/stat") as f:
        after = f.read().split()
    ticks = sum(int(after[i]) - int(before[i]) for i in (13, 14))
    assert ticks <= 20, "two seconds of silence cost more than a fifth of a second of work"
    # They are closed after their ten seconds.
    for s in silent:
        s.settimeout(60)
        assert s.recv(1) == b""
        s.close()
    assert wait_for(lambda: c.metrics()["assay_http_cut_total"] >= 100)


def test_one_loop_ends_cleanly_on_sigterm(controller):
    c = controller()
    c.post(report())
    status, _, _ = c.stop()
    assert status == 0
    assert "Traceback" not in c.log() and c.log() == ""


def test_the_watchdog_and_readiness_reach_systemd(controller, tmp_path):
    import socket
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(path))
        s.settimeout(60)
        c = controller(env={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "400000"})
        said = b""
        while b"READY=1" not in said or b"WATCHDOG=1" not in said:
            said += s.recv(4096) + b"\n"
        c.process.send_signal(signal.SIGTERM)
        while b"STOPPING=1" not in said:
            said += s.recv(4096) + b"\n"


@pytest.mark.parametrize("text, words", [
    ("v: 1\nlisten: 127.0.0.1:0\nnope: 1\n", "nope"),
    ("listen: x\n", "v"),
    ("v: 2\n", "version 1"),
    ("v: 1\nmode: sometimes\n", "mode"),
    ("v: 1\ncluster: kubernetes\n", "give "),
    ("v: 1\nkubernetes: {taint: {key: a/b, effect: NoExecute}}\n", "kubernetes.taint: effect: NoExecute"),
    ("v: 1\nkubernetes: {taint: some}\n", "kubernetes.taint: expected none"),
    ("v: 1\nkubernetes: {taint: {key: ''}}\n", "kubernetes.taint: key: must not be empty"),
    ("v: 1\nkubernetes: {taint: {key: assay.dev/testing}}\n", "kubernetes.taint.key: assay.dev/testing is used for something else"),
    ("v: 1\nkubernetes: {prefix: a.example, taint: {key: a.example/unverified}}\n", "kubernetes.taint.key: a.example/unverified is used"),
    ("v: 1\nkubernetes: {young: soon}\n", "kubernetes.young"),
    ("v: 1\nkubernetes: {prefix: gpu.example.com/}\n", "kubernetes.prefix: expected the prefix without a slash"),
    ("v: 1\nkubernetes: {prefix: GPU.example.com}\n", "kubernetes.prefix: expected a DNS subdomain"),
    ("v: 1\nkubernetes: {prefix: 7}\n", "kubernetes.prefix: expected a text"),
    ("v: 1\nkubernetes: {prefixes: a}\n", "kubernetes.prefixes"),
    ("v: 1\nkubernetes: {jobs: 7}\n", "kubernetes.jobs: expected a list"),
    ("v: 1\ncluster: kubernetes\nkubernetes: {jobs: [{kind: ours}]}\n", "kubernetes.jobs[0]"),
    ("v: 1\ncluster: kubernetes\nlabels: [{nodes: n, labels: {}}]\n", "the nodes' own labels are used"),
    ("v: 1\ntls-cert: a.pem\n", "tls-key"),
    ("v: 1\nlisten: 0.0.0.0:9470\n", "insecure"),
    ("v: 1\nlisten: nonsense\n", "listen: 'nonsense' is not ADDR:PORT, such as 127.0.0.1:9470"),
    ("v: 1\nlisten: 0.0.0.0:99999\n", "listen: '0.0.0.0:99999' is not ADDR:PORT"),
    ("v: 1\nconnections-max: 0\n", "connections-max"),
    ("v: 1\ndb: ''\n", "db: must not be empty"),
    ("v: 1\ntokens: ''\n", "tokens: must not be empty"),
    ("v: 1\ndb: 7\n", "db: expected a string, not a number"),
])
def test_bad_settings_name_the_place(run, build, tmp_path, text, words):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    path = tmp_path / "controller.yaml"
    path.write_text(text)
    out = run("assay-controller", "--config", path, "--check")
    assert out.returncode == 2
    assert words in out.stderr and out.stderr.count("\n") == 1
    assert out.stderr.startswith(f"{path}: ") or words == "give "
    assert out.stdout == ""


@pytest.mark.parametrize("options, words", [
    (["--listen", "5"], "listen: '5' is not ADDR:PORT"),
    (["--listen", "localhost:9470"], "listen: 'localhost:9470' is not ADDR:PORT"),
    (["--mode", "x"], "--mode: 'x' is not one of observe, dry-run, enforce"),
    (["--cluster", "x"], "--cluster: 'x' is not one of embedded, kubernetes"),
    (["--tls-cert", "a.pem"], "tls-cert: needs tls-key"),
    (["--tokens", "/nonexistent"], "/nonexistent: No such file"),
    (["--tokens", ""], "--tokens: must not be empty"),
    (["--db", ""], "--db: must not be empty"),
])
def test_bad_options_name_what_is_wanted(run, build, options, words):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    out = run("assay-controller", "--check", *options)
    assert out.returncode == 2
    assert out.stderr.startswith(words) and out.stderr.count("\n") == 1


def test_options_count_more_than_the_file(controller, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\nlisten: 127.0.0.1:1\ndb: /nonexistent/assay.db\n")
    c = controller("--config", path)
    assert c.get("/readyz").status == 200


@pytest.mark.parametrize("address", ["nonsense", "1.2.3.4", "127.0.0.1:x", "300.1.1.1:80"])
def test_an_address_that_is_none(run, build, tmp_path, address):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    out = run("assay-controller", "--listen", address, "--insecure", "--db", tmp_path / "a.db")
    assert out.returncode == 2
    assert address in out.stderr


def test_a_file_that_is_no_store(run, build, tmp_path):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    path = tmp_path / "assay.db"
    path.write_text("this is text" * 1000)
    out = run("assay-controller", "--listen", "127.0.0.1:0", "--db", path)
    assert out.returncode == 2
    assert str(path) in out.stderr


def test_the_store_of_a_newer_program_is_left_alone(run, controller, tmp_path):
    c = controller()
    c.stop()
    db = sqlite3.connect(c.db)
    db.execute("PRAGMA user_version = 99")
    db.close()
    out = run("assay-controller", "--listen", "127.0.0.1:0", "--db", c.db)
    assert out.returncode == 2
    assert "version 99" in out.stderr


def test_a_full_disk_is_told_and_takes_nothing_back_that_was_acknowledged(controller, tmp_path):
    c = controller()
    assert c.post(report(seq=1)).status == 202
    subprocess.run(["prlimit", f"--pid={c.process.pid}", "--fsize=1:"], check=True)
    answer = c.post(report(seq=2))
    assert answer.status == 503
    assert answer.headers["Retry-After"]
    subprocess.run(["prlimit", f"--pid={c.process.pid}", "--fsize=unlimited:"], check=True)
    assert wait_for(lambda: c.post(report(seq=2)).status == 202)
    assert c.post(report(seq=1)).status == 200
