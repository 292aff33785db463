# SPDX-License-Identifier: Apache-2.0
"""The controller is killed between decision, reservation, effect and record: no action is done twice, lost, or over budget."""
import contextlib
import json
import os
import random
import sqlite3
import threading

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

QUIET_S = 60
STEP_S = 0.25  # from an acknowledged report to the record of the resulting action, plus a margin

POLICY = """v: 1
mode: enforce
budget: {{total: {{percent: 100, nodes: {limit}}}, rate: {{cordons: 1000, per: 1s}}}}
breaker: {{storm: {{cordons: 1000, per: 10m}}, alike: {{percent: 100, nodes: 1000, per: 10m}}, silent_percent: 100}}
rules: [{{name: fatal, match: {{severity: fatal}}, action: cordon}}]
"""


def bad(node):
    gone = sample("rnic.removed", "mlx5_0", 1, "1", better="lower", ok=False, severity="fatal", note="mlx5_0 is gone")
    return report(node, 2, samples=[gone], sku=node)


def rows(db, sql):
    with contextlib.closing(sqlite3.connect(db)) as connection:  # closed: a controller wants the file for itself
        return connection.execute(sql).fetchall()


def held(db, done):
    """The hosts in the ledger whose cordon is done, or not done."""
    return sorted(h["node"] for h in ledger_of(db)["holders"] if h["done"] == done)


def ledger_of(db):
    return json.loads(rows(db, "SELECT text FROM cluster_ledger")[0][0])


@pytest.mark.once
def test_killed_at_any_moment_each_host_is_cordoned_once_within_the_budget(controller, tmp_path, full):
    kills = 200 if full else 30
    limit = kills * 4 // 5
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format(limit=limit))
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\nmode: enforce\npolicy: {policy}\nreport-rate: 100000\nreport-burst: 100000\n")
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "6")))
    c = controller("--config", config)
    hosts = [f"gpu-{i}" for i in range(kills)]
    for host in hosts:
        assert c.post_again(report(host, 1, sku=host)).status == 202
    for host in hosts:
        assert c.post_again(bad(host)).status == 202
        threading.Event().wait(dice.random() * STEP_S)
        c.kill()
        c = controller("--config", config, "--listen", f"127.0.0.1:{c.port}")

    def quiet():
        now = c.metrics()
        return now["assay_actions_under_way"] == 0 and now["assay_nodes_cordoned"] == limit
    assert wait_for(quiet, QUIET_S), {k: v for k, v in c.metrics().items() if "cordon" in k or "action" in k}
    assert c.metrics()['assay_budget_used{budget="total"}'] == limit
    assert c.stop()[0] == 0

    out = {node: json.loads(mark) for node, mark in rows(c.db, "SELECT node, mark FROM cluster_nodes WHERE unschedulable")}
    assert len(out) == limit and all(mark["by"] == "assay" and not mark["pre"] for mark in out.values())
    done = rows(c.db, "SELECT node, id FROM actions WHERE kind = 0 AND state = 1 ORDER BY node")
    assert sorted(node for node, _ in done) == sorted(out), "a cordon was done twice, or is not recorded"
    assert {node: str(number) for node, number in done} == {node: mark["action"] for node, mark in out.items()}
    cordoned = rows(c.db, "SELECT node FROM transitions WHERE event = 'cordoned'")
    assert sorted(node for node, in cordoned) == sorted(out)
    assert rows(c.db, "SELECT * FROM actions WHERE done_us IS NULL") == []
    ledger = ledger_of(c.db)
    assert held(c.db, done=True) == sorted(out) and len(ledger["holders"]) == limit
    assert 1 < ledger["epoch"] <= kills + 1
    dropped = rows(c.db, "SELECT count(*) FROM actions WHERE state = 3")[0][0]
    assert dropped > 0, "no kill fell between a decision and its effect"
