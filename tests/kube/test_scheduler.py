# SPDX-License-Identifier: Apache-2.0
"""With a real kube-scheduler: the placement of a job's pods while their host waits for a test, is tested, and was acquitted."""
import subprocess

import pytest
from apiserver import Missing, scheduler, tool
from fixtures_controller import controller  # noqa: F401
from investigation_cell import TESTING, Cell
from test_investigations import wait_state
from test_job_judged import HOSTS, SLOW, WAIT_S
from waiting import wait_for

POD = "/api/v1/namespaces/default/pods/worker-3"
OWNER = {"owner": {"apiVersion": "batch/v1", "kind": "Job"}}


@pytest.fixture
def scheduled(kube, tmp_path, full):
    """A scheduler for the cluster `kube`, as a context manager."""
    try:
        program = scheduler(full)
    except Missing as e:
        pytest.skip(str(e))
    with open(tmp_path / "scheduler.log", "wb") as log:
        process = subprocess.Popen([tool("setpriv"), "--pdeathsig", "KILL", program, f"--kubeconfig={kube.kubeconfig('admin', tmp_path / 'scheduler.kubeconfig')}",
                                    "--leader-elect=false", "--port=0", "--secure-port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    yield process
    process.kill()
    process.wait()


def start(kube):
    """Creates a pod like its owner: it must run on SLOW, and the scheduler decides when."""
    kube.admin.create_pod("worker-3", None, phase="Pending", nodeSelector={"kubernetes.io/hostname": SLOW}, **OWNER)


def runs_on(kube):
    """The pod's node, if it was scheduled; sets it to running then."""
    node = kube.admin.get(POD).body["spec"].get("nodeName")
    if node:
        kube.admin.set_phase("worker-3", "Running")
    return node


def end(kube):
    kube.admin.delete(POD, {"gracePeriodSeconds": 0})


def refusal(kube):
    """The scheduler's reason for not scheduling a pod."""
    conditions = kube.admin.get(POD).body["status"].get("conditions") or []
    return next((c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")


def test_a_pod_that_starts_again_goes_back_to_its_host_while_that_waits_and_not_while_it_is_tested(kube, scheduled, controller, tmp_path):  # noqa: F811
    for node in HOSTS:
        kube.admin.create_node(node)
    start(kube)
    assert wait_for(lambda: runs_on(kube) == SLOW, WAIT_S), (tmp_path / "scheduler.log").read_text()[-3000:]
    f = Cell(controller, kube, tmp_path)
    f.begin()
    f.suspect()
    wait_state(f, "open")
    assert wait_for(lambda: "as soon as it is idle" in f.job()["decision"]["reason"], WAIT_S), f.job()
    end(kube)
    start(kube)
    assert wait_for(lambda: runs_on(kube) == SLOW, WAIT_S), (refusal(kube), f.words())
    assert f.taints() == [] and not f.is_out() and f.orders(SLOW) == [] and f.state() == "open"
    # Its job has left, and the host is held: nothing is scheduled there meanwhile.
    end(kube)
    f.last = f.order(SLOW)
    assert f.is_held() and not f.is_out()
    start(kube)
    assert wait_for(lambda: TESTING in refusal(kube), WAIT_S), kube.admin.get(POD).body
    assert runs_on(kube) is None
    f.answer(bad=False)
    assert wait_state(f, "acquitted")
    assert wait_for(lambda: runs_on(kube) == SLOW, WAIT_S), (refusal(kube), f.words())
    assert scheduled.poll() is None
