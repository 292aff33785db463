# SPDX-License-Identifier: Apache-2.0
"""The mode dry-run sends its requests as dry runs, so that a missing right is noticed in time."""
import pytest
from acting import WAIT_S
from server import CONTROLLER

BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@pytest.fixture
def rehearse(acting):
    """The mode dry-run on two nodes; gpu-1 is bad."""
    def start():
        acting.start(["gpu-1", "gpu-2"], mode="dry-run")
        acting.host("gpu-1").report(ok=False)
        return acting
    return start


def cordons(acting):
    items = acting.ask(lambda c: c.get("/v1/actions")).json["items"]
    return [(a["state"], a["result"]) for a in items if a["node"] == "gpu-1" and a["action"] == "cordon"]


def patches(acting):
    return [r for r in acting.kube.audit.find(user=CONTROLLER, resource="nodes", name="gpu-1") if r.verb == "patch"]


def test_what_would_be_done_is_asked_and_not_done(rehearse):
    acting = rehearse()
    assert acting.until(lambda: cordons(acting) == [("dry-run", "dry-run: would be done, and the cluster would accept it")],
                        WAIT_S), acting.words("gpu-1")
    assert acting.until(lambda: [e for e in acting.kube.admin.events_of("gpu-1") if e["reason"] == "AssayDryRun"], WAIT_S)
    asked = patches(acting)
    assert [("dryRun=All" in r.uri, r.code, r.wrote) for r in asked] == [(True, 200, False)]
    assert asked[0].request["metadata"]["resourceVersion"] and asked[0].request["spec"] == {"unschedulable": True}
    assert acting.kube.admin.cordoned() == set() and acting.mark("gpu-1") is None
    acting.finish()


def test_a_right_that_is_missing_is_told(kube, rehearse):
    names = [b["metadata"]["name"] for b in kube.admin.get(BINDING).body["items"] if b["metadata"]["name"].startswith("test-assay-")]
    lost = {n: kube.admin.get(f"{BINDING}/{n}").body for n in names if n != "test-assay-observe"}
    assert lost
    for name in lost:
        kube.admin.delete(f"{BINDING}/{name}")
    try:
        acting = rehearse()
        assert acting.until(lambda: cordons(acting) and "would refuse it" in cordons(acting)[0][1], WAIT_S), acting.words("gpu-1")
        state, words = cordons(acting)[0]
        assert state == "dry-run" and 'cannot patch resource "nodes"' in words
        assert "in mode enforce this would fail" in acting.c.log()
        assert acting.until(lambda: [r.code for r in patches(acting)] == [403], WAIT_S)
    finally:
        for item in lost.values():
            item["metadata"] = {k: item["metadata"][k] for k in ("name", "labels") if k in item["metadata"]}
            kube.admin.ensure(item)
