# SPDX-License-Identifier: Apache-2.0
"""If the trace names no host, a suspect is named by the node of its pod, from the API server when the trace arrives."""
import datetime
import json

import chaos
import pytest
from server import CONTROLLER
from test_jobs import build, job, number, send, trace, window  # noqa: F401

STATUS = "application/strategic-merge-patch+json"
JOB = "default/llm-7"
LABEL = "training.kubeflow.org/"
GPUS, PODS = 8, 16  # the 128 ranks of the trace
SUSPECT = {"hosts": [], "dp": 3, "stage": 1, "ranks": [56, 63], "class": "compute", "share": number(0.94), "alone": number(0.9),
           "gain": number(0.07), "identifiable": True, "counts": True}


def start_pods(kube, indices=range(PODS), age_s=3600):
    """Worker i is on gpu-(10 + i): ranks 56 to 63 are on gpu-17."""
    started = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age_s)
    box = [{"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpu": str(GPUS)}}}]
    for i in indices:
        labels = {LABEL + "job-name": "llm-7", LABEL + "replica-type": "worker", LABEL + "replica-index": str(i)}
        kube.admin.create_pod(f"worker-{i}", f"gpu-{10 + i}", labels=labels, containers=box)
        kube.admin.patch(f"/api/v1/namespaces/default/pods/worker-{i}/status", content=STATUS,
                         body={"status": {"startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ")}})


def analysed(c, mark="", ages=(130, 10)):
    sent = send(c, trace(mark=mark, suspects=[SUSPECT]), job=JOB, ages=ages)
    assert sent.status == 202, sent.body
    found = window(c, sent)
    assert found["state"] == "analysed", found
    return found, job(c, sent)


def test_a_suspect_is_named_by_the_node_of_its_pod(kube, acting):
    start_pods(kube)
    kube.admin.create_pod("other", "gpu-99", labels={"app": "llm-7"})
    c = acting.start().c
    found, said = analysed(c)
    assert found["suspect"] == "gpu-17", said
    assert said["suspects"][0]["placed"] == {"source": "pods", "sure": True, "reason": None}
    # A process claims another host for one of its ranks: they disagree, and no host is suspected.
    claim = {"format": "assay-processes/1", "boot_id": "b1",
             "processes": [{"start": 1, "age_s": 3600, "env": {"RANK": "60", "ASSAY_JOB": JOB}}]}
    assert c.call("PUT", "/v1/nodes/gpu-3/processes", json.dumps(claim).encode()).status == 200
    found, said = analysed(c, "2")
    assert found["suspect"] is None and "disagree on the host" in said["sentence"], said
    assert not kube.audit.refused(CONTROLLER)


@pytest.mark.parametrize("there,age_s,ages,words", [
    (range(PODS - 1), 3600, (130, 10), "which host it ran on"),  # the trace has more ranks than the pods
    (range(1, PODS), 3600, (130, 10), "which host it ran on"),
    (range(PODS), 60, (130, 10), "part of the window"),  # the pods started during the window
    (range(PODS), 3600, None, "which host it ran on"),  # without ages it is unknown whether these were the window's pods
])
def test_pods_that_may_not_be_those_of_the_window_name_nobody(kube, acting, there, age_s, ages, words):
    start_pods(kube, there, age_s)
    found, said = analysed(acting.start().c, ages=ages)
    assert found["suspect"] is None and words in said["sentence"], said


def deaf(handler, body):
    """Requests for pods by label get no response."""
    if "labelSelector" not in handler.path or "/pods?" not in handler.path:
        return chaos.passes(handler, body)
    handler.counts()
    handler.way.changed.wait(chaos.HELD_S)
    return handler.cut()


def refuses(handler, body):
    if "labelSelector" not in handler.path or "/pods?" not in handler.path:
        return chaos.passes(handler, body)
    handler.counts()
    return handler.answer(403, "application/json", chaos.status(403, "Forbidden", "pods is forbidden"))


@pytest.mark.parametrize("mode", [deaf, refuses])
def test_a_server_that_does_not_tell_of_pods_holds_no_window_up(kube, acting, way, monkeypatch, mode):
    monkeypatch.setitem(chaos.MODES, "podless", mode)
    start_pods(kube)
    c = acting.start(url=way.url).c
    way.set("podless")
    found, said = analysed(c)
    assert found["suspect"] is None and "which host it ran on" in said["sentence"], said
    assert way.did["podless"]
    assert "its window is analysed without them" in c.log()
    way.set("pass")
    assert analysed(c, "2")[0]["suspect"] == "gpu-17"


def test_a_name_that_is_none_of_kubernetes_asks_nothing(kube, acting):
    c = acting.start().c
    for mark, name in enumerate(("llm-7", "slurm:big/77", "Research/llm-7", "default/llm=7", "default/a/b")):
        sent = send(c, trace(mark=str(mark), suspects=[SUSPECT]), job=name, ages=(130, 10))
        assert sent.status == 202, (name, sent.body)
        assert window(c, sent)["state"] == "analysed"
    assert not [r for r in kube.audit.find(user=CONTROLLER, resource="pods") if "labelSelector" in r.uri]
    assert "its window is analysed without them" not in c.log()
    analysed(c, "x")
    assert [r for r in kube.audit.find(user=CONTROLLER, resource="pods") if "labelSelector" in r.uri]


def test_who_stops_while_it_asks_begins_the_window_anew(kube, acting, way, monkeypatch, wait_until):
    monkeypatch.setitem(chaos.MODES, "podless", deaf)
    start_pods(kube)
    c = acting.start(url=way.url).c
    way.set("podless")
    sent = send(c, trace(suspects=[SUSPECT]), job=JOB, ages=(130, 10))
    wait_until(lambda: way.did["podless"])
    status, _, said = c.stop()
    assert status == 0, said
    way.set("pass")
    acting.again()
    assert window(acting.c, sent)["suspect"] == "gpu-17"
