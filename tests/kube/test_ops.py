# SPDX-License-Identifier: Apache-2.0
"""The nodes are the truth: marks, requests and the condition are written there and found again."""
import datetime
import json

from acting import CONDITION, OVERRIDE, WAIT_S
from server import CONTROLLER
from waiting import wait_for

NODES = [f"gpu-{i}" for i in range(4)]


def condition(kube, node):
    return kube.admin.condition(node, CONDITION) or {}


def test_a_bad_report_is_on_the_node_in_four_places(kube, acting):
    a = acting.start(NODES)
    assert wait_for(lambda: condition(kube, "gpu-0").get("status") == "True", WAIT_S), a.words("gpu-0")
    a.take_out("gpu-1")
    assert a.mark("gpu-1")["pre"] is False
    assert wait_for(lambda: condition(kube, "gpu-1").get("status") == "False", WAIT_S), a.words("gpu-1")
    assert "mlx5_0" in condition(kube, "gpu-1")["message"]
    assert wait_for(lambda: any(e["reason"] == "AssayCordoned" for e in kube.admin.events_of("gpu-1")), WAIT_S)
    assert kube.admin.condition("gpu-1", "Ready")["status"] == "True"
    cordons = kube.audit.cordons("gpu-1")
    assert [r.user for r in cordons] == [CONTROLLER]
    assert cordons[0].request["metadata"]["resourceVersion"] and cordons[0].request["spec"] == {"unschedulable": True}
    assert kube.audit.refused(CONTROLLER) == []


def test_an_empty_store_finds_marks_and_orders_again(kube, acting):
    a = acting.start(NODES)
    a.take_out("gpu-1")
    until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=5)).strftime("%Y-%m-%dT%H:%M")
    assert a.order("override", "gpu-2", until=until + ":00Z").status == 200
    assert a.annotation("gpu-2", OVERRIDE).startswith(until)
    since = condition(kube, "gpu-1")["lastTransitionTime"]
    a.c.stop()
    for path in a.c.db.parent.glob(a.c.db.name + "*"):
        path.unlink()
    a.again()
    for name in NODES:
        a.host(name).report()
    assert wait_for(a.is_ready, WAIT_S), a.c.log()
    life = a.c.get("/v1/nodes/gpu-1/why").json["life"]
    assert life["state"] == "cordoned" and life["cordon"]["epoch"] >= 1, life
    assert wait_for(lambda: (a.c.get("/v1/nodes/gpu-2/why").json["life"]["override_until"] or "").startswith(until), WAIT_S)
    done = a.ctl("uncordon", "gpu-1", "--reason", "mended")
    assert done.returncode == 0, done.stderr
    assert kube.admin.cordoned() == set() and a.mark("gpu-1") is None
    assert wait_for(lambda: condition(kube, "gpu-1")["status"] == "True", WAIT_S)
    assert condition(kube, "gpu-1")["lastTransitionTime"] >= since
    assert len(kube.audit.cordons("gpu-1")) == 1


def test_a_cordon_that_was_lifted_and_set_again_by_hand_stays(kube, acting):
    a = acting.start(NODES)
    a.take_out("gpu-1")
    a.c.stop()
    kube.kubectl("uncordon", "gpu-1")
    kube.kubectl("cordon", "gpu-1")
    a.again()
    assert wait_for(a.is_ready, WAIT_S), a.c.log()
    a.ctl("uncordon", "gpu-1", "--reason", "ours goes")
    assert wait_for(lambda: a.mark("gpu-1") is None, WAIT_S), a.words("gpu-1")
    assert kube.admin.cordoned() == {"gpu-1"}


def test_a_host_that_is_no_node_is_shown_and_left_alone(kube, acting):
    a = acting.start(NODES)
    stranger = a.host("stray-1")
    stranger.report(ok=False)
    a.take_out("gpu-1")  # so a later decision has been executed
    why = a.c.get("/v1/nodes/stray-1/why").json
    assert why["verdict"] == "fail" and why["life"] is None and why["actions"] == [] and why["in_cluster"] is False
    assert a.c.get("/v1/nodes/gpu-1").json["in_cluster"] is True
    assert a.order("cordon", "stray-1").status == 404
    rows = json.loads(a.ctl("nodes", "-o", "json").stdout)["items"]
    assert {row["node"] for row in rows if not row["in_cluster"]} == {"stray-1"}
    assert "not a node of the cluster; mlx5_0" in a.ctl("nodes").stdout
    assert "not a node of the cluster: judged" in a.ctl("why", "stray-1").stdout
    assert kube.audit.find(node="stray-1") == []


def test_the_jobs_of_a_site_are_known_by_its_own_labels(acting):
    """budget.per_job is 1: of two hosts of one job, known only by the site's label, the second stays in service."""
    names = ["gpu-1", "gpu-2", "gpu-3"]
    acting.start(names, more=", jobs: [{kind: ours, label: example.com/job}]")
    for i, name in enumerate(names):
        acting.kube.admin.create_pod(f"rank-{i}", name, labels={"example.com/job": "big" if i < 2 else "small"})
    acting.take_out("gpu-1")
    acting.host("gpu-2").report(ok=False)
    acting.take_out("gpu-3")

    def refused():
        items = acting.ask(lambda c: c.get("/v1/actions")).json["items"]
        return [a["result"] for a in items if a["node"] == "gpu-2" and a["state"] == "refused"]
    assert acting.until(refused, WAIT_S), acting.words("gpu-2")
    assert "big (ours)" in refused()[0]
    assert acting.kube.admin.cordoned() == {"gpu-1", "gpu-3"}
    acting.finish(once=["gpu-1", "gpu-3"])
