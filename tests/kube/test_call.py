# SPDX-License-Identifier: Apache-2.0
"""controller/cluster/kube/kube.h with a real API server: its responses are interpreted correctly."""
import errno
import json

import pytest
from kube_fake import Probe
from server import NAMESPACE

NODES = "/api/v1/nodes"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PODS = "/api/v1/namespaces/default/pods"
EVICTION = {"apiVersion": "policy/v1beta1", "kind": "Eviction"}


@pytest.fixture
def probe(build, environ):
    """probe(kubeconfig): kube_probe with it."""
    if not (build / "tests/kube/kube_probe").exists():
        pytest.skip("this build has no kube_probe: libcurl, libsystemd, SQLite or libmicrohttpd is missing")
    made = []

    def start(kubeconfig):
        made.append(Probe(build, kubeconfig, environ))
        return made[-1]

    yield start
    for p in made:
        status, words = p.stop()
        assert status == 0, words


@pytest.fixture
def ctl(kube, probe):
    """The controller's account."""
    return probe(kube.kubeconfig("ctl"))


def brief(said):
    return said["result"], said["status"], said["reason"]


def test_a_write_is_ours_and_its_audit_id_is_that_of_the_server(kube, ctl, wait_until):
    version = kube.admin.create_node("gpu-0")["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": version, "annotations": {"assay.dev/cordon": "{}"}}, "spec": {"unschedulable": True}}
    said = ctl.ask("PATCH", f"{NODES}/gpu-0", content="merge", body=body)
    assert brief(said) == ("done", 200, "") and said["body"]["spec"]["unschedulable"] is True
    managers = {entry["manager"] for entry in kube.admin.node("gpu-0")["metadata"]["managedFields"]}
    assert "assay" in managers
    log = kube.directory / "audit.log"
    record = wait_until(lambda: next((json.loads(line) for line in log.read_text().splitlines() if said["audit"] in line), None),
                        what="the request in the audit log")
    assert record["userAgent"].startswith("assay/") and record["userAgent"].endswith("(linux/amd64)")
    assert record["requestURI"] == f"{NODES}/gpu-0?fieldManager=assay"
    assert brief(ctl.ask("PATCH", f"{NODES}/gpu-0", content="merge", body=body)) == ("conflict", 409, "Conflict")


def test_a_dry_run_changes_nothing(kube, ctl):
    version = kube.admin.create_node("gpu-0")["metadata"]["resourceVersion"]
    said = ctl.ask("PATCH", f"{NODES}/gpu-0", content="merge", body={"spec": {"unschedulable": True}}, dry_run=True)
    assert brief(said) == ("done", 200, "") and said["body"]["spec"]["unschedulable"] is True
    assert kube.admin.node("gpu-0")["metadata"]["resourceVersion"] == version


def test_a_condition_is_merged_by_its_type(kube, ctl):
    kube.admin.create_node("gpu-0")
    condition = {"type": "assay.dev/Healthy", "status": "True", "reason": "Passed", "message": "m"}
    said = ctl.ask("PATCH", f"{NODES}/gpu-0/status", content="strategic", body={"status": {"conditions": [condition]}})
    assert brief(said) == ("done", 200, "")
    assert kube.admin.condition("gpu-0", "assay.dev/Healthy")["status"] == "True" and kube.admin.condition("gpu-0", "Ready")


def test_each_answer_has_its_meaning(kube, ctl):
    kube.admin.create_node("gpu-0")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "assay-budget", "namespace": NAMESPACE}}
    twice = {"spec": {"taints": [{"key": "a", "value": v, "effect": "NoSchedule"} for v in "bc"]}}
    for expected, method, path, more in (
        (("gone", 404, "NotFound"), "GET", f"{NODES}/gpu-9", {}),
        (("gone", 404, "NotFound"), "PATCH", f"{NODES}/gpu-9", {"content": "merge", "body": {"spec": {}}}),
        (("gone", 404, "NotFound"), "POST", f"{PODS}/none/eviction", {"body": {**EVICTION, "metadata": {"name": "none", "namespace": "default"}}}),
        (("gone", 404, "NotFound"), "GET", "/apis/policy/v1", {}),
        (("gone", 404, ""), "GET", "/apis/nowhere.example", {}),
        (("done", 200, ""), "GET", "/apis/policy/v1beta1", {}),
        (("done", 200, ""), "GET", "/readyz", {}),
        (("refused", 403, "Forbidden"), "DELETE", f"{NODES}/gpu-0", {}),
        (("refused", 403, "Forbidden"), "GET", "/api/v1/namespaces/default/secrets", {}),
        (("refused", 415, "UnsupportedMediaType"), "PATCH", f"{NODES}/gpu-0", {"content": "json", "body": {"spec": {}}}),
        (("refused", 422, "Invalid"), "PATCH", f"{NODES}/gpu-0", {"content": "merge", "body": twice}),
        (("done", 201, ""), "POST", LEASES, {"body": lease}),
        (("conflict", 409, "AlreadyExists"), "POST", LEASES, {"body": lease}),
        (("refused", 422, "Invalid"), "PUT", f"{LEASES}/assay-budget", {"body": lease}),
    ):
        said = ctl.ask(method, path, **more)
        assert brief(said) == expected, (method, path, said)
        assert bool(said["words"]) == (expected[0] != "done") and said["audit"]


def test_what_is_not_served_is_not_gone(kube, probe):
    kube.admin.create_node("gpu-0")
    p = probe(kube.kubeconfig("admin"))
    for reason, path in (("NotFound", "/api/v1/things/gpu-0"), ("NotFound", f"{NODES}/gpu-0/part"),
                         ("", "/apis/nowhere.example/v1/things/gpu-0")):
        said = p.ask("GET", path)
        assert brief(said) == ("refused", 404, reason)
        assert said["words"].endswith("(this API server does not serve that resource)")


def test_an_eviction_waits_for_its_budget_and_two_budgets_are_for_people(kube, ctl):
    kube.admin.create_node("gpu-0")
    kube.admin.create_pod("p", "gpu-0", labels={"app": "a"})
    kube.admin.create_budget("one", {"app": "a"}, 0)
    evict = {"body": {**EVICTION, "metadata": {"name": "p", "namespace": "default"}}}
    assert brief(ctl.ask("POST", f"{PODS}/p/eviction", **evict)) == ("again", 429, "TooManyRequests")
    kube.admin.create_budget("two", {"app": "a"}, 0)
    said = ctl.ask("POST", f"{PODS}/p/eviction", **evict)
    assert said["result"] == "refused" and "more than one PodDisruptionBudget" in said["words"]


def test_who_we_are_not_is_refused(kube, probe):
    said = probe(kube.kubeconfig("stranger")).ask("GET", NODES)
    assert brief(said) == ("refused", 401, "Unauthorized")
    said = probe(kube.kubeconfig("nobody")).ask("GET", NODES)
    assert brief(said) == ("refused", 403, "Forbidden") and 'User "nobody" cannot list resource "nodes"' in said["words"]


def test_an_expired_token_is_read_again(kube, probe, tmp_path):
    token = tmp_path / "token"
    token.write_text(kube.mint(seconds=-3000))
    p = probe(kube.kubeconfig("rotating", tokenFile=token))
    assert brief(p.ask("GET", NODES)) == ("refused", 401, "Unauthorized")
    token.write_text(kube.mint())
    assert brief(p.ask("GET", NODES)) == ("done", 200, "")


def test_a_certificate_says_who_we_are(kube, probe):
    path = kube.kubeconfig("by-certificate", client_certificate=kube.directory / "admin.crt", client_key=kube.directory / "admin.key")
    assert brief(probe(path).ask("GET", NODES)) == ("done", 200, "")


def test_a_list_comes_in_pages(kube, ctl):
    for i in range(5):
        kube.admin.create_node(f"gpu-{i}")
    names, more = [], ""
    for _ in range(3):
        said = ctl.ask("GET", NODES, query=f"limit=2{more}")
        names += [node["metadata"]["name"] for node in said["body"]["items"]]
        more = "&continue=" + said["body"]["metadata"].get("continue", "")
    assert names == [f"gpu-{i}" for i in range(5)] and more == "&continue="


def test_a_watch_tells_what_happens_and_ends(kube, ctl):
    version = ctl.ask("GET", NODES)["body"]["metadata"]["resourceVersion"]
    kube.admin.create_node("gpu-0", annotations={"long": "x" * 100_000})
    kube.admin.delete(f"{NODES}/gpu-0")
    # From before all that, so it is reported however late the two seconds begin.
    query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion={version}"
    ctl.send("GET", NODES, query=query, watch=True)
    assert brief(ctl.answer()) == ("done", 200, "")
    events = [json.loads(line) for line in ctl.lines]
    seen = [event["type"] for event in events if event["type"] != "BOOKMARK"]
    assert (seen[0], seen[-1]) == ("ADDED", "DELETED")
    assert len(events[0]["object"]["metadata"]["annotations"]["long"]) == 100_000


def test_a_new_ca_and_a_restart_need_none_of_us(kube_own, probe):
    p = probe(kube_own.kubeconfig("ctl"))
    assert brief(p.ask("GET", NODES)) == ("done", 200, "")
    kube_own.stop()
    said = p.ask("GET", NODES)
    assert (said["result"], said["r"]) == ("again", -errno.ECONNREFUSED)
    kube_own.rotate_ca()
    assert brief(p.ask("GET", NODES)) == ("done", 200, "")
