# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes on a real API server 1.20: it can be applied, grants exactly the documented rights, and leaves no mark."""
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from api import Api, ApiError
from apiserver import Missing
from fixtures_controller import report
from server import ISSUER, Server

TOP = Path(__file__).resolve().parents[2]
WHERE = TOP / "deploy/kubernetes"
sys.path.insert(0, str(TOP / "tests/system"))
from test_deploy_kubernetes import CORDON, DRAIN, OBSERVE  # noqa: E402

PARTS = {"observe": [], "cordon": ["cordon"], "drain": ["cordon", "drain"]}
RIGHTS = {"observe": OBSERVE, "cordon": CORDON, "drain": DRAIN}
NODES = "/api/v1/nodes"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture(scope="module")
def kube(tmp_path_factory):
    try:
        server = Server(tmp_path_factory.mktemp("kube"))
    except Missing as e:
        pytest.skip(str(e))
    with server:
        yield server
        assert server.panics() == 0, server.log()[-3000:]


@pytest.fixture(scope="module")
def deployed(kube, tmp_path_factory):
    """deployed("cordon"): applies its folder in place of the previous one. Returns a client as the account."""
    done, now = {}, []

    def apply(account):
        if now != [account]:
            now[:] = [account]
            here = tmp_path_factory.mktemp(account)
            parts = ["base"] + ["components/" + c for c in PARTS[account]]
            near = [os.path.relpath(WHERE / part, here) for part in parts]
            (here / "kustomization.yaml").write_text(yaml.safe_dump({
                "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": near[:1], "components": near[1:]}))
            kube.kubectl("apply", "-k", here)
            done[account] = here
        return done[account], Api(kube.url, kube.ca, token=kube.admin.create_token("assay-" + account, "assay", ISSUER, seconds=3600))

    return apply


@pytest.mark.some(1)
@pytest.mark.parametrize("account", PARTS)
def test_it_applies_to_1_20_by_the_client_and_by_the_server_and_then_nothing_differs(kube, deployed, account):
    where, _ = deployed(account)
    out = kube.kubectl("apply", "-k", where).stdout
    # kubectl always prints "configured" for a StatefulSet with volumes: only the server knows whether it has changed.
    assert out and not [line for line in out.splitlines() if not line.endswith(" unchanged") and "statefulset.apps" not in line]
    for path in ("namespaces/assay/statefulsets/assay-controller", "namespaces/assay-agents/daemonsets/assay-agent"):
        pods = kube.admin.get(f"/apis/apps/v1/{path}").body
        assert pods["metadata"]["generation"] == 1 or account != "observe"
    out = kube.kubectl("apply", "--server-side", "--field-manager=assay-test", "--force-conflicts", "-k", where).stdout
    assert "statefulset.apps/assay-controller serverside-applied" in out and "daemonset.apps/assay-agent serverside-applied" in out
    assert kube.kubectl("diff", "-k", where, check=False).returncode == 0


def test_the_certificate_applies(kube, deployed):
    deployed("observe")
    text = subprocess.run([WHERE / "make-certificate"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert kube.kubectl("apply", "-f", "-", input=text).stdout.splitlines() == [
        "secret/assay-controller-tls created", "configmap/assay-ca created"]


VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
# Namespace or "cluster", group/resource, name: rights granted anywhere, and similar or dangerous ones.
ASKED = [("cluster", "/nodes", None), ("cluster", "/nodes/status", None), ("cluster", "/nodes/proxy", None), ("cluster", "/pods", None),
         ("cluster", "/pods/eviction", None), ("cluster", "/pods/exec", None), ("cluster", "/pods/status", None), ("cluster", "/secrets", None),
         ("cluster", "/configmaps", None), ("cluster", "/events", None), ("default", "/events", None), ("kube-system", "/events", None),
         ("assay", "/secrets", "assay-controller-tls"), ("assay", "/serviceaccounts/token", None),
         ("cluster", "authentication.k8s.io/tokenreviews", None), ("cluster", "rbac.authorization.k8s.io/clusterrolebindings", None),
         ("cluster", "apps/daemonsets", None), ("assay", "apps/statefulsets", None),
         *(("assay", "coordination.k8s.io/leases", n) for n in (None, "assay-controller", "assay-budget", "another")),
         ("kube-node-lease", "coordination.k8s.io/leases", "gpu-1"), ("kube-system", "coordination.k8s.io/leases", None)]


def expected(granted, where, verb, resource, name):
    """A cluster-wide right holds in each namespace, and one without a name for all names."""
    return any((w, verb, resource, n) in granted for w, n in itertools.product({where, "cluster"}, {name, None}))


@pytest.mark.parametrize("account", PARTS)
def test_the_account_may_do_what_the_table_says_and_nothing_else(deployed, account):
    _, api = deployed(account)
    wrong, allowed = [], 0
    for (where, resource, name), verb in itertools.product(ASKED, VERBS):
        group, kind = resource.split("/", 1)
        kind, _, sub = kind.partition("/")
        attributes = {"verb": verb, "group": group, "resource": kind, "subresource": sub, "name": name or "",
                      "namespace": "" if where == "cluster" else where}
        answer = api.post(REVIEWS, {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                                    "spec": {"resourceAttributes": attributes}}).body["status"]["allowed"]
        allowed += answer
        if answer != expected(RIGHTS[account], where, verb, resource, name):
            wrong.append((where, resource, name, verb, answer))
    assert not wrong and allowed >= len(RIGHTS[account])


def test_an_agents_token_opens_nothing_and_says_who_it_is(kube, deployed):
    _, api = deployed("observe")
    kube.admin.create_node("gpu-1")
    pod = kube.admin.create_pod("agent-1", "gpu-1", "assay-agents", serviceAccountName="assay-agent")
    token = kube.admin.create_token("assay-agent", "assay-agents", "assay", pod)
    with pytest.raises(ApiError, match="401"):
        Api(kube.url, kube.ca, token=token).get(NODES)
    status = api.post("/apis/authentication.k8s.io/v1/tokenreviews", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, "audiences": ["assay"]}}).body["status"]
    assert status["authenticated"] and status["user"]["username"] == "system:serviceaccount:assay-agents:assay-agent"
    assert api.get(f"/api/v1/namespaces/assay-agents/pods/{pod['metadata']['name']}").body["spec"]["nodeName"] == "gpu-1"
    # It has no right beyond those of every account.
    agent = Api(kube.url, kube.ca, token=kube.admin.create_token("assay-agent", "assay-agents", ISSUER))
    for path in (NODES, "/api/v1/pods", "/api/v1/namespaces/assay-agents/configmaps", "/api/v1/namespaces/assay-agents/secrets"):
        assert agent.get(path, check=False).status == 403


def test_what_is_installed_takes_an_agents_report_and_asks_for_nothing_that_it_may_not(kube, deployed, controller, tmp_path, wait_until):  # noqa: F811
    deployed("observe")
    user = "system:serviceaccount:assay:assay-observe"
    settings = yaml.safe_load((WHERE / "base/files/controller.yaml").read_text())
    for key in ("tls-cert", "tls-key", "listen"):
        del settings[key]
    for key in ("policy", "tokens"):
        settings[key] = settings[key].replace("/etc/assay", str(WHERE / "base/files"))
    (tmp_path / "controller.yaml").write_text(json.dumps(settings))
    kube.admin.delete(NODES)
    tokens = {}
    for name in ("gpu-3", "gpu-4"):
        kube.admin.create_node(name)
        pod = kube.admin.create_pod(f"agent-of-{name}", name, "assay-agents", serviceAccountName="assay-agent")
        tokens[name] = kube.admin.create_token("assay-agent", "assay-agents", "assay", pod)
    kube.audit.begin()
    (tmp_path / "token").write_text(kube.admin.create_token("assay-observe", "assay", ISSUER, seconds=3600))
    c = controller("--config", tmp_path / "controller.yaml", "--cluster", "kubernetes", "--kubeconfig",
                   kube.kubeconfig("observe", tmp_path / "kubeconfig", tokenFile=tmp_path / "token"))
    assert c.post(report("gpu-3"), token=tokens["gpu-3"]).status == 202, c.log()
    assert c.post(report("gpu-4"), token=tokens["gpu-3"]).status == 403
    assert c.post(report("gpu-4"), token=tokens["gpu-4"]).status == 202
    wait_until(lambda: kube.audit.find(user=user, resource="nodes", verb="list"), what="a list of the nodes")
    assert kube.audit.find(user=user, resource="tokenreviews") and kube.audit.find(user=user, resource="pods", verb="get")
    assert kube.audit.refused(user) == []
    assert {r.resource for r in kube.audit.writes(user=user)} <= {"tokenreviews", "leases"}


def test_to_cordon_and_give_back_takes_no_more_than_the_role(kube, deployed, acting_on, tmp_path, wait_until):
    deployed("cordon")
    user = "system:serviceaccount:assay:assay-cordon"
    (tmp_path / "token").write_text(kube.admin.create_token("assay-cordon", "assay", ISSUER, seconds=3600))
    kube.clean()
    acting = acting_on(kube).start(["gpu-5", "gpu-6"], tokenFile=tmp_path / "token")
    acting.take_out("gpu-5")
    wait_until(lambda: (kube.admin.condition("gpu-5", "assay.dev/Healthy") or {}).get("status") == "False", seconds=30, what="the condition")
    wait_until(lambda: [e for e in kube.admin.events_of("gpu-5") if e["reason"] == "AssayCordoned"], seconds=30, what="the Event")
    acting.give_back("gpu-5")
    acting.settle()
    used = {(r.verb, r.resource) for r in kube.audit.find(user=user)}
    assert {("patch", "nodes"), ("patch", "nodes/status"), ("create", "events"), ("create", "leases"), ("update", "leases")} <= used
    assert kube.audit.refused(user) == []


def test_without_its_binding_it_can_mark_nothing(kube, deployed):
    where, api = deployed("cordon")
    kube.admin.create_node("gpu-2")
    patch = {"metadata": {"annotations": {"assay.dev/cordon": "{}"}}, "spec": {"unschedulable": True}}
    assert api.patch(NODES + "/gpu-2?dryRun=All", patch).status == 200
    kube.kubectl("delete", "clusterrolebinding", "assay-cordon")
    for path in (NODES + "/gpu-2", NODES + "/gpu-2/status"):
        assert api.patch(path, patch, check=False).status == 403
    assert api.get(NODES + "/gpu-2").status == 200
    kube.kubectl("apply", "-k", where)
    assert api.patch(NODES + "/gpu-2?dryRun=All", patch).status == 200


def test_remove_marks_leaves_the_nodes_as_they_were(kube):
    healthy = {"type": "assay.dev/Healthy", "status": "False", "reason": "AssayCordoned", "message": "cordoned"}
    ours = json.dumps({"v": 1, "by": "assay", "reason": "r", "pre": False})
    theirs = json.dumps({"v": 1, "by": "assay", "reason": "r", "pre": True})
    taints = [{"key": "assay.dev/testing", "effect": "NoSchedule"}, {"key": "a/b", "effect": "NoSchedule"}]
    kube.admin.delete(NODES)
    kube.admin.create_node("clean", annotations={"x/y": "1"}, taints=taints[1:])
    kube.admin.create_node("ours", annotations={"assay.dev/cordon": ours, "x/y": "1"}, taints=taints, unschedulable=True)
    kube.admin.create_node("theirs", annotations={"assay.dev/cordon": theirs}, unschedulable=True)
    for name in ("ours", "theirs"):
        kube.admin.patch(f"{NODES}/{name}/status", {"status": {"conditions": [healthy]}}, content="application/strategic-merge-patch+json")
    before = kube.admin.node("clean")["metadata"]["resourceVersion"]

    def remove(*words):
        return subprocess.run([WHERE / "remove-marks", *words], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "KUBECONFIG": str(kube.kubeconfig("admin"))})
    out = remove("theirs")
    assert (out.returncode, out.stdout) == (0, "theirs: marks removed\n"), out.stderr
    out = remove("--uncordon")
    assert (out.returncode, out.stdout) == (0, "ours: marks removed, back in service\n"), out.stderr
    ours, theirs = kube.admin.node("ours"), kube.admin.node("theirs")
    assert "unschedulable" not in ours["spec"] and theirs["spec"]["unschedulable"] is True
    assert [t["key"] for t in ours["spec"]["taints"]] == ["a/b"] and ours["metadata"]["annotations"] == {"x/y": "1"}
    for name in ("ours", "theirs"):
        assert kube.admin.condition(name, "assay.dev/Healthy") is None and kube.admin.condition(name, "Ready")["status"] == "True"
    assert kube.admin.node("clean")["metadata"]["resourceVersion"] == before
    out = remove()
    assert (out.returncode, out.stdout) == (0, "")
