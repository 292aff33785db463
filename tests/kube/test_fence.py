# SPDX-License-Identifier: Apache-2.0
"""Several controllers on one cluster: one acts, and the budget holds whatever happens. The audit log is the evidence."""
import concurrent.futures
import contextlib
import json
import signal
import socket
import time

import acting
from acting import LEASES, lease
from fixtures_controller import report, sample
from server import CONTROLLER, TWINS
from waiting import wait_for

WAIT_S = 60
KEPT_S = 60  # how long reservations of another controller are kept
BUDGET = 5
NODES = [f"gpu-{i}" for i in range(20)]
SEEN = "assay-test/seen"
STOP = "assay.dev/stop"
NO_ELECTION = {"ASSAY_TEST_NO_ELECTION": "1"}
SHORT_S = 3
SHORT = {"ASSAY_TEST_LEASE_SECONDS": str(SHORT_S)}
QUIET = 8  # consecutive checks


class Twin:
    """One of several controllers, with its own store and account: `uid` in the audit log."""

    def __init__(self, start, kube, directory, name, url=None, env=None):
        self.uid, self.directory, self.env, self.start = name, directory / name, env or {}, start
        self.directory.mkdir()
        self.kubeconfig = kube.kubeconfig(name, self.directory / "kubeconfig", url=url)
        (self.directory / "policy.yaml").write_text(acting.POLICY % BUDGET)
        self.config = self.directory / "controller.yaml"
        self.config.write_text(acting.CONFIG % (self.directory / "policy.yaml"))
        self.seq = 0
        self.again()

    def again(self):
        self.c = self.start("--config", self.config, "--cluster", "kubernetes", "--kubeconfig", self.kubeconfig,
                            db=self.directory / "assay.db", env=self.env)

    def said(self, node, ok):
        self.seq += 1
        cores = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)]
        return report(node, self.seq, samples=[*cores, acting.nic(ok)], sku=node)

    def report(self, node, ok):
        with contextlib.suppress(OSError):  # it may have exited, as twins do
            self.c.post_again(self.said(node, ok))

    def runs(self):
        return self.c.process.poll() is None

    def leads(self):
        return "now the leader" in self.c.log()

    def is_quiet(self):
        """Has it exited, or is it idle?"""
        try:
            return not self.runs() or self.c.metrics()["assay_actions_under_way"] == 0
        except OSError:
            return not self.runs()

    def kill(self):
        if self.runs():
            self.c.kill()


def holders(kube):
    return acting.holders_of(lease(kube, "assay-budget"))


def annotate(kube, value):
    kube.admin.patch(f"{LEASES}/assay-budget", {"metadata": {"annotations": {STOP: value}}})


def witness(kube, nodes):
    """Checks the writes of these nodes in the log: a change whose client had disconnected is logged with 500 although it was made."""
    for node in nodes:
        kube.admin.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {SEEN: "yes"}}})
    assert wait_for(lambda: {r.name for r in kube.audit.writes(user="admin", resource="nodes", verb="patch")
                             if SEEN in ((r.request or {}).get("metadata") or {}).get("labels", {})} >= set(nodes), WAIT_S)


def find_bad(twin, k):
    for i, node in enumerate(NODES):
        if (i + k) % 3 == 0:
            twin.report(node, ok=False)


def race(kube, controller, directory, number):
    """Each finds different hosts bad; all have decided before the cluster is reachable, and act at once when it is."""
    directory = directory / f"round-{number}"
    directory.mkdir()
    kube.clean()
    for node in NODES:
        kube.admin.create_node(node)
    kube.pause()
    try:
        twins = [Twin(controller, kube, directory, f"ctl-{k + 1}", env=NO_ELECTION) for k in range(TWINS)]
        with concurrent.futures.ThreadPoolExecutor(TWINS) as pool:
            list(pool.map(find_bad, twins, range(TWINS)))
    finally:
        kube.resume()
    looks = []

    def is_over():
        for twin in twins:
            if not twin.runs() and not looks:
                twin.again()  # like its StatefulSet
        looks.append(all(t.is_quiet() for t in twins))
        return len(looks) >= QUIET and all(looks[-QUIET:])
    over = wait_for(is_over, WAIT_S)
    words = "\n".join(t.c.log()[-1500:] for t in twins)
    for twin in twins:
        twin.kill()
    assert over, words
    check_budget(kube)
    return {r.uid for r in kube.audit.find(user=CONTROLLER, resource="leases") if r.wrote}, twins[-1]


def check_budget(kube):
    witness(kube, NODES)
    assert kube.audit.most_in_force() <= BUDGET, [str(r) for r in kube.audit.cordons()]
    assert kube.audit.refused(CONTROLLER) == []


def test_a_race_of_eight_without_election_keeps_the_budget(kube, controller, tmp_path, full):
    wrote = set()
    for number in range(20 if full else 5):
        by, last = race(kube, controller, tmp_path, number)
        wrote |= by
    assert len(wrote) > 1  # it was a race
    last.again()  # the takeovers are over: the budget is used up, whatever reservations the others have left
    for k in range(TWINS):
        find_bad(last, k)
    assert wait_for(lambda: len(kube.admin.cordoned()) == BUDGET, KEPT_S + WAIT_S), last.c.log()
    check_budget(kube)


def tempt(twin, node):
    """Sends a bad report that it finds when it resumes."""
    body = json.dumps(twin.said(node, ok=False)).encode()
    s = socket.create_connection((twin.c.host, twin.c.port))
    s.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    return s


def stop_the_leader(kube, controller, tmp_path, env, stopped_s):
    for node in NODES:
        kube.admin.create_node(node)
    first = Twin(controller, kube, tmp_path, "ctl-1", env=env)
    assert wait_for(first.leads, WAIT_S), first.c.log()
    first.report("gpu-1", ok=False)
    assert wait_for(lambda: kube.admin.cordoned() == {"gpu-1"}, WAIT_S), first.c.log()
    second = Twin(controller, kube, tmp_path, "ctl-2", env=env)
    assert wait_for(lambda: "another controller is the leader" in second.c.log(), WAIT_S), second.c.log()
    assert not second.leads()
    first.c.process.send_signal(signal.SIGSTOP)
    goes_on = time.monotonic() + stopped_s
    try:
        assert wait_for(second.leads, WAIT_S), second.c.log()
        time.sleep(max(0, goes_on - time.monotonic()))
        sockets = [tempt(first, node) for node in NODES[2:]]
    finally:
        first.c.process.send_signal(signal.SIGCONT)
    assert first.c.process.wait(WAIT_S) == 1
    assert "no longer the leader" in first.c.log()
    second.report("gpu-7", ok=False)
    assert wait_for(lambda: "gpu-7" in kube.admin.cordoned(), WAIT_S), second.c.log()
    taken = [r for r in kube.audit.writes(uid="ctl-2", resource="leases", name="assay-controller")][0]
    late = [r for r in kube.audit.writes(uid="ctl-1") if r.ended > taken.ended]
    assert late == []
    assert kube.admin.cordoned() == {"gpu-1", "gpu-7"}
    for s in sockets:
        s.close()


def test_a_leader_that_was_stopped_writes_nothing_when_it_goes_on(kube, controller, tmp_path, full):
    stop_the_leader(kube, controller, tmp_path, {} if full else SHORT, 20 if full else 0)


def test_a_twin_by_accident_stands_by_and_takes_over_at_once(kube, controller, tmp_path):
    for node in NODES[:3]:
        kube.admin.create_node(node)
    first = Twin(controller, kube, tmp_path, "ctl-1")
    assert wait_for(first.leads, WAIT_S), first.c.log()
    second = Twin(controller, kube, tmp_path, "ctl-2")
    assert wait_for(lambda: "another controller is the leader" in second.c.log(), WAIT_S), second.c.log()
    # The active controller would never see a report that it accepts, so it refuses, and agents go elsewhere.
    ready = second.c.get("/readyz")
    assert ready.status == 503 and "another controller is the leader" in ready.json["detail"]
    assert second.c.get("/healthz").status == first.c.get("/readyz").status == 200
    refused = second.c.post(second.said("gpu-2", ok=False))
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0 and refused.headers["Connection"] == "close"
    assert second.c.get("/v1/nodes/gpu-2/orders?wait=0").status == 503
    assert second.c.get("/v1/nodes").json["items"] == []
    first.report("gpu-1", ok=False)
    assert wait_for(lambda: kube.admin.cordoned() == {"gpu-1"}, WAIT_S), first.c.log()
    assert kube.audit.writes(uid="ctl-2") == []
    assert first.c.stop()[0] == 0
    released = lambda: [r for r in kube.audit.writes(uid="ctl-1", resource="leases", name="assay-controller")  # noqa: E731
                        if r.request["spec"]["holderIdentity"] == ""]
    assert wait_for(released, WAIT_S)
    second.report("gpu-2", ok=False)  # like its agent, whose report was refused
    assert second.c.get("/readyz").status == 200
    assert wait_for(lambda: kube.admin.cordoned() == {"gpu-1", "gpu-2"}, WAIT_S), second.c.log()
    assert lease(kube, "assay-controller")["spec"]["leaseTransitions"] == 1


def test_what_was_reserved_and_not_done_is_reconciled(kube, way, controller, tmp_path):
    for node in NODES[:3]:
        kube.admin.create_node(node)
    twin = Twin(controller, kube, tmp_path, "ctl-1", url=way.url, env=SHORT)
    assert wait_for(twin.leads, WAIT_S), twin.c.log()
    # Its budget is reserved, and the node cannot be written: the change is in flight when the controller exits, and is lost.
    way.set("hold", lost=True, which=lambda method, path, _: method == "PATCH" and path.startswith("/api/v1/nodes/gpu-1?"))
    twin.report("gpu-1", ok=False)
    assert wait_for(lambda: way.held, WAIT_S), twin.c.log()
    twin.kill()
    assert holders(kube) == {"gpu-1": False}
    assert kube.admin.cordoned() == set()
    way.set("pass")
    twin.again()
    assert wait_for(lambda: holders(kube) == {"gpu-1": True}, WAIT_S), twin.c.log()
    assert kube.admin.cordoned() == {"gpu-1"}
    witness(kube, ["gpu-1"])
    assert len(kube.audit.cordons("gpu-1")) == 1


def test_the_kill_switch_stops_and_says_so(kube, controller, tmp_path):
    for node in NODES:
        kube.admin.create_node(node)
    twin = Twin(controller, kube, tmp_path, "ctl-1")
    assert wait_for(lambda: lease(kube, "assay-budget"), WAIT_S), twin.c.log()
    annotate(kube, "repairs in row 7")
    stopped = lambda: twin.c.metrics()["assay_stopped"] == 1  # noqa: E731
    assert wait_for(stopped, WAIT_S), twin.c.log()
    twin.report("gpu-1", ok=False)
    answer = twin.c.call("POST", "/v1/nodes/gpu-2/cordon", json.dumps({"reason": "the test says so"}).encode())
    assert answer.status == 409 and "repairs in row 7" in answer.body.decode(), answer.body
    assert "repairs in row 7" in twin.c.get("/v1/breaker").json["stopped"]
    assert [r for r in kube.audit.writes(user=CONTROLLER) if r.resource == "nodes"] == []
    annotate(kube, None)
    assert wait_for(lambda: kube.admin.cordoned() == {"gpu-1"}, WAIT_S), twin.c.log()
