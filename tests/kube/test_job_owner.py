# SPDX-License-Identifier: Apache-2.0
"""Only the owner of a job that slows itself is notified, by an event in the job's namespace."""
from server import CONTROLLER
from test_jobs import build, send, trace, window  # noqa: F401


def events(kube, namespace):
    return [e for e in kube.admin.get(f"/api/v1/namespaces/{namespace}/events").body["items"] if e["reason"] == "AssayJobSlow"]


def test_an_owner_is_told_in_his_namespace(kube, acting):
    kube.admin.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}})
    c = acting.start(["gpu-1"]).c
    for mark, job in enumerate(("research/moe-2", "research/moe-2", "nowhere/moe-3", "no-namespace")):
        sent = send(c, trace(mark=str(mark), slowdown=1.54, kind="job", cause="seqlen", host=None), job=job)
        assert window(c, sent)["state"] == "analysed"
    assert acting.until(lambda: events(kube, "research")), c.log()
    assert acting.until(lambda: "cannot write an Event node=nowhere" in c.log()), c.log()
    (told,) = events(kube, "research")
    assert told["count"] == 1 and told["type"] == "Normal" and told["message"].startswith("research/moe-2 takes 1.54 times as long as it should")
    assert {k: told["involvedObject"].get(k) for k in ("kind", "name", "namespace")} == {"kind": "Namespace", "name": "research", "namespace": "research"}
    assert events(kube, "default") == [] and kube.audit.refused(CONTROLLER) == []
