# SPDX-License-Identifier: Apache-2.0
"""The controller itself moves a job off its bad hosts: from the reports to the last pod, on a real API server."""
from acting import POLICY, WAIT_S
from api import DAEMON, JOB
from server import CONTROLLER

NODES = [f"gpu-{i}" for i in range(6)]
BAD = {"gpu-0", "gpu-1"}
JOBSET = {"jobset.sigs.k8s.io/jobset-name": "llama"}
PODS = "/api/v1/namespaces/default/pods"
DRAINS = POLICY.replace("budget: {", "budget: {per_job: 10, ").replace("action: cordon}", "action: cordon+drain}") + \
    "drain: {mode: evict-now}\n"


def actions(a, node, **like):
    """The node's actions with these members, newest first."""
    rows = a.ask(lambda c: c.get(f"/v1/actions?node={node}")).json["items"]
    return [row for row in rows if all(row[k] == v for k, v in like.items())]


def evictions(kube):
    return kube.audit.find(user=CONTROLLER, resource="pods/eviction")


def has_pod(kube, name):
    return kube.admin.get(f"{PODS}/{name}", check=False).status == 200


def run_job(kube, hosts):
    """Rank i on the i-th node, beside a DaemonSet's pod; the budget allows no disruption."""
    for i, node in enumerate(hosts):
        kube.admin.create_pod(f"llama-{i}", node, labels={**JOBSET, "budget": "llama"}, owner=JOB, volumes=[{"name": "shm", "emptyDir": {}}])
        kube.admin.create_pod(f"exporter-{i}", node, owner=DAEMON)
    kube.admin.create_budget("llama", {"budget": "llama"}, 0)


def test_a_job_is_moved_off_its_bad_hosts(kube, way, acting, kubelets):
    a = acting.start(NODES, url=way.url, rules=DRAINS)
    run_job(kube, NODES[:3])
    for name in NODES:
        a.host(name).report(sku="h100")
    way.set("hold", which=lambda method, path, _: method == "PATCH" and path.startswith("/api/v1/nodes/gpu-1?"))
    a.host("gpu-1").report(ok=False, sku="h100")
    assert a.until(lambda: way.did["hold"], WAIT_S), a.words("gpu-1")
    a.host("gpu-0").report(ok=False, sku="h100")
    refused = a.until(lambda: actions(a, "gpu-0", action="evict", state="refused"), WAIT_S)
    assert refused and refused[-1]["result"].startswith("drain.job: gpu-1"), a.words("gpu-0")
    assert kube.admin.cordoned() == {"gpu-0"} and evictions(kube) == []  # the job could start again on gpu-1
    way.set("pass")
    assert a.until(lambda: {r.code for r in evictions(kube)} == {429}, WAIT_S), a.words("gpu-0")
    assert kube.admin.cordoned() == BAD
    waits = a.until(lambda: [row for node in BAD for row in actions(a, node, action="evict", state="decided") if row["result"]], WAIT_S)
    assert len(waits) == 1 and "disruption budget" in waits[0]["result"], waits
    first = waits[0]["node"]
    kube.admin.allow_disruptions("llama", 3)  # all may go now; one host per job is drained at a time
    assert a.until(lambda: actions(a, first, action="evict", state="done"), WAIT_S), a.words(first)
    pod = f"llama-{NODES.index(first)}"
    assert not has_pod(kube, pod)
    assert a.until(lambda: "AssayDrained" in {e["reason"] for e in kube.admin.events_of(first)}, WAIT_S)
    assert all(has_pod(kube, name) for name in {"llama-0", "llama-1", "llama-2", "exporter-0", "exporter-1", "exporter-2"} - {pod})
    assert {r.name for r in evictions(kube)} == {pod}
    assert max(r.ended for r in kube.audit.cordons()) <= min(r.began for r in evictions(kube))
    assert {(r.verb, r.resource) for r in kube.audit.writes(user=CONTROLLER) if r.resource.startswith("pods")} == {("create", "pods/eviction")}
    assert a.ask(lambda c: c.get(f"/v1/nodes/{first}/why")).json["life"]["state"] == "drained"
    a.finish(once=BAD)


def test_a_job_without_another_place_stays_where_it_is(kube, acting, kubelets):
    a = acting.start(NODES, rules=DRAINS)
    run_job(kube, NODES)
    kube.admin.allow_disruptions("llama", 2)
    for name in NODES:
        a.host(name).report(sku="h100")
    a.host("gpu-0").report(ok=False, sku="h100")
    refused = a.until(lambda: actions(a, "gpu-0", action="evict", state="refused"), WAIT_S)
    assert refused and refused[-1]["result"].startswith("drain.spares: 0 idle hosts"), a.words("gpu-0")
    assert a.is_out("gpu-0") and evictions(kube) == []
    kube.admin.create_node("spare")
    a.host("spare").report(sku="h100")
    assert a.until(lambda: actions(a, "gpu-0", action="evict", state="done"), 2 * WAIT_S), a.words("gpu-0")
    assert not has_pod(kube, "llama-0") and has_pod(kube, "llama-1")
    a.finish(once=["gpu-0"])
