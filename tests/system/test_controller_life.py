# SPDX-License-Identifier: Apache-2.0
"""The life cycle of a host: found bad, cordoned, informed, good again, tested by order, returned to service."""
import sqlite3
import subprocess

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

WAIT_S = 60

POLICY = """v: 1
mode: {mode}
budget: {{total: {{percent: 50}}, rate: {{cordons: 100, per: 10m}}}}
release: {{healthy_delay: 1s, passes: 1}}
coverage: {{max_age: 3650d}}
rules: [{{name: fatal, match: {{severity: fatal}}, action: cordon}}]
"""


def nic(ok):
    more = {} if ok else {"severity": "fatal", "note": "mlx5_0 is gone"}
    return sample("rnic.removed", "mlx5_0", 0 if ok else 1, "1", better="lower", ok=ok, **more)


class Host:
    """One host that reports and holds its call for orders."""

    def __init__(self, c, name):
        self.c, self.name, self.seq = c, name, 0

    def report(self, ok=True, **more):
        self.seq += 1
        cores = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)]
        answer = self.c.post(report(self.name, self.seq, samples=[*cores, nic(ok)], sku=self.name, **more))
        assert answer.status == 202, answer.body

    def orders(self):
        answer = self.c.get(f"/v1/nodes/{self.name}/orders?wait=1")
        return answer.json if answer.status == 200 else []

    def opinion(self):
        found = [o["opinion"] for o in self.orders() if o["kind"] == "opinion"]
        return found[-1] if found else None

    def test(self):
        """Waits for the order to test, reporting meanwhile like a host."""
        self.report()
        return next((o for o in self.orders() if o["kind"] == "deep"), None)


def start(controller, tmp_path, mode, option):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format(mode=mode))
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\npolicy: {policy}\nlabels: [{{nodes: 'gpu-*', labels: {{rack: r1}}}}]\n")
    return controller("--config", config, "--mode", option)


def cordoned(c):
    return c.metrics()["assay_nodes_cordoned"]


@pytest.mark.once
def test_a_bad_host_is_taken_out_told_so_tested_and_given_back(controller, tmp_path):
    c = start(controller, tmp_path, "enforce", "enforce")
    hosts = [Host(c, f"gpu-{i}") for i in range(4)]
    for host in hosts:
        host.report()
    sick = hosts[1]
    assert sick.opinion()["verdict"] != "fail"
    sick.report(ok=False)
    assert wait_for(lambda: cordoned(c) == 1, WAIT_S)
    told = wait_for(sick.opinion, WAIT_S)
    assert told["verdict"] == "fail" and "mlx5_0 is gone" in told["sentence"]
    order = wait_for(sick.test, WAIT_S)
    assert order["id"].startswith("test-") and order["deadline"] > order["now"]
    assert cordoned(c) == 1, "given back before its test"
    sick.report(profile="full", order={"id": order["id"], "kind": "deep"})
    assert wait_for(lambda: cordoned(c) == 0, WAIT_S)
    told = wait_for(sick.opinion, WAIT_S)
    assert told["verdict"] != "fail"
    now = c.metrics()
    assert now['assay_cordons_total{result="done"}'] == 1 and now["assay_uncordons_total"] == 1
    assert now["assay_tests_ordered_total"] == now["assay_tests_answered_total"] == 1
    assert c.stop()[0] == 0
    with sqlite3.connect(c.db) as db:
        steps = [row[0] for row in db.execute("SELECT event FROM transitions WHERE node = 'gpu-1' ORDER BY id")]
        assert steps[:2] == ["suspected", "cordoned"] and steps[-1] == "released" and "verify" in steps
        rows = db.execute("SELECT kind, state, who, undo FROM actions ORDER BY id").fetchall()
        assert [(kind, state) for kind, state, _, _ in rows] == [(0, 1), (5, 1), (1, 1)]
        assert all(who == "automatic" and undo for _, _, who, undo in rows)
        assert db.execute("SELECT count(*) FROM cluster_nodes WHERE unschedulable OR mark NOT NULL").fetchone() == (0,)


def test_the_more_cautious_mode_counts(controller, tmp_path):
    c = start(controller, tmp_path, "enforce", "dry-run")
    for i in range(4):
        Host(c, f"gpu-{i}").report(ok=i != 2)
    assert wait_for(lambda: c.metrics()['assay_cordons_total{result="dry-run"}'] == 1, WAIT_S)
    assert cordoned(c) == 0 and c.stop()[0] == 0
    with sqlite3.connect(c.db) as db:
        assert db.execute("SELECT node, state FROM actions").fetchall() == [("gpu-2", 4)]


def test_what_is_no_label_is_named(tmp_path, build, environ):
    config = tmp_path / "controller.yaml"
    for text, place in (("[{nodes: a, labels: {rack: 1}}]", "labels[0]: labels.rack: expected a string"),
                        ("[{labels: {rack: a}}]", "labels[0].nodes"), ("{a: b}", "labels")):
        config.write_text(f"v: 1\nlabels: {text}\n")
        done = subprocess.run([str(build / "assay-controller"), "--check", "--config", str(config)], env=environ,
                              capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode == 2 and place in done.stderr and done.stderr.count("\n") == 1, done.stderr
