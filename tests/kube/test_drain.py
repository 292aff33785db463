# SPDX-License-Identifier: Apache-2.0
"""Our drain compared with `kubectl drain`: two nodes with the same pods, one drained by each; the same pods go and stay."""
import concurrent.futures
import itertools
import json
import subprocess
import time

import pytest
from api import DAEMON, JOB
from server import CONTROLLER

SCRATCH = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
PODS = "/api/v1/namespaces/default/pods"
OURS, THEIRS = "gpu-ours", "gpu-theirs"
TIMEOUT_S = 60
SOON_S = 30  # for pods that end on their own


@pytest.fixture
def drain(kube, build):
    """drain(node, seconds, words...): its exit status and the answers of its rounds."""
    program = build / "tests/kube/kube_drain_probe"
    if not program.exists():
        pytest.skip("built without libcurl, libsystemd, SQLite or libmicrohttpd: nothing talks to Kubernetes")

    def run(node, seconds, *words):
        done = subprocess.run([program, kube.kubeconfig("ctl"), node, str(seconds), *words], capture_output=True, text=True,
                              timeout=TIMEOUT_S + seconds, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


class Twins:
    """The same pods on both nodes."""

    def __init__(self, kube):
        self.kube, self.admin = kube, kube.admin
        self.admin.ensure({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "owner", "namespace": "default"},
                           "spec": {"selector": {"matchLabels": {"of": "daemon"}},
                                    "template": {"metadata": {"labels": {"of": "daemon"}},
                                                 "spec": {"containers": [{"name": "main", "image": "none"}]}}}})
        for node in (OURS, THEIRS):
            self.admin.create_node(node)

    def add(self, name, budgets=(), **more):
        for node in (OURS, THEIRS):
            labels = {f"budget-{b}": node for b in budgets}
            self.admin.create_pod(f"{name}-{node}", node, labels=labels, **more)

    def budget(self, name, allowed):
        for node in (OURS, THEIRS):
            self.admin.create_budget(f"{name}-{node}", {f"budget-{name}": node}, allowed)

    def left(self, node):
        """Names, without the node's, of the pods that are not terminating."""
        return {p["metadata"]["name"].removesuffix("-" + node) for p in self.admin.get(PODS).body["items"]
                if p["spec"]["nodeName"] == node and "deletionTimestamp" not in p["metadata"]}

    def kubectl(self, seconds, *words):
        return self.kube.kubectl("drain", THEIRS, "--ignore-daemonsets", f"--timeout={seconds}s", *words, check=False)


@pytest.fixture
def twins(kube):
    return Twins(kube)


def check_audit(kube):
    """Only evictions: no deletion, and no forbidden request."""
    assert not kube.audit.refused(CONTROLLER)
    for record in kube.audit.writes(user=CONTROLLER):
        assert (record.verb, record.resource) == ("create", "pods/eviction"), record


def test_what_kubectl_evicts_is_evicted_and_the_rest_stays(kube, twins, drain, kubelets):
    for i in range(3):
        twins.add(f"job-{i}", owner=JOB)
    twins.add("daemon", owner=DAEMON)
    twins.add("shared-memory", owner=JOB, volumes=SCRATCH)
    twins.add("waiting", owner=JOB, phase="Pending")
    assert twins.kubectl(30, "--delete-emptydir-data").returncode == 0
    status, answers = drain(OURS, 30, "scratch")
    assert status == 0 and answers[-1]["result"] == "done", answers
    assert twins.left(OURS) == twins.left(THEIRS) == {"daemon"}
    check_audit(kube)


@pytest.mark.parametrize(("pods", "words", "flags"), [
    ({"bare": {}}, ["scratch"], ["--delete-emptydir-data"]),
    ({"scratch": {"owner": JOB, "volumes": SCRATCH}}, [], []),
    ({"scratch": {"owner": JOB, "volumes": SCRATCH}}, ["bare"], ["--force"]),
])
def test_one_that_may_not_go_keeps_them_all_as_kubectl_does(kube, twins, drain, kubelets, pods, words, flags):
    twins.add("job", owner=JOB)
    for name, more in pods.items():
        twins.add(name, **more)
    theirs = twins.kubectl(5, *flags)
    assert theirs.returncode != 0 and "cannot delete" in theirs.stderr, theirs.stderr
    status, answers = drain(OURS, SOON_S, *words)
    assert status == 1 and next(iter(pods)) in answers[-1]["words"], answers
    assert twins.left(OURS) == twins.left(THEIRS) == {"job", *pods}
    assert not kube.audit.writes(user=CONTROLLER)


def test_a_bare_pod_goes_where_that_is_allowed(kube, twins, drain, kubelets):
    twins.add("bare")
    twins.add("job", owner=JOB)
    assert twins.kubectl(30, "--force").returncode == 0
    assert drain(OURS, 30, "bare")[0] == 0
    assert twins.left(OURS) == twins.left(THEIRS) == set()
    check_audit(kube)


def test_a_budget_holds_what_it_covers_and_is_not_hammered(kube, twins, drain, kubelets):
    twins.budget("none", 0)
    twins.budget("one", 1)
    twins.add("held", budgets=["none"], owner=JOB)
    twins.add("job", owner=JOB)
    for i in range(3):
        twins.add(f"one-{i}", budgets=["one"], owner=JOB)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        theirs = beside.submit(twins.kubectl, 12)
        status, answers = drain(OURS, 15)  # time for a second try, on a busy machine too
        assert theirs.result().returncode != 0
    assert status == 1 and "held" in " ".join(a["words"] for a in answers), answers
    left, theirs = twins.left(OURS), twins.left(THEIRS)
    assert "held" in left and "held" in theirs and "job" not in left | theirs
    assert len(left) == len(theirs) == 3  # one of three went; which one does not matter
    asked = [r.began for r in kube.audit.find(user=CONTROLLER, resource="pods/eviction") if r.name.startswith("held")]
    assert len(asked) >= 2 and all(b - a >= 4.9 for a, b in itertools.pairwise(asked)), asked
    kube.admin.allow_disruptions(f"none-{OURS}", 1)
    kube.admin.allow_disruptions(f"one-{OURS}", 2)
    assert drain(OURS, 30)[0] == 0
    assert twins.left(OURS) == set()
    check_audit(kube)


def test_two_budgets_on_one_pod_hold_it_and_no_other(kube, twins, drain, kubelets):
    twins.budget("red", 3)
    twins.budget("blue", 3)
    twins.add("both", budgets=["red", "blue"], owner=JOB)
    twins.add("job", owner=JOB)
    assert twins.kubectl(4).returncode != 0
    status, answers = drain(OURS, SOON_S)
    assert status == 1 and "more than one PodDisruptionBudget" in " ".join(a["words"] for a in answers), answers
    assert twins.left(OURS) == {"both"} and "both" in twins.left(THEIRS)
    asked = [r for r in kube.audit.find(user=CONTROLLER, resource="pods/eviction") if r.name.startswith("both")]
    assert [r.code for r in asked] == [500]


def test_what_kubectl_would_disturb_and_we_would_not(kube, twins, drain, kubelets):
    """Intended differences: finished pods, the cluster's namespaces, and pods that opted out."""
    twins.add("done", owner=JOB, phase="Succeeded")
    twins.add("job", owner=JOB)
    kube.admin.create_pod("system", OURS, namespace="kube-system", owner=JOB)
    assert drain(OURS, 30)[0] == 0
    assert twins.left(OURS) == {"done"}
    assert kube.admin.get("/api/v1/namespaces/kube-system/pods/system").status == 200
    twins.add("quiet", owner=JOB, annotations={"karpenter.sh/do-not-disrupt": "true"})
    twins.add("next", owner=JOB)
    status, answers = drain(OURS, SOON_S)
    assert status == 1 and "do-not-disrupt" in answers[-1]["words"]
    assert twins.left(OURS) == {"done", "quiet", "next"}


def test_a_pod_whose_kubelet_is_dead_is_waited_for_and_never_forced(kube, twins, drain):
    twins.add("job", owner=JOB)
    status, answers = drain(OURS, 5)
    assert status == 1 and answers[-1]["words"] == "1 of its pods are terminating"
    pod = kube.admin.get(f"{PODS}/job-{OURS}").body
    assert "deletionTimestamp" in pod["metadata"]
    evictions = kube.audit.writes(user=CONTROLLER, resource="pods/eviction")
    assert len(evictions) == 1  # a terminating pod is not evicted again
    check_audit(kube)


def test_in_a_rehearsal_the_server_is_asked_and_nothing_goes(kube, twins, drain, kubelets):
    twins.add("job", owner=JOB)
    assert drain(OURS, SOON_S, "dry")[0] == 0
    assert twins.left(OURS) == {"job"}


def measure(kube, agent, drain_it):
    """Drains it. Returns the number of requests of `agent`."""
    def made():
        return sum(r.agent.partition("/")[0] == agent for r in kube.audit.read())
    before, began = made(), time.monotonic()
    assert drain_it() == 0
    took, requests = time.monotonic() - began, made() - before
    print(f"{agent}: {took:.1f} s, {requests} requests")
    return requests


def test_many_pods_go_all_of_them(kube, twins, drain, kubelets, full):
    count = 300 if full else 25
    for i in range(count):
        twins.add(f"job-{i}", owner=JOB)
    theirs = measure(kube, "kubectl", lambda: twins.kubectl(5 * TIMEOUT_S).returncode)
    ours = measure(kube, "assay", lambda: drain(OURS, 2 * TIMEOUT_S)[0])
    assert twins.left(OURS) == twins.left(THEIRS) == set()
    evicted = [r.name for r in kube.audit.writes(user=CONTROLLER, resource="pods/eviction")]
    assert len(evicted) == len(set(evicted)) == count
    assert ours <= theirs  # we list all pods, instead of reading each
    check_audit(kube)


def test_the_jobs_of_a_node_are_told(kube, twins, drain):
    twins.add("daemon", owner=DAEMON)
    for i in range(2):
        twins.add(f"rank-{i}", owner=JOB)
    for i in range(2):
        kube.admin.create_pod(f"llama-{i}", OURS, labels={"jobset.sigs.k8s.io/jobset-name": "llama"}, owner=JOB)
    _, answers = drain(OURS, SOON_S, "jobs")
    assert answers[0]["result"] == "done"
    assert "default/llama (jobset)" in answers[0]["jobs"]
    assert sorted(j.rpartition(" ")[2] for j in answers[0]["jobs"]) == ["(jobset)", "(owner)"]


def test_a_node_is_told_that_what_runs_there_should_leave(kube, drain):
    kube.admin.create_node(OURS)
    status, answers = drain(OURS, SOON_S, "ask")
    assert status == 1 and answers[-1]["result"] == "not-ours"
    kube.admin.patch(f"/api/v1/nodes/{OURS}", {"metadata": {"annotations": {"assay.dev/cordon": "{}"}}})
    assert drain(OURS, SOON_S, "ask")[0] == 0
    note = json.loads(kube.admin.node(OURS)["metadata"]["annotations"]["assay.dev/drain"])
    assert note == {"v": 1, "reason": "by hand", "evict_at": None}
