# SPDX-License-Identifier: Apache-2.0
"""Hosts that hold calls for orders, and run tests with other hosts on a simulated fabric."""
import contextlib
import http.client
import json
import threading
import time

import pytest

from fixtures_controller import report, sample
from waiting import wait_for

RATE = 24e9
WAIT_S = 60

POLICY = """v: 1
mode: enforce
budget: {total: {percent: 50}, rate: {cordons: 100, per: 10m}}
coverage: {max_age: 3650d}
breaker: {silent_percent: 100}
rules:
  - {name: slow-pair, match: {check: "rnic_pair.*"}, windows: {k: 2, n: 3}, action: retest}
  - {name: slow-collective, match: {check: "all_*"}, windows: {k: 2, n: 3}, action: retest}
  - {name: link-flapping, match: {check: rnic.flapping}, action: retest}
"""


CHECKS = {("allreduce", "host", "verbs"): "all_reduce.busbw", ("pair", "host", "verbs"): "rnic_pair.write_bw",
          ("allreduce", "gpu", "verbs"): "all_reduce.gpu_busbw", ("pair", "gpu", "verbs"): "rnic_pair.gpu_write_bw",
          ("allreduce", "gpu", "nccl"): "all_reduce.nccl_busbw"}


class Host:
    """`part`: fraction of the line rate; `way`: obeys, silent (accepts orders, answers none), busy; `hold`: seconds of a call for orders."""
    KINDS = ("allreduce", "pair")  # of the orders it accepts

    def __init__(self, fabric, name, part=1.0, way="obeys", hold=1):
        self.fabric, self.name, self.part, self.way, self.hold = fabric, name, part, way, hold
        self.unanswered = 0  # calls that ended without an order
        self.seq, self.orders, self.answered, self.opinion = 0, [], [], None

    def report(self, **more):
        """Sends it like an agent: retries until the current controller has accepted it."""
        self.seq += 1
        value, deadline = report(self.name, self.seq, **more), time.monotonic() + WAIT_S
        while True:
            try:
                return self.fabric.c.post_again(value)
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline or self.fabric.ended.wait(0.05):
                    raise

    def answer(self, order):
        peers = [self.fabric.hosts[p.rpartition(":")[0]] for p in order["peers"]]
        rate = RATE * min(p.part for p in peers) * (1 + 0.002 * (self.seq % 3))
        check = CHECKS[order["kind"], order["memory"], order["engine"]]
        values = [sample(check, "mlx5_0:1", rate, "B/s", code="rail:0", **{"with": [p.name for p in peers if p is not self]})]
        problems = [{"probe": "all-reduce", "code": "busy", "detail": "a job runs here", "stderr": ""}]
        busy = self.way == "busy"
        self.report(profile="probes", samples=[] if busy else values, problems=problems if busy else [],
                    order={"id": order["id"], "kind": order["kind"]})
        self.answered.append(order["id"])

    def listen(self):
        """Repeats the held call for orders until the fabric ends."""
        while not self.fabric.ended.is_set():
            try:
                with contextlib.closing(http.client.HTTPConnection(self.fabric.c.host, self.fabric.c.port, timeout=WAIT_S + self.hold)) as connection:
                    connection.request("GET", f"/v1/nodes/{self.name}/orders?wait={self.hold}", headers=self.fabric.headers)
                    answer = connection.getresponse()
                    body = answer.read()
            except OSError:
                self.fabric.ended.wait(0.05)  # the controller is down, perhaps only for a moment
                continue
            self.unanswered += answer.status == 204
            for order in json.loads(body) if answer.status == 200 else []:
                self.opinion = order.get("opinion", self.opinion)
                if order["kind"] in self.KINDS:
                    self.orders.append(order)
                    if self.way != "silent":
                        self.answer(order)


class Fabric:
    host, headers = Host, {}

    def __init__(self, c):
        self.c, self.hosts, self.ended, self.threads = c, {}, threading.Event(), []

    def add(self, *names, **more):
        for name in names:
            host = self.hosts[name] = self.host(self, name, **more)
            assert host.report().status == 202
            self.threads.append(threading.Thread(target=host.listen, daemon=True))
            self.threads[-1].start()
        assert wait_for(lambda: all(self.c.get(f"/v1/nodes/{n}").json["connection"] == "connected" for n in names))

    def begin(self, status=202, **body):
        answer = self.c.call("POST", "/v1/campaigns", json.dumps({"reason": "a job was slow", **body}).encode())
        assert answer.status == status, answer.body
        return answer.json

    def play(self, **body):
        """Runs a campaign and returns its final state."""
        number = self.begin(**body)["id"]
        assert wait_for(lambda: self.show(number)["state"] != "running", WAIT_S), self.show(number)
        return self.show(number)

    def show(self, number):
        return self.c.get(f"/v1/campaigns/{number}").json

    def close(self):
        self.ended.set()
        deadline = time.monotonic() + WAIT_S
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))


@pytest.fixture
def fabric(controller, tmp_path):
    """fabric(yaml lines..., policy=text) starts an enforcing controller, to which hosts can be added."""
    made = []

    def start(*lines, policy=POLICY, mode="enforce", **more):
        (tmp_path / "policy.yaml").write_text(policy)
        config = tmp_path / "controller.yaml"
        config.write_text("\n".join(["v: 1", f"policy: {tmp_path / 'policy.yaml'}", *lines]) + "\n")
        f = Fabric(controller("--config", config, "--mode", mode, **more))
        f.args = ("--config", config, "--mode", mode)
        made.append(f)
        return f

    yield start
    for f in made:
        f.close()
