# SPDX-License-Identifier: Apache-2.0
"""From a bad report to a cordoned node and back, with minimal rights, and people's changes at every step."""
import json

import pytest
from acting import CONDITION, MARK, OVERRIDE, WAIT_S, lease
from server import CONTROLLER, NAMESPACE

NODES = [f"gpu-{i}" for i in range(4)]
PATH = "/api/v1/nodes/"


def reasons(kube, node):
    return {e["reason"] for e in kube.admin.events_of(node)}


def test_a_bad_report_cordons_its_node_and_all_tell_why(kube, acting):
    a = acting.start(NODES)
    assert a.until(lambda: (kube.admin.condition("gpu-0", CONDITION) or {}).get("status") == "True", WAIT_S)
    a.take_out("gpu-1")
    mark = a.mark("gpu-1")
    assert set(mark) >= {"v", "by", "incident", "reason", "evidence", "at", "epoch", "pre"}
    assert mark["by"] == "assay" and mark["pre"] is False and mark["epoch"] >= 1 and mark["incident"]
    assert "mlx5_0" in json.dumps(mark)
    condition = a.until(lambda: (c := kube.admin.condition("gpu-1", CONDITION)) and c["status"] == "False" and c, WAIT_S)
    assert condition and "mlx5_0" in condition["message"]
    assert kube.admin.condition("gpu-1", "Ready")["status"] == "True"  # the kubelet's condition stays
    assert a.until(lambda: "AssayCordoned" in reasons(kube, "gpu-1"), WAIT_S)
    described = kube.kubectl("describe", "node", "gpu-1").stdout
    for word in ("Unschedulable:      true", MARK, CONDITION, "AssayCordoned", "mlx5_0"):
        assert word in described, described
    a.give_back("gpu-1")
    assert kube.admin.cordoned() == set()
    assert a.until(lambda: "AssayUncordoned" in reasons(kube, "gpu-1"), WAIT_S)
    assert a.until(lambda: kube.admin.condition("gpu-1", CONDITION)["status"] == "True", WAIT_S)
    a.finish(once=["gpu-1"])
    assert {r.name for r in kube.audit.writes(user=CONTROLLER, resource="nodes")} == {"gpu-1"}


def test_with_another_prefix_nothing_is_written_under_the_usual_one(kube, acting):
    kube.admin.create_node("gpu-9", annotations={MARK: "of a controller before"}, unschedulable=True)
    kube.admin.create_node("gpu-8", labels={"gpu.example.com/managed": "false"})
    a = acting.start(NODES[:2], more=", prefix: gpu.example.com, taint: {effect: PreferNoSchedule}")
    a.prefix = "gpu.example.com"
    assert a.ctl("cordon", "gpu-1", "--reason", "fan 3").returncode == 0
    assert a.is_out("gpu-1") and a.mark("gpu-1")["pre"] is False and "fan 3" in a.ctl("why", "gpu-1").stdout
    taint = {"key": "gpu.example.com/unhealthy", "effect": "PreferNoSchedule"}
    assert taint in kube.admin.node("gpu-1")["spec"]["taints"]
    healthy = "gpu.example.com/Healthy"
    assert a.until(lambda: (kube.admin.condition("gpu-1", healthy) or {}).get("status") == "False", WAIT_S)
    assert a.order("uncordon", "gpu-9").status == 409  # out of service, and cordoned by someone else
    assert "(label gpu.example.com/managed)" in a.ctl("cordon", "gpu-8", "--reason", "x").stderr
    assert a.ctl("uncordon", "gpu-1", "--reason", "mended").returncode == 0
    assert a.mark("gpu-1") is None and kube.admin.cordoned() == {"gpu-9"}
    assert taint not in kube.admin.node("gpu-1")["spec"].get("taints", [])
    budget = lease(kube, "assay-budget")["metadata"]["annotations"]
    assert set(budget) == {"gpu.example.com/ledger", "gpu.example.com/ledger-writer"}
    kube.kubectl("-n", NAMESPACE, "annotate", "lease", "assay-budget", "gpu.example.com/stop=row 7")
    assert a.until(lambda: "gpu.example.com/stop" in str(a.ask(lambda c: c.get("/v1/breaker")).json["stopped"]), WAIT_S)
    written = json.dumps([r.request for r in kube.audit.writes(user=CONTROLLER)])
    assert "gpu.example.com/cordon" in written and "assay.dev" not in written
    assert kube.audit.refused(CONTROLLER) == []


def test_a_cordon_of_somebody_else_stays_and_is_not_ours_to_lift(kube, acting):
    a = acting.start(NODES)
    kube.kubectl("cordon", "gpu-1")
    kube.kubectl("cordon", "gpu-2")
    assert a.until(lambda: a.order("uncordon", "gpu-1").status == 409, WAIT_S)
    a.host("gpu-1").report(ok=False)
    a.take_out("gpu-3")
    assert a.mark("gpu-1") is None  # it is out of service already
    assert a.ctl("cordon", "gpu-2", "--reason", "fan 3", "--break-glass").returncode == 0
    assert a.mark("gpu-2")["pre"] is True
    assert a.ctl("uncordon", "gpu-2", "--reason", "mended").returncode == 0
    assert a.mark("gpu-2") is None and kube.admin.cordoned() == {"gpu-1", "gpu-2", "gpu-3"}
    kube.kubectl("uncordon", "gpu-1")
    assert a.until(lambda: a.is_out("gpu-1")), a.words("gpu-1")  # it is decided again
    a.finish(once=["gpu-3"])


# A person's action on gpu-1, which we have cordoned; after the yield, the expected result.


def uncordons(kube, a):
    kube.kubectl("uncordon", "gpu-1")
    yield  # A request: our marks are removed, and the same finding does not cordon it again.
    assert a.until(lambda: a.mark("gpu-1") is None and a.annotation("gpu-1", OVERRIDE), WAIT_S), a.words("gpu-1")
    a.host("gpu-1").report(ok=False)
    a.settle()
    assert kube.admin.cordoned() == set()


def cordons(kube, a):
    kube.kubectl("cordon", "gpu-1")  # already cordoned: one boolean, and our mark says whose
    yield
    a.give_back("gpu-1")
    assert kube.admin.cordoned() == set()


def takes_our_mark(kube, a):
    kube.kubectl("annotate", "node", "gpu-1", MARK + "-")
    yield  # theirs from now on
    a.host("gpu-1").report(ok=True)
    assert a.until(lambda: a.order("uncordon", "gpu-1").status == 409, WAIT_S)
    assert kube.admin.cordoned() == {"gpu-1"}


def writes_a_note_over_our_mark(kube, a):
    kube.kubectl("annotate", "--overwrite", "node", "gpu-1", MARK + "=please leave it, Ann")
    yield
    a.host("gpu-1").report(ok=True)
    assert a.until(lambda: a.order("uncordon", "gpu-1").status == 409, WAIT_S)
    assert kube.admin.cordoned() == {"gpu-1"} and a.annotation("gpu-1", MARK) == "please leave it, Ann"


def claims_it(kube, a):
    kube.admin.patch(PATH + "gpu-1", {"metadata": {"annotations": {MARK: json.dumps({**a.mark("gpu-1"), "pre": True})}}})
    yield
    a.give_back("gpu-1")
    assert kube.admin.cordoned() == {"gpu-1"}


def deletes_the_node(kube, a):
    kube.kubectl("delete", "node", "gpu-1")
    yield
    a.host("gpu-1").report(ok=False)
    a.take_out("gpu-2")
    assert kube.admin.cordoned() == {"gpu-2"}


def makes_it_anew_out_of_service(kube, a):
    old = kube.admin.node("gpu-1")["metadata"]["uid"]
    kube.admin.delete(PATH + "gpu-1")
    assert kube.admin.create_node("gpu-1", unschedulable=True)["metadata"]["uid"] != old
    yield
    a.host("gpu-1").report(ok=True)
    a.take_out("gpu-2")
    a.settle()
    assert kube.admin.cordoned() == {"gpu-1", "gpu-2"}


def makes_it_anew_in_service(kube, a):
    kube.admin.delete(PATH + "gpu-1")
    kube.admin.create_node("gpu-1")
    yield  # under the name of one out of service: it has to pass the tests first
    a.give_back("gpu-1")
    assert kube.admin.cordoned() == set()


def opts_out(kube, a):
    kube.kubectl("uncordon", "gpu-1")
    kube.kubectl("label", "node", "gpu-1", "assay.dev/managed=false")
    yield
    a.host("gpu-1").report(ok=False)
    a.take_out("gpu-2")
    a.settle()
    assert kube.admin.cordoned() == {"gpu-2"}


HANDS = pytest.mark.parametrize("hand", [
    uncordons, cordons, takes_our_mark, writes_a_note_over_our_mark, claims_it, deletes_the_node, makes_it_anew_out_of_service,
    makes_it_anew_in_service, opts_out], ids=lambda f: f.__name__)


@HANDS
def test_a_person_who_is_watched(kube, acting, hand):
    a = acting.start(NODES)
    a.take_out("gpu-1")
    for _ in hand(kube, a):
        pass
    a.finish()


@HANDS
def test_a_person_while_the_controller_is_down(kube, acting, hand):
    a = acting.start(NODES)
    a.take_out("gpu-1")
    steps = hand(kube, a)
    a.c.stop()  # and gives its Lease back
    next(steps)
    a.again()
    assert a.until(a.is_ready, WAIT_S), a.c.log()
    for _ in steps:
        pass
    a.finish()


def test_kubectl_and_assayctl_interleave(kube, acting):
    a = acting.start(NODES)
    assert a.ctl("cordon", "gpu-0", "--reason", "fan 3").returncode == 0
    assert kube.admin.cordoned() == {"gpu-0"}
    kube.kubectl("uncordon", "gpu-0")
    assert a.until(lambda: a.mark("gpu-0") is None, WAIT_S)
    kube.kubectl("cordon", "gpu-0")
    refused = a.until(lambda: (done := a.ctl("uncordon", "gpu-0", "--reason", "x")).returncode and done, WAIT_S)
    assert "cordoned by someone else" in refused.stderr and kube.admin.cordoned() == {"gpu-0"}
    kube.kubectl("uncordon", "gpu-0")
    assert a.until(lambda: a.ctl("cordon", "gpu-0", "--reason", "fan 3 again").returncode == 0, WAIT_S)
    assert a.is_out("gpu-0") and a.ctl("uncordon", "gpu-0", "--reason", "mended").returncode == 0
    assert kube.admin.cordoned() == set() and a.mark("gpu-0") is None
    a.finish()
