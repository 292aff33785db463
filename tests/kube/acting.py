# SPDX-License-Identifier: Apache-2.0
"""A controller that acts on the nodes of a real API server, the reports of their hosts, and invariants to check."""
import contextlib
import http.client
import json

from fixtures_controller import report, sample
from server import CONTROLLER, NAMESPACE
from waiting import wait_for

WAIT_S = 60
ENDS_MAX = 5
MARK = "assay.dev/cordon"
OVERRIDE = "assay.dev/override-until"
CONDITION = "assay.dev/Healthy"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
LEDGER = "assay.dev/ledger"
POLICY = """v: 1
mode: enforce
budget: {total: {percent: 100, nodes: %d}, domain: {label: none, max: 1000}, rate: {cordons: 100000, per: 10m}}
breaker: {storm: {cordons: 100000, per: 10m}, alike: {percent: 100, nodes: 100000, per: 10m}, silent_percent: 100}
release: {healthy_delay: 1s, passes: 1, sticky_after: 100}
coverage: {max_age: 3650d}
rules: [{name: fatal, match: {severity: fatal}, action: cordon}]
"""
SHORT_LEASE = {"ASSAY_TEST_LEASE_SECONDS": "3"}  # a lost one expires soon
CONFIG = """v: 1
mode: enforce
policy: %s
report-burst: 100000
kubernetes: {young: 0s}
"""


def nic(ok):
    more = {} if ok else {"severity": "fatal", "note": "mlx5_0 is gone"}
    return sample("rnic.removed", "mlx5_0", 0 if ok else 1, "1", better="lower", ok=ok, **more)


class Host:
    """A host that reports, and runs ordered tests."""

    def __init__(self, acting, name):
        self.acting, self.name, self.seq, self.ok = acting, name, 0, True

    def report(self, ok=None, **more):
        """Reports; results are good or bad by `ok` from now on."""
        self.ok, self.seq = self.ok if ok is None else ok, self.seq + 1
        cores = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)]
        value = report(self.name, self.seq, samples=[*cores, nic(self.ok)], **{"sku": self.name, **more})
        answer = self.acting.ask(lambda c: c.post_again(value))
        assert answer.status in (200, 202), answer.body

    def obey(self, wait=1):
        """Reports, and runs a test ordered meanwhile or within the given seconds."""
        self.report()
        answer = self.acting.ask(lambda c: c.get(f"/v1/nodes/{self.name}/orders?wait={wait}"))
        for order in answer.json if answer.status == 200 else []:
            if order["kind"] == "deep":
                self.report(profile="full", order={"id": order["id"], "kind": "deep"})


class Acting:
    """assay-controller on a cluster: `kube` is the server, `url` its address."""

    def __init__(self, start, kube, tmp_path, run):
        self.start_controller, self.kube, self.tmp, self.run, self.hosts = start, kube, tmp_path, run, {}
        self.prefix = "assay.dev"  # the default
        self.ended = []  # exit statuses of those that exited on their own

    def start(self, nodes=(), most=0, url=None, mode="enforce", rules=POLICY, policy="", more="", env=None, **credentials):
        """Creates the nodes, starts it, and lets their hosts report good results. `most`: the total budget in `rules`; `policy`:
        additional policy; `more`: additional settings in the section kubernetes. Returns self."""
        self.env = env or {}
        for name in nodes:
            self.kube.admin.create_node(name)
        (self.tmp / "policy.yaml").write_text(rules % most + policy)
        config = CONFIG % (self.tmp / "policy.yaml")
        config = config.replace("mode: enforce", f"mode: {mode}").replace("young: 0s", "young: 0s" + more)
        (self.tmp / "controller.yaml").write_text(config)
        self.kubeconfig = self.kube.kubeconfig("ctl", self.tmp / "kubeconfig", url=url, **credentials)
        self.again()
        for name in nodes:
            self.host(name).report()
        assert wait_for(self.is_ready, WAIT_S), self.c.log()
        return self

    def again(self):
        """(Re)starts it on the same store."""
        self.c = self.start_controller("--config", self.tmp / "controller.yaml", "--cluster", "kubernetes", "--kubeconfig", self.kubeconfig,
                                       env=self.env)

    def keep(self):
        """Restarts it if it has exited because it lost its Lease, like a StatefulSet."""
        if self.c.process.poll() is not None:
            self.ended.append(self.c.process.returncode)
            assert len(self.ended) < ENDS_MAX, "it ended again and again: " + self.c.log()[-3000:]
            self.again()

    def until(self, condition, seconds=WAIT_S):
        """Waits for the condition while the controller is kept running."""
        def look():
            self.keep()
            return condition()
        return wait_for(look, seconds)

    def ask(self, question):
        """question(controller), restarting it if it has exited."""
        def answer():
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                return [question(self.c)]
        found = self.until(answer)
        assert found, "it runs, and does not answer: " + self.c.log()[-3000:]
        return found[0]

    def host(self, name):
        return self.hosts.setdefault(name, Host(self, name))

    def is_ready(self):
        """Does it know its nodes? Before that, requests get 503."""
        if not self.hosts:
            return True
        return self.order("silence", next(iter(self.hosts)), **{"for": "0s"}).status == 200

    def order(self, what, node, **more):
        body = json.dumps({"reason": "the test says so", **more}).encode()
        return self.ask(lambda c: c.call("POST", f"/v1/nodes/{node}/{what}", body))

    def ctl(self, *words):
        return self.run("assayctl", *words, "--controller", f"http://127.0.0.1:{self.c.port}")

    # ---- the state of the cluster ------------------------------------------------------

    def mark(self, name):
        """Our annotation on the node as an object, or None."""
        text = self.annotation(name, self.prefix + "/cordon")
        return json.loads(text) if text else None

    def is_out(self, name):
        """Out of service with our mark."""
        return name in self.kube.admin.cordoned() and self.mark(name) is not None

    def marked(self):
        """Names of the nodes with our mark."""
        return {name for name, n in self.kube.admin.nodes().items() if read_mark((n["metadata"].get("annotations") or {}).get(MARK))}

    def annotation(self, name, key):
        return self.kube.admin.node(name)["metadata"].get("annotations", {}).get(key)

    def take_out(self, name, seconds=WAIT_S):
        """Sends a bad report, and waits until its node is out of service."""
        self.host(name).report(ok=False)
        assert self.until(lambda: self.is_out(name), seconds), self.words(name)

    def give_back(self, name, seconds=WAIT_S):
        """Sends good reports and tests until its node is in service."""
        host = self.host(name)
        host.ok = True

        def is_back():
            host.obey()
            return self.mark(name) is None
        assert self.until(is_back, seconds), self.words(name)

    def words(self, name):
        """Diagnostics for a failure."""
        with contextlib.suppress(OSError):
            return json.dumps({"node": self.kube.admin.node(name), "why": self.c.get(f"/v1/nodes/{name}/why").json}, indent=1) + self.c.log()[-4000:]
        return self.c.log()[-4000:]

    def is_settled(self):
        """Is no action in progress?"""
        return self.ask(lambda c: c.metrics())["assay_actions_under_way"] == 0

    def under_way(self):
        """Rows of actions in progress, for a failure message."""
        return [row for row in self.ask(lambda c: c.get("/v1/actions?limit=200")).json["items"] if row["state"] == "decided"]

    def settle(self):
        assert wait_for(self.is_settled, WAIT_S), self.c.log()[-4000:]

    def finish(self, once=(), ended=False):
        """Checks that all actions have ended correctly; controllers may have exited only because of a lost Lease."""
        self.settle()
        assert ended or not self.ended, self.ended
        check(self.kube, once)


def read_mark(text):
    """Parses our mark; {} if it is not one."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) and value.get("by") else {}


def is_ours(text):
    """Is the text a mark that allows us to lift the cordon?"""
    return read_mark(text).get("pre") is False


def lease(kube, name):
    """Our Lease of this name, or None."""
    answer = kube.admin.get(f"{LEASES}/{name}", check=False)
    return answer.body if answer.status == 200 else None


def holders_of(ledger):
    """{node: whether it is done} from the ledger's Lease."""
    text = ((ledger or {}).get("metadata", {}).get("annotations") or {}).get(LEDGER)
    return {h["node"]: h["done"] for h in json.loads(text)["holders"]} if text else {}


def check(kube, once=(), user=CONTROLLER):
    """Checks the invariants of every history: we lifted only our own cordons, no request was refused, and we took each node
    of `once` out of service exactly once."""
    before = {}  # node: (out of service, mark, user who took it out)
    for _, name, out, mark, record in kube.audit.history():
        was, old, who = before.get(name, (False, None, None))
        if was and not out and record.user == user and record.verb == "patch":
            assert who == user and is_ours(old), f"{name}: lifted a cordon of {who} with the mark {old}: {record}"
        before[name] = (out, mark, who if out and was else record.user if out else None)
    for name in once:
        assert [r.user for r in kube.audit.cordons(name)] == [user], [row for row in kube.audit.history() if row[1] == name]
    assert kube.audit.refused(user, kube.starts) == []
