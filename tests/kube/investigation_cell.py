# SPDX-License-Identifier: Apache-2.0
"""An investigation on the nodes of a real API server, advanced to a given state; and checks for when it is over."""
import contextlib
import hashlib
import json

from acting import LEDGER, LEASES
from test_investigations import link, listed, record, wait_state
from test_job_judged import ADMIN, HOSTS, SLOW, WAIT_S, Fleet
from waiting import wait_for

TESTING = "assay.dev/testing"
LATE_S = 20 * 60  # maximum hold of a host without an investigation
POLICY = """v: 1
mode: enforce
budget: {{total: {{percent: 50}}, domain: {{label: none, max: 1000}}, rate: {{cordons: {cordons}, per: 10m}}}}
breaker: {{silent_percent: 100, alike: {{percent: 100, nodes: 100, per: 10m}}}}
coverage: {{max_age: 0s}}
retest: {{times: 2, spacing: 1s, timeout: 20m}}
jobs: {{mode: enforce, retest_spacing: 1s}}
rules: [{{name: slow, match: {{check: "gemm.*"}}, windows: {{k: 1, n: 1}}, action: retest}}]
"""
SHORT_LEASE = {"ASSAY_TEST_LEASE_SECONDS": "3"}


class Cell(Fleet):  # pylint: disable=too-many-instance-attributes
    """A controller with its own store on the cluster `kube`, at `url`, as the user `name`."""

    def __init__(self, controller, kube, tmp_path, name="ctl-1", url=None, cordons=100, env=None):  # pylint: disable=super-init-not-called
        self.kube, self.tmp_path, self.seq, self.directory, self.env = kube, tmp_path, {}, tmp_path / name, {**SHORT_LEASE, **(env or {})}
        self.directory.mkdir()
        self.policy = self.directory / "policy.yaml"
        self.policy.write_text(POLICY.format(cordons=cordons))
        (self.directory / "tokens.yaml").write_text(f"v: 1\ntokens: [{{sha256: {hashlib.sha256(ADMIN.encode()).hexdigest()}, role: admin}}]\n")
        (self.directory / "controller.yaml").write_text(f"v: 1\nmode: enforce\npolicy: {self.policy}\nreport-burst: 1000\nkubernetes: {{young: 0s}}\n")
        self.kubeconfig = kube.kubeconfig(name, self.directory / "kubeconfig", url=url)
        self.controller = controller
        self.again()

    def again(self):
        self.c = self.controller("--config", self.directory / "controller.yaml", "--tokens", self.directory / "tokens.yaml", "--cluster",
                                 "kubernetes", "--kubeconfig", self.kubeconfig, db=self.directory / "assay.db", env=self.env)

    def keep(self):
        """Restarts it if it has exited because it lost its Lease, like a StatefulSet."""
        if self.c.process.poll() is not None:
            self.again()

    def leads(self):
        return "now the leader" in self.c.log()

    def until(self, condition, seconds=WAIT_S):
        """Waits for the condition while the controller is kept running; it may be down for a moment."""
        def look():
            self.keep()
            with contextlib.suppress(OSError, ValueError, KeyError):
                return condition()
            return False
        return wait_for(look, seconds)

    def begin(self):
        """All hosts are present and equal."""
        assert wait_for(self.leads, WAIT_S), self.c.log()
        for node in HOSTS:
            self.report(node, profile="full")
        assert wait_for(lambda: self.order_of_a_person("silence", SLOW, **{"for": "0s"}).status == 200, WAIT_S), self.c.log()

    def answer(self, bad):
        """Answers the latest ordered test; an order is sent once a minute."""
        self.report(SLOW, bad=bad, profile="full", order=self.last)

    # ---- the state of the cluster ------------------------------------------------------

    def node(self):
        return self.kube.admin.node(SLOW)

    def taints(self):
        return [t["key"] for t in self.node()["spec"].get("taints") or []]

    def is_held(self):
        return TESTING in self.taints()

    def is_out(self):
        return bool(self.node()["spec"].get("unschedulable"))

    def holders(self):
        answer = self.kube.admin.get(f"{LEASES}/assay-budget", check=False)
        text = (answer.body["metadata"].get("annotations") or {}).get(LEDGER) if answer.status == 200 else None
        return [h["node"] for h in json.loads(text)["holders"]] if text else []

    def lift(self):
        """Removes the hold by hand."""
        self.kube.admin.patch(f"/api/v1/nodes/{SLOW}", {"spec": {"taints": [t for t in self.node()["spec"].get("taints") or [] if t["key"] != TESTING]}},
                              content="application/merge-patch+json")

    # ---- checks ------------------------------------------------------------------------

    def state(self):
        return record(self)["state"]

    def words(self):
        with contextlib.suppress(OSError):
            return json.dumps({"records": listed(self), "actions": self.actions(), "node": self.node()["spec"]}, indent=1) + self.c.log()[-3000:]
        return self.c.log()[-3000:]

    def ends(self, run, state, sentence):
        """It ends, the record shows it, and the host is free."""
        assert self.until(lambda: self.state() == state and record(self)["ended"]), self.words()
        over = record(self)
        assert sentence in over["sentence"], over
        shown = run("assayctl", "investigation", "1", *link(self))
        assert shown.returncode == 0 and sentence in shown.stdout.replace("\n", " "), shown.stdout + shown.stderr
        self.is_free()

    def is_free(self):
        """Is no hold left, neither on the node nor in the ledger?"""
        assert self.until(lambda: not self.is_held() and self.c.metrics()["assay_nodes_held"] == 0), self.words()
        assert self.is_out() or self.until(lambda: self.holders() == []), (self.holders(), self.words())


# ---- states --------------------------------------------------------------------------------


def opens(f):
    """It waits: the job keeps the host busy, and the host is not held."""
    f.suspect(ends=False)
    wait_state(f, "open")
    assert f.taints() == [] and not f.is_out() and f.orders(SLOW) == []


def tests(f):
    f.suspect()
    f.last = f.order(SLOW)
    assert wait_state(f, "testing")["tests"]
    assert f.is_held() and not f.is_out()


def fails_once(f):
    tests(f)
    f.answer(bad=True)
    assert wait_for(lambda: [t["result"] for t in record(f)["tests"]][:1] == ["it failed again"], WAIT_S), f.words()
    assert f.is_held() and f.state() == "testing"
    f.last = f.order(SLOW)


def fails_until(f, state):
    """Two failed tests prove it; one too soon after another does not count, so there may be a third."""
    fails_once(f)
    f.answer(bad=True)

    def has_come():
        for order in f.orders(SLOW):
            f.last = {"id": order["id"], "kind": "deep"}
            f.answer(bad=True)
        return f.state() == state
    assert wait_for(has_come, WAIT_S), f.words()


def is_to_be_evicted(f):
    """Its cordon is refused: budget.rate is used up (`cordons` of the cell is 0)."""
    fails_until(f, "evict")


def is_cordoned(f):
    fails_until(f, "cordoned")
    assert f.is_out()


def is_acquitted(f):
    tests(f)
    f.answer(bad=False)
    assert wait_state(f, "acquitted")["ended"]


STATES = {"open": opens, "testing": tests, "failed": fails_once, "evict": is_to_be_evicted, "cordoned": is_cordoned, "acquitted": is_acquitted}
CORDONS = {"evict": 0}
GONE_ON = ("open", "testing", "failed", "evict")  # states of an open investigation
