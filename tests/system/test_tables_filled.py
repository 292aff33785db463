# SPDX-License-Identifier: Apache-2.0
"""One host that invents as much as it can fills only its own share, and the others are judged as usual."""
import itertools
import sqlite3
import struct
import time
from pathlib import Path

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

TREE = Path(__file__).resolve().parents[2]
SAMPLES = 4096  # per report, at most
TABLE = 20000   # BASELINES_MAX, SHIFTS_MAX
SHARE = 512     # BASELINES_OWN_MAX, SHIFTS_OWN_MAX
HOSTS = 10
HELD = 4        # HOLDS_MAX
SICK = "good-5"


@pytest.fixture
def filled(controller, tmp_path):
    """filled() starts a controller without a report rate limit."""
    config = tmp_path / "controller.yaml"
    policy = tmp_path / "policy.yaml"
    policy.write_text((TREE / "policies/default.yaml").read_text().replace("mode: observe", "mode: enforce"))
    config.write_text(f"v: 1\nreport-rate: 100000\nreport-burst: 100000\npolicy: {policy}\n")
    return lambda mode="observe", **more: controller("--config", config, "--mode", mode, **more)


class Sender:
    """Hosts with a number for each report."""

    def __init__(self, c):
        self.c, self.numbers = c, itertools.count(1)

    def send(self, node, samples, **more):
        answer = self.c.post(report(node, seq=next(self.numbers), samples=samples, **more), zipped=True)
        assert answer.status == 202, answer.body

    def flood_baselines(self, reports=6, node="node-a"):
        for n in range(reports):
            self.send(node, [sample(f"x{n}.y{i}", "host", 1e9, unit="B/s") for i in range(SAMPLES)], sku="sku-bad")

    def flood_failures(self, reports=12, node="node-a", sku="sku-bad"):
        for n in range(reports):
            self.send(node, [sample(f"x{n}.y{i}", "host", 1, unit="1", better="none", ok=False) for i in range(SAMPLES)], sku=sku)

    def fleet(self, sick=(), by=0.7, runs=6, driver="550"):
        """Every host reports several times."""
        for _ in range(runs):
            for i in range(HOSTS):
                rate = 70e9 * (by if f"good-{i}" in sick else 1) * (1 + i / 1000)
                self.send(f"good-{i}", [sample(subject=f"cpu:{k}", value=rate * (1 + k / 1000), params={"driver": driver})
                                        for k in range(8)], sku="sku-good")

    def incidents(self):
        return {(i["node"], i["action"]) for i in self.c.get("/v1/incidents?state=open&limit=1000").json["items"]
                if i["node"] != "node-a"}

    def verdicts(self):
        return {n["node"]: n["verdict"] for n in self.c.get("/v1/nodes?limit=1000").json["items"] if n["node"] != "node-a"}


def good_but(*sick):
    return {f"good-{i}": "fail" if f"good-{i}" in sick else "pass" for i in range(HOSTS)}


def test_a_host_that_invents_checks_blinds_nobody(filled):
    s = Sender(filled())
    s.flood_baselines()
    assert len(s.c.get("/v1/baselines?limit=1000").json["items"]) <= SHARE
    s.fleet(sick=[SICK])
    s.flood_baselines(1)
    s.fleet(sick=[SICK])
    assert s.verdicts() == good_but(SICK)
    assert s.incidents() == {(SICK, "retest")}
    # New params arrive and are learnt meanwhile.
    s.fleet(driver="560")
    s.flood_baselines(2)
    s.fleet(sick=["good-2"], driver="560")
    assert s.verdicts()["good-2"] == "fail"


def test_what_a_host_invents_is_told(filled):
    s = Sender(filled())
    s.flood_baselines(1)
    m = s.c.metrics()
    assert m["assay_baselines"] == SHARE and m["assay_baselines_max"] == TABLE
    assert m["assay_baselines_dropped_total"] == SAMPLES - SHARE
    assert wait_for(lambda: "node=node-a" in s.c.log())
    assert s.c.log().count("node=node-a") == 1 and "params" in s.c.log()
    s.fleet(runs=1)
    assert s.c.metrics()["assay_baselines"] == SHARE + 1


def test_params_that_vary_take_nothing_from_others(filled):
    """A probe of node-a has the time in its params."""
    s = Sender(filled())
    for n in range(6):
        s.send("node-a", [sample(subject=f"cpu:{i}", value=70e9, params={"time": f"{n}.{i}"}) for i in range(SAMPLES)],
               sku="sku-good")
    s.fleet(sick=[SICK])
    assert s.verdicts() == good_but(SICK)


def a_fleet_falls(s, flood):
    """Seven of ten hosts become 30 % slower. Returns the messages after each run."""
    low, said = [f"good-{i}" for i in range(7)], []
    s.flood_failures(12 if flood else 0)
    s.fleet()
    for _ in range(3):
        s.flood_failures(1 if flood else 0)
        s.fleet(sick=low, runs=1)
        said.append((s.verdicts(), s.incidents()))
    return said


@pytest.mark.long
def test_a_host_that_fails_in_thousands_of_checks_leaves_a_fleet_its_one_incident(filled, tmp_path):
    quiet, flooded = Sender(filled(db=tmp_path / "quiet.db")), Sender(filled(db=tmp_path / "flooded.db"))
    said = a_fleet_falls(flooded, True)
    assert said == a_fleet_falls(quiet, False)
    assert said[0][1] == {("sku:sku-good", "alert")}
    assert all(node == "sku:sku-good" for _, incidents in said for node, _ in incidents), "no host is blamed"
    m = flooded.c.metrics()
    assert m["assay_shifts"] <= 3 * SHARE and m["assay_shifts_max"] == TABLE and m["assay_shifts_dropped_total"] > 0


def test_a_store_that_was_filled_heals_at_the_start(filled, tmp_path):
    """20,000 rows invented by twenty hosts, as stored by an older version."""
    c = filled()
    assert c.stop()[0] == 0
    with sqlite3.connect(c.db) as db:
        row = b"\x01" + b"node-a\x00" + struct.pack("<dd", 1e9, 0)
        now = int(time.time() * 1e6)
        db.executemany("INSERT INTO baselines (key, saved_us, hosts) VALUES (?, ?, ?)",
                       ((f"sku-bad\nx.y{i}\n\nB/s\n1\n{{}}", now, row if i % 2 else b"\x01") for i in range(TABLE)))
    db.close()
    s = Sender(filled())
    assert s.c.metrics()["assay_baselines"] <= SHARE
    s.fleet(sick=[SICK])
    assert s.verdicts() == good_but(SICK)
    assert s.c.stop()[0] == 0
    with sqlite3.connect(c.db) as db:
        assert db.execute("SELECT count(*) FROM baselines").fetchone()[0] <= SHARE + 1
    db.close()


def test_what_is_fatal_has_its_incident_beside_any_number_of_others(filled):
    s = Sender(filled(mode="enforce"))
    s.fleet(runs=1)
    s.send("node-b", [sample(f"x.y{i}", "host", 1, unit="1", better="none", ok=False) for i in range(300)])
    s.send("node-b", [sample("host.kernel_log", "pci:0000:1b:00.0", 1, unit="1", better="none", ok=False, code="xid:79", severity="fatal")],
           profile="passive")
    found = [i for i in s.c.get("/v1/incidents?state=open&limit=1000").json["items"] if i["fatal"]]
    assert [(i["node"], i["check"], i["action"]) for i in found] == [("node-b", "host.kernel_log", "cordon")]
    assert wait_for(lambda: [a for a in s.c.get("/v1/actions").json["items"] if a["node"] == "node-b" and a["action"] == "cordon"])


def test_a_host_holds_so_many_calls_and_no_more(filled):
    """A fifth call ends the oldest one without an order; the others stay."""
    c = filled()
    assert c.post(report("gpu-1")).status == 202
    assert c.get("/v1/nodes/gpu-1/orders?wait=0").status in (200, 204)  # the opinion, once
    held = []
    for n in range(HELD + 2):
        s = c.connect(timeout=60)
        s.sendall(b"GET /v1/nodes/gpu-1/orders?wait=300 HTTP/1.1\r\nHost: x\r\n\r\n")
        held.append(s)
        assert wait_for(lambda n=n: c.metrics()["assay_http_held"] == min(n + 1, HELD)), n
    for s in held[:2]:
        assert s.recv(4096).startswith(b"HTTP/1.1 204")
    for s in held[2:]:
        s.setblocking(False)
        with pytest.raises(BlockingIOError):
            s.recv(1)
    # Another host has its own limit.
    other = c.connect(timeout=60)
    other.sendall(b"GET /v1/nodes/gpu-2/orders?wait=300 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert wait_for(lambda: c.metrics()["assay_http_held"] == HELD + 1)
    for s in [*held, other]:
        s.close()
    assert wait_for(lambda: c.metrics()["assay_http_held"] == 0)
