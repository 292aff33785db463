# SPDX-License-Identifier: Apache-2.0
"""The fleet's opinion of a host: what is sent to its agent, when, and its effect on admission."""
import contextlib
import json
import sys
import time
from pathlib import Path

import pytest

from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_controller_views import answers_as_documented  # noqa: F401
from waiting import PATIENCE_S, wait_for

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))
import faults  # noqa: E402
import hosts  # noqa: E402
import simulate  # noqa: E402

ORDERS = "/v1/nodes/gpu-03/orders?wait="


@contextlib.contextmanager
def agents_of(c, members):
    agents = simulate.Agents((c.host, c.port), members)
    try:
        yield agents
    finally:
        agents.close()


def told(agents, condition):
    """Reads held calls until the condition is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        agents.listen(0.5)
    return condition()


def test_an_opinion_comes_at_once_when_it_changes_and_is_not_repeated(controller, answers_as_documented):
    c = controller()
    good, slow = hosts.Host("gpu-03"), hosts.Host("gpu-03", faults=[faults.SlowGpu(2, by=0.3)])
    assert c.get(ORDERS + "0").status == 204, "a host that is not known"
    c.post(good.report())
    order, = answers_as_documented(ORDERS + "0", c.get(ORDERS + "0"))
    assert order["kind"] == "opinion" and order["opinion"]["verdict"] == "pass"
    expires = time.mktime(time.strptime(order["opinion"]["expires"], "%Y-%m-%dT%H:%M:%S.%fZ")) - time.timezone
    assert 3500 < expires - time.time() < 3700
    now = time.mktime(time.strptime(order["now"], "%Y-%m-%dT%H:%M:%S.%fZ")) - time.timezone
    assert expires - now == 3600, "it counts from the clock of who gave it"
    assert c.get(ORDERS + "0").status == 204
    with agents_of(c, [good]) as agents:
        agents.hold_all()
        assert wait_for(lambda: c.metrics()["assay_http_held"] == 1)
        slow.seq, slow.boot_id = 1, good.boot_id
        c.post(slow.report())
        assert told(agents, lambda: agents.opinions.get("gpu-03"))
        assert agents.opinions["gpu-03"]["verdict"] == "warn"
        assert "gpu 2 runs" in agents.opinions["gpu-03"]["sentence"]


def test_it_is_told_again_when_the_call_broke(controller):
    c = controller()
    c.post(hosts.Host("gpu-03").report())
    assert c.get(ORDERS + "0").status == 200
    with contextlib.closing(c.connect()) as s:
        s.sendall(f"GET {ORDERS}60 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert wait_for(lambda: c.metrics()["assay_http_held"] == 1)
    assert wait_for(lambda: c.metrics()["assay_http_held"] == 0)
    assert c.get(ORDERS + "0").status == 200


def test_each_of_a_fleet_is_told_of_itself_and_observing_condemns_nobody(controller):
    c = controller()
    ill = {"gpu-02": [faults.SlowGpu(1)], "gpu-05": [faults.WrongData(4)]}
    members = hosts.fleet(8, faults=ill)
    with agents_of(c, members) as agents:
        agents.hold_all()
        for _ in range(4):  # in the first run there is no fleet yet
            assert set(agents.run().values()) == {202}
        assert told(agents, lambda: len(agents.opinions) == 8 and "bad in 3" in agents.opinions["gpu-02"]["sentence"])
        verdicts = {name: o["verdict"] for name, o in agents.opinions.items()}
        assert verdicts == {h.node: "warn" if h.node in ill else "pass" for h in members}
        for o in agents.opinions.values():
            assert len(o["policy"]) == 12 and o["policy"] == agents.opinions["gpu-00"]["policy"]
        fleet_says = agents.opinions["gpu-05"]["sentence"]
        assert "gpu 4: " in fleet_says and "bad by itself" in fleet_says


@pytest.fixture
def host(assayd, controller, config, spool, tmp_path):
    """A host whose assayd sends the reports of a simulated host; .fleet() is the opinion it got."""
    c = controller()
    config(controller=f"http://{c.host}:{c.port}")
    (tmp_path / "state" / "verdict.json").write_text(json.dumps(
        {"v": 1, "kind": "verdict", "node": NODE, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "seq": 1,
         "profile": "quick", "verdict": "pass", "sentence": "well", "items": []}))
    assayd()
    me = hosts.Host(NODE, faults=[faults.SlowHost()])

    def report():
        value = {**me.report(), "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                 "uptime_s": float(Path("/proc/uptime").read_text().split()[0])}
        spool(value["seq"], **{k: v for k, v in value.items() if k not in ("v", "kind", "node", "seq")})

    report.controller = c
    report.fleet = lambda: json.loads((tmp_path / "state" / "verdict.json").read_text()).get("fleet")
    return report


def test_a_host_born_slow_learns_it_from_the_fleet_and_still_admits(host, run, wait_until):
    """It cannot tell by itself, because its GPUs are equal. The fleet warns, and in mode observe no job is refused."""
    with agents_of(host.controller, hosts.fleet(6, spread=hosts.Spread(host=0))) as agents:
        for _ in range(2):
            agents.run()
    for _ in range(3):  # all its parts are low, which takes one more run
        host()
    wait_until(lambda: host.fleet() and "bad in 3 of the last 3 runs" in host.fleet()["sentence"])
    assert host.fleet()["verdict"] == "warn"
    assert "other hosts" in host.fleet()["sentence"]
    out = run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE})
    assert out.returncode == 0 and json.loads(out.stdout)["admit"] is True
