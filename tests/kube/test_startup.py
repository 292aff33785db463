# SPDX-License-Identifier: Apache-2.0
"""Nodes with the start-up taint on a real API server: it is removed when a test of this machine, boot and node has passed."""
import pytest
from acting import WAIT_S, Host, nic
from fixtures_controller import report, sample
from server import CONTROLLER

TAINT = {"key": "assay.dev/unverified", "effect": "NoSchedule"}
OTHER = {"key": "example.com/theirs", "value": "x", "effect": "NoSchedule"}
DENIED = 3  # budget.deny.nodes of the default policy


class Fresh(Host):
    """A host whose node has just joined, with the taint."""

    def __init__(self, acting, name, boot="boot-2"):
        super().__init__(acting, name)
        self.boot = boot

    def join(self, *taints):
        admin = self.acting.kube.admin
        admin.create_node(self.name, taints=[TAINT, *taints])
        admin.patch(f"/api/v1/nodes/{self.name}/status", {"status": {"nodeInfo": {"bootID": "boot-2"}}}, content="application/strategic-merge-patch+json")
        return self

    def report(self, ok=None, rate=70e9, **more):
        self.ok, self.seq = self.ok if ok is None else ok, self.seq + 1
        cores = [sample(subject=f"cpu:{i}", value=rate + i * 1e8, ok=self.ok) for i in range(8)]
        value = report(self.name, self.seq, samples=[*cores, nic(True)], sku=self.name, boot_id=self.boot, **more)
        assert self.acting.ask(lambda c: c.post_again(value)).status in (200, 202)

    def taints(self):
        return self.acting.kube.admin.node(self.name)["spec"].get("taints", [])

    def actions(self):
        items = self.acting.ask(lambda c: c.get("/v1/actions?limit=1000")).json["items"]
        return [a for a in items if a["node"] == self.name and a["action"] == "verified"]


@pytest.fixture
def fresh(acting):
    """fresh(additional policy): the controller, acting on two nodes without the taint."""
    return lambda policy="startup: {lift: true}\n": acting.start(["gpu-0", "gpu-1"], policy=policy)


def test_the_taint_goes_with_a_pass_of_this_boot_and_only_then(fresh):
    acting = fresh()
    node = Fresh(acting, "gpu-2", boot="boot-1")
    node.report()  # before it joined, and of the previous boot
    node.join(OTHER)
    node.report(profile="passive")
    other = Fresh(acting, "gpu-3").join()
    assert acting.until(lambda: other.report() or other.taints() == [], WAIT_S), acting.c.log()
    assert TAINT in node.taints() and node.actions() == []
    node.boot = "boot-2"
    assert acting.until(lambda: node.report() or TAINT not in node.taints(), WAIT_S), acting.c.log()
    assert node.taints() == [OTHER]
    # A decision just before another write of the node is dropped, and made again on the new state.
    assert acting.until(lambda: [a["state"] for a in node.actions() if a["state"] != "dropped"] == ["done"], WAIT_S), node.actions()
    action = next(a for a in node.actions() if a["state"] == "done")
    assert action["by"] == "automatic" and "quick run has passed since it joined and booted" in action["reason"]
    assert acting.until(lambda: [e for e in acting.kube.admin.events_of("gpu-2") if e["reason"] == "AssayVerified"], WAIT_S)
    written = [r for r in acting.kube.audit.writes(user=CONTROLLER, resource="nodes", name="gpu-2") if "taints" in r.request.get("spec", {})]
    assert len(written) == 1 and written[0].request["metadata"]["resourceVersion"]
    acting.finish()


def test_what_does_not_pass_keeps_it_until_the_deny_budget_is_used_up(fresh):
    acting = fresh()
    nodes = [Fresh(acting, f"gpu-{i}").join() for i in range(2, 2 + DENIED + 1)]

    def are_known():  # measurements in the second in which it joined do not count
        for node in nodes:
            node.report(ok=False)
        return all(n.actions() for n in nodes)
    assert acting.until(are_known, WAIT_S), acting.c.log()
    assert acting.until(lambda: [n.taints() for n in nodes].count([]) == 1, WAIT_S), acting.c.log()
    kept = [n for n in nodes if n.taints()]
    let_in = next(n for n in nodes if not n.taints())
    assert [n.actions()[0]["state"] for n in kept] == ["refused"] * DENIED
    assert "gemm.rate" in kept[0].actions()[0]["reason"]
    assert acting.until(lambda: let_in.actions()[0]["state"] == "done", WAIT_S)
    assert let_in.actions()[0]["rule"] == "budget.deny" and "budget.deny" in let_in.actions()[0]["reason"]
    incidents = acting.ask(lambda c: c.get("/v1/incidents?state=open")).json["items"]
    assert [i["node"] for i in incidents if i["check"] == "admission"] == ["fleet:startup"], incidents
    acting.settle()
    assert [n.taints() for n in kept] == [[TAINT]] * DENIED
    words = " ".join(acting.ctl("why", kept[0].name).stdout.split())
    assert "no jobs its quick run" in words and "was fail: gemm.rate" in words
    assert " no jobs " not in acting.ctl("why", let_in.name).stdout


def test_it_is_off_until_the_policy_says_so(fresh):
    acting = fresh(policy="")
    node, mark = Fresh(acting, "gpu-2").join(), Fresh(acting, "gpu-1", boot="boot-2")
    node.report()
    acting.take_out("gpu-0")  # decided after the report
    assert node.taints() == [TAINT] and node.actions() == []
    assert mark.actions() == []
