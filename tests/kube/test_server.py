# SPDX-License-Identifier: Apache-2.0
"""The API server that the other tests rely on: it is a real one, and its helpers are correct."""
import contextlib
import http.client
import ssl
import threading

import pytest
from acting import check
from api import Api, ApiError
from server import ACCOUNT, CONTROLLER, NAMESPACE

NODES = "/api/v1/nodes"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "assay-budget", "namespace": NAMESPACE}}
EVENT = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "gpu-1.1", "namespace": "default"}, "reason": "AssayCordoned",
         "message": "a sentence that names the culprit", "type": "Warning", "source": {"component": "assay"}, "count": 1,
         "firstTimestamp": "2026-11-20T10:00:00Z", "lastTimestamp": "2026-11-20T10:00:00Z"}
MARK = {"metadata": {"annotations": {"assay.dev/cordon": "{}"}}, "spec": {"unschedulable": True}}


def review(api, token, audience):
    answer = api.post("/apis/authentication.k8s.io/v1/tokenreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                                                                      "spec": {"token": token, "audiences": [audience]}})
    return answer.body["status"]


def test_a_node_is_made_with_a_status_and_cleaned_away(kube):
    node = kube.admin.create_node("gpu-1", labels={"rack": "r1"})
    assert node["metadata"]["labels"]["rack"] == "r1" and "taints" not in node["spec"]
    assert kube.admin.condition("gpu-1", "Ready")["status"] == "True"
    not_ready = kube.admin.create_node("gpu-2", ready=False)
    assert [t["key"] for t in not_ready["spec"]["taints"]] == ["node.kubernetes.io/not-ready"]
    kube.admin.create_pod("p", "gpu-1")
    kube.clean()
    assert kube.admin.get(NODES).body["items"] == [] and kube.admin.get("/api/v1/pods").body["items"] == []


def test_the_audit_log_says_who_wrote_what_and_in_which_order(kube, wait_until):
    ctl = kube.api("ctl-3")
    for name in ("gpu-1", "gpu-2"):
        kube.admin.create_node(name)
        ctl.patch(f"{NODES}/{name}", MARK)
    ctl.patch(f"{NODES}/gpu-1?dryRun=All", {"spec": {"unschedulable": None}})
    ctl.patch(f"{NODES}/gpu-1", {"spec": {"unschedulable": None}, "metadata": {"annotations": None}})
    kube.admin.patch(f"{NODES}/gpu-1", {"spec": {"unschedulable": True}})
    wait_until(lambda: len(kube.audit.find(verb="patch", node="gpu-1")) == 5, what="five patches of gpu-1")
    written = kube.audit.writes(node="gpu-1", user=CONTROLLER)
    assert [(r.verb, r.resource, r.code, r.uid) for r in written] == [("patch", "nodes", 200, "ctl-3")] * 2
    assert written[0].request == MARK and written[0].began <= written[0].ended and written[0].version < written[1].version
    assert [r.user for r in kube.audit.cordons("gpu-1")] == [CONTROLLER, "admin"]
    assert len(kube.audit.cordons()) == 3 and kube.audit.most_in_force() == 2


def test_rights_are_those_of_the_role_and_what_is_refused_is_told(kube, wait_until):
    kube.admin.create_node("gpu-1")
    ctl = kube.api("ctl")
    assert ctl.patch(f"{NODES}/gpu-1", {"spec": {"unschedulable": True}}).status == 200
    assert ctl.create(LEASE).status == 201
    for call in (lambda: ctl.delete(f"{NODES}/gpu-1"), lambda: kube.api("nobody").get(NODES),
                 lambda: ctl.get(f"{LEASES}/another"), lambda: ctl.get("/api/v1/secrets")):
        with pytest.raises(ApiError) as refused:
            call()
        assert (refused.value.status, refused.value.reason) == (403, "Forbidden")
    wait_until(lambda: len(kube.audit.refused(CONTROLLER)) == 3, what="three refusals in the audit log")
    assert any("delete /api/v1/nodes/gpu-1" in line for line in kube.audit.refused(CONTROLLER))
    with pytest.raises(ApiError, match="401"):
        kube.api("admin", token="expired").get(NODES)


def test_a_kubelet_may_change_its_own_node_only(kube):
    for name in ("gpu-1", "gpu-2"):
        kube.admin.create_node(name)
    kubelet = kube.api("admin", token=None, cert=kube.make_node_certificate("gpu-1"))
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert kubelet.patch(f"{NODES}/gpu-1/status", status).status == 200
    with pytest.raises(ApiError, match="403"):
        kubelet.patch(f"{NODES}/gpu-2/status", status)


def test_a_projected_token_is_its_pod_until_the_pod_is_gone(kube):
    pod = kube.admin.create_pod("agent", "gpu-1", NAMESPACE, serviceAccountName="assay-agent")
    token, unseen = (kube.admin.create_token("assay-agent", NAMESPACE, "assay", pod, seconds) for seconds in (600, 601))
    seen = review(kube.api("ctl"), token, "assay")
    assert seen["authenticated"] and seen["audiences"] == ["assay"]
    assert seen["user"]["username"] == f"system:serviceaccount:{NAMESPACE}:assay-agent"
    assert seen["user"]["extra"]["authentication.kubernetes.io/pod-name"] == ["agent"]
    assert not review(kube.api("ctl"), token, "another").get("authenticated")
    kube.admin.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/agent?gracePeriodSeconds=0")
    # The server caches successful authentication for 10 s.
    assert not review(kube.api("ctl"), unseen, "assay").get("authenticated")


def test_tokens_minted_here_are_the_servers_own_and_end(kube):
    assert kube.api("ctl", token=kube.mint(ACCOUNT)).get(NODES).status == 200
    with pytest.raises(ApiError, match="401"):
        kube.api("ctl", token=kube.mint(ACCOUNT, seconds=-61)).get(NODES)


def test_kubectl_works_and_describes_an_event(kube, wait_until):
    uid = kube.admin.create_node("gpu-1")["metadata"]["uid"]
    kube.kubectl("cordon", "gpu-1")
    assert kube.admin.cordoned() == {"gpu-1"}
    assert "SchedulingDisabled" in kube.kubectl("get", "nodes").stdout
    kube.api("ctl").create({**EVENT, "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "gpu-1", "uid": uid}})
    assert "a sentence that names the culprit" in kube.kubectl("describe", "node", "gpu-1").stdout
    assert [e["reason"] for e in kube.admin.events_of("gpu-1")] == ["AssayCordoned"]
    patches = wait_until(lambda: kube.audit.find(node="gpu-1", verb="patch", user="admin")[1:], what="kubectl's patch")
    assert patches[0].agent.startswith("kubectl/") and patches[0].request == {"spec": {"unschedulable": True}}


def test_a_pod_that_was_evicted_ends_and_a_budget_holds_it(kube, kubelets, wait_until):
    kube.admin.create_node("gpu-1")
    kube.admin.create_pod("p", "gpu-1", labels={"job": "a"})
    kube.admin.create_budget("b", {"job": "a"}, allowed=0)
    path = "/api/v1/namespaces/default/pods/p"
    evict = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "default"}}
    assert kube.api("ctl").post(path + "/eviction", evict, check=False).status == 429
    kube.admin.allow_disruptions("b", 1)
    assert kube.api("ctl").post(path + "/eviction", evict).status == 201
    wait_until(lambda: kube.admin.get(path, check=False).status == 404, what="the end of the pod")
    wait_until(lambda: kubelets.finished == ["p"], what="the kubelet's word")


def test_maps_in_pretty_answers_do_not_break_the_server(kube):
    for i in range(3):
        kube.admin.create_node(f"gpu-{i}", labels={f"l{n}": "v" for n in range(20)}, annotations={"a": "b"})
        assert len(kube.admin.get(f"{NODES}?pretty=true").body["items"]) == i + 1
    assert kube.admin.create_node("gpu-9")["metadata"]["name"] == "gpu-9" and kube.panics() == 0


@pytest.mark.long
def test_a_server_that_restarts_keeps_its_nodes_and_forgets_its_watches(kube_own, wait_until):
    kube_own.admin.create_node("gpu-1")
    url = kube_own.url
    kube_own.stop()
    with pytest.raises(OSError):
        kube_own.admin.node("gpu-1")
    kube_own.start()
    assert kube_own.url == url and kube_own.admin.node("gpu-1")["metadata"]["name"] == "gpu-1"
    kind, error = next(kube_own.admin.watch(NODES, 5, resourceVersion=5))
    assert (kind, error["reason"], error["code"]) == ("ERROR", "Expired", 410)
    kube_own.pause()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(kube_own.api("admin").node("gpu-1")))
    asking.start()
    asking.join(0.5)
    assert not answers
    kube_own.resume()
    wait_until(lambda: answers, 30, "an answer after the pause")
    old = ssl.create_default_context(cafile=kube_own.ca)
    kube_own.rotate_ca()
    assert kube_own.admin.node("gpu-1")
    with pytest.raises(ssl.SSLCertVerificationError):
        kube_own.admin.connect(context=old).connect()


def wrongs(kube):
    """The error found by the check of a history; "" if none."""
    try:
        check(kube, once=["gpu-1"])
    except AssertionError as e:
        return str(e)
    return ""


OUT, IN = {"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}
OURS = {"metadata": {"annotations": {"assay.dev/cordon": '{"v":1,"by":"assay","pre":false}'}}, **OUT}
PRE = {"metadata": {"annotations": {"assay.dev/cordon": '{"v":1,"by":"assay","pre":true}'}}, **OUT}
HISTORIES = [
    ("cordoned and lifted", [("ctl", OURS), ("ctl", IN)], ""),
    ("lifted by a person", [("ctl", OURS), ("admin", IN)], ""),
    ("another's lifted", [("admin", OUT), ("ctl", IN)], "lifted a cordon of admin"),
    ("another's marked and lifted", [("admin", OUT), ("ctl", PRE), ("ctl", IN)], "lifted a cordon of admin"),
    ("another's claimed and lifted", [("admin", OUT), ("ctl", OURS), ("ctl", IN)], "lifted a cordon of admin"),
    ("lifted without a mark", [("ctl", OUT), ("ctl", IN)], "lifted a cordon"),
    ("cordoned twice", [("ctl", OURS), ("admin", IN), ("ctl", OURS)], "gpu-1"),
    ("never cordoned", [("ctl", IN)], "gpu-1"),
]


@pytest.mark.parametrize("steps,words", [row[1:] for row in HISTORIES], ids=[row[0] for row in HISTORIES])
def test_a_wrong_history_is_seen(kube, wait_until, steps, words):
    kube.admin.create_node("gpu-1")
    for user, change in steps:
        kube.api(user).patch(f"{NODES}/gpu-1", change)
    wait_until(lambda: len(kube.audit.writes(node="gpu-1", verb="patch")) == len(steps) + 1, what="the patches in the audit log")
    assert words in wrongs(kube) and bool(words) == bool(wrongs(kube))


def test_a_bad_way_does_each_of_its_tricks(kube, way):
    kube.admin.create_node("gpu-1")
    through = Api(way.url, kube.ca, token="admin-token")
    assert through.node("gpu-1")["metadata"]["name"] == "gpu-1" and not way.did.total()
    way.set("busy", retry_after=7)
    answer = through.get(NODES, check=False)
    assert (answer.status, answer.headers["Retry-After"], answer.headers.get_content_type()) == (429, "7", "text/plain")
    way.set("conflict")
    codes = [through.patch(f"{NODES}/gpu-1", {"metadata": {"labels": {"l": str(i)}}}, check=False).status for i in range(4)]
    assert codes == [200, 409, 200, 409] and kube.admin.node("gpu-1")["metadata"]["labels"]["l"] == "2"
    way.set("gone")
    assert next(through.watch(NODES, 5, resourceVersion=0))[1]["code"] == 410
    way.set("cut")
    with pytest.raises(OSError):
        through.patch(f"{NODES}/gpu-1", {"metadata": {"labels": {"l": "cut"}}})
    assert kube.admin.node("gpu-1")["metadata"]["labels"]["l"] == "cut"  # it was done
    way.set("drop")
    with pytest.raises(OSError):
        through.node("gpu-1")
    way.set("pass")
    assert through.node("gpu-1")
    assert all(way.did[mode] for mode in ("busy", "conflict", "gone", "cut", "drop"))


def test_a_slow_way_is_slow_until_it_changes(kube, way, wait_until):
    kube.admin.create_node("gpu-1")
    through = Api(way.url, kube.ca, token="admin-token")
    way.set("slow", seconds=600)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(through.node("gpu-1")))
    asking.start()
    wait_until(lambda: way.did["slow"], 30, "a request that waits")
    assert not answers
    way.set("pass")
    asking.join(30)
    assert answers and way.did["slow"] == 1


def test_a_watch_comes_through_as_it_happens(kube, way):
    through = Api(way.url, kube.ca, token="admin-token")
    events = through.watch(NODES, 60)
    kube.admin.create_node("gpu-1")
    kind, node = next(events)
    assert (kind, node["metadata"]["name"]) == ("ADDED", "gpu-1")


def test_a_watch_that_runs_is_cut_with_the_way(kube, way):
    events = Api(way.url, kube.ca, token="admin-token").watch(NODES, 60)
    kube.admin.create_node("gpu-1")
    assert next(events)[0] == "ADDED"

    def read():
        with contextlib.suppress(OSError, http.client.HTTPException):
            list(events)

    reading = threading.Thread(target=read)
    reading.start()
    way.set("drop")
    reading.join(30)
    assert not reading.is_alive()
