# SPDX-License-Identifier: Apache-2.0
"""Identification of agents by the token that a kubelet projects into their pod, with a real API server."""
import hashlib
import json

import pytest
from fixtures_controller import report
from server import CONTROLLER, NAMESPACE

AGENT = "assay-agent"
REVIEWS = "tokenreviews"


@pytest.fixture
def identities(controller, tmp_path):
    """identities(server, **kubernetes) starts a controller that reviews tokens at `server`, by default without caching."""
    def start(server, *args, **kubernetes):
        path = tmp_path / "controller.yaml"
        path.write_text(json.dumps({"v": 1, "kubernetes": {"agents": [f"{NAMESPACE}:{AGENT}"], "identity-for": "0s", **kubernetes}}))
        return controller("--config", path, "--kubeconfig", server.kubeconfig("ctl"), *args)
    return start


def agent_of(server, node, name=None):
    """Creates the agent's pod on that node. Returns its token."""
    server.admin.ensure({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    pod = server.admin.create_pod(name or f"agent-{node}", node, namespace=NAMESPACE, serviceAccountName=AGENT)
    return pod, server.admin.create_token(AGENT, NAMESPACE, "assay", pod)


def delete(server, pod):
    server.admin.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}?gracePeriodSeconds=0")


def asked(server):
    return [r for r in server.audit.find(user=CONTROLLER, resource=REVIEWS)]


def test_an_agent_reports_for_the_node_of_its_pod_and_no_other(kube, identities, wait_until):
    _, token = agent_of(kube, "gpu-1")
    agent_of(kube, "gpu-2")
    c = identities(kube)
    assert c.post(report("gpu-1"), token=token).status == 202
    refused = c.post(report("gpu-2"), token=token)
    assert refused.status == 403 and "gpu-2" in refused.json["detail"]
    assert c.get("/v1/nodes", token=token).status == 403
    assert c.get("/v1/nodes/gpu-2/orders?wait=0", token=token).status == 403
    assert c.get("/v1/nodes/gpu-1/orders?wait=0", token=token).status in (200, 204)
    wait_until(lambda: len(asked(kube)) >= 5)
    assert all(r.request["spec"]["audiences"] == ["assay"] and r.code == 201 for r in asked(kube))
    assert not [r for r in kube.audit.find(user=CONTROLLER) if r.code == 403], "the rights of deploy/kubernetes are enough"


def test_tokens_that_are_not_for_us_are_refused(kube, identities):
    pod, good = agent_of(kube, "gpu-1")
    c = identities(kube)
    assert c.post(report(), token=good).status == 202
    # Signed here like the server does: with the same claims, except one error each.
    assert c.post(report(), token=kube.mint(AGENT, "assay", 3600, pod)).status in (200, 202), "what is minted right is taken"
    wrong = {
        "another audience": (kube.admin.create_token(AGENT, NAMESPACE, "vault", pod), 401),
        "expired": (kube.mint(AGENT, "assay", -120, pod), 401),
        "a signature of nobody": (good[:-12] + ("A" if good[-12] != "A" else "B") + good[-11:], 401),
        "bound to no pod": (kube.admin.create_token(AGENT, NAMESPACE, "assay"), 403),
        "another account": (kube.mint("assay-controller", "assay", 3600, pod), 403),
    }
    for why, (token, status) in wrong.items():
        answer = c.post(report(), token=token)
        assert answer.status == status, (why, answer.json)
        assert answer.json["detail"], why


def test_about_another_node_no_token_is_good_whatever_its_state(kube, identities):
    """For a pod's own token, one seen before, one used by another host, and an expired one."""
    pod, own = agent_of(kube, "gpu-1")
    gone, dead = agent_of(kube, "gpu-3")
    _, other = agent_of(kube, "gpu-2")
    c = identities(kube, **{"identity-for": "5m"})
    assert c.post(report("gpu-1"), token=own).status == 202
    assert c.post(report("gpu-3"), token=dead).status == 202
    delete(kube, gone)
    states = {
        "the first time": (kube.mint(AGENT, "assay", 3600, pod), 403),
        "replayed: its report was taken, and it is known": (own, 403),
        "of a pod that is gone, and known": (dead, 403),
        # These are not authenticated, so the result is 401 for any node.
        "expired": (kube.mint(AGENT, "assay", -120, pod), 401),
        "expired long ago": (kube.mint(AGENT, "assay", -3000, pod), 401),
    }
    for why, (token, status) in states.items():
        for form in ({}, {"zipped": True}):
            answer = c.post(report("gpu-2", seq=7), token=token, **form)
            assert answer.status == status, (why, answer.json)
            assert status == 401 or "may not report for 'gpu-2'" in answer.json["detail"], why
        batch = c.call("POST", "/v1/reports/batch", json.dumps(report("gpu-2", seq=8)).encode(), token=token)
        said = batch.json["results"][0]["status"] if batch.status == 202 else batch.status
        assert said == status, (why, batch.body)
        assert c.get("/v1/nodes/gpu-2/orders?wait=0", token=token).status == status, why
    ended = c.post(report("gpu-1", seq=9), token=states["expired"][0])
    assert ended.status == 401  # for its own node, too
    # Nothing of it was stored: the first report of gpu-2 is new.
    assert c.post(report("gpu-2", seq=7), token=other).status == 202
    assert c.post(report("gpu-2", seq=8), token=other).status == 202


def test_a_token_that_ends_while_it_is_known_is_known_no_more(kube, identities, wait_until):
    """It is not cached past its expiry, whatever identity-for is: from ten seconds before, the server is queried again."""
    pod, _ = agent_of(kube, "gpu-1")
    c = identities(kube, **{"identity-for": "5m"})
    token = kube.mint(AGENT, "assay", 12, pod)
    assert c.post(report("gpu-1"), token=token).status == 202
    n = len(asked(kube))
    assert wait_until(lambda: c.post(report("gpu-1"), token=token).status == 200 and len(asked(kube)) > n)


def test_the_token_of_a_pod_that_is_gone_is_refused(kube, identities):
    pod, token = agent_of(kube, "gpu-1")
    c = identities(kube)
    assert c.post(report(), token=token).status == 202
    delete(kube, pod)
    assert c.post(report(seq=2), token=token).status == 401
    # Another pod has its name now, on another node.
    _, other = agent_of(kube, "gpu-2", pod["metadata"]["name"])
    answer = c.post(report(seq=3), token=token)
    assert answer.status in (401, 403), answer.json
    assert c.post(report("gpu-2"), token=other).status == 202


def test_what_is_known_stays_so_while_the_server_is_away(kube_own, identities, wait_until):
    _, known = agent_of(kube_own, "gpu-1")
    _, unknown = agent_of(kube_own, "gpu-2")
    c = identities(kube_own, **{"identity-for": "5m"})
    assert c.post(report("gpu-1"), token=known).status == 202
    n = len(wait_until(lambda: asked(kube_own), what="the question in the audit log"))
    kube_own.stop()
    assert c.post(report("gpu-1", seq=2), token=known).status == 202
    answer = c.post(report("gpu-2"), token=unknown)
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0
    kube_own.start()
    assert wait_until(lambda: c.post(report("gpu-2"), token=unknown).status in (200, 202))
    assert c.post(report("gpu-1", seq=3), token=known).status == 202
    assert n == 1 and c.metrics()["assay_identity_failed_total"] >= 1


def test_others_have_the_roles_that_the_settings_say(kube, identities):
    agent_of(kube, "gpu-1")
    kube.admin.ensure({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}})
    robot, other = (kube.admin.create_token(a, n, "assay") for a, n in (("robot", "default"), ("assay-controller", NAMESPACE)))
    c = identities(kube, identities=[{"user": "system:serviceaccount:default:robot", "role": "read"}])
    assert c.get("/v1/nodes", token=robot).status == 200
    assert c.post(report(), token=robot).status == 403
    answer = c.get("/v1/nodes", token=other)
    assert answer.status == 403 and "assay-controller" in answer.json["detail"]
    assert c.get("/v1/nodes").status == 401


def test_in_kubernetes_the_usual_agent_needs_no_settings(kube, controller, tmp_path):
    _, token = agent_of(kube, "gpu-1")
    path = tmp_path / "tokens.yaml"
    path.write_text("v: 1\ntokens: []\n")
    c = controller("--cluster", "kubernetes", "--kubeconfig", kube.kubeconfig("ctl"), "--tokens", path)
    assert c.post(report("gpu-1"), token=token).status == 202
    assert c.post(report("gpu-2"), token=token).status == 403
    assert c.get("/v1/nodes").status == 401
    # From the cache: identity-for is 5m.
    assert c.metrics()["assay_identity_asked_total"] == 1


def test_tokens_that_are_known_here_never_leave(kube, identities, tmp_path):
    like_one = "eyJhbGciOiJub25lIn0.eyJhdWQiOlsiYXNzYXkiXX0.AAAA"
    path = tmp_path / "tokens.yaml"
    path.write_text(f"v: 1\ntokens: [{{sha256: {hashlib.sha256(like_one.encode()).hexdigest()}, role: read}}]\n")
    c = identities(kube, "--tokens", path)
    assert c.get("/v1/nodes", token=like_one).status == 200
    assert c.get("/v1/nodes", token="not a token of this cluster").status == 401
    assert c.get("/v1/nodes", token="a.b.c").status == 401
    assert c.metrics()["assay_identity_asked_total"] == 0 and asked(kube) == []


def test_a_flood_of_strangers_costs_the_server_little(kube, identities, wait_until):
    _, good = agent_of(kube, "gpu-1")
    head, _, tail = good.rpartition(".")
    c = identities(kube)
    said = [c.post(report(), token=f"{head}.{i:04d}{tail[4:]}").status for i in range(120)]
    assert set(said) <= {401, 429} and said.count(429) >= 60
    wait_until(lambda: len(asked(kube)) >= said.count(401), what="the questions in the audit log")
    assert len(asked(kube)) == said.count(401)


def test_a_body_waits_until_its_sender_is_known(kube, identities, wait_until):
    _, token = agent_of(kube, "gpu-1")
    c = identities(kube)
    assert c.post(report(note="x" * 1_000_000), zipped=True, token=token).status == 202
    assert c.post(report(seq=2, note="x" * 1_000_000), token=token).status == 202
    assert c.post(report(seq=3, note="x" * 1_000_000), token="a.eyJhdWQiOlsiYXNzYXkiXX0.b").status == 401
    wait_until(lambda: c.metrics()["assay_http_body_bytes"] == 0)
