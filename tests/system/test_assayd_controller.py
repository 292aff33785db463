# SPDX-License-Identifier: Apache-2.0
"""assayd and the real controller: both may die at any moment, and every report arrives once and in order."""
import json
import random
import signal
import sqlite3

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from conftest import sample
from fixtures_controller import controller  # noqa: F401

REPORTS = 900  # within report-burst
ENDS = 8


def stored(db):
    with sqlite3.connect(db) as connection:
        return [row[0] for row in connection.execute("SELECT seq FROM reports ORDER BY id")]


def end_of_assayd(daemon, number):
    daemon.send_signal(number)
    return daemon.wait(timeout=60)


def test_every_report_is_stored_once_and_in_order_whoever_ends(assayd, controller, config, spool, wait_until):
    dice = random.Random(4)
    for seq in range(1, REPORTS + 1):
        spool(seq, pad=dice.randrange(3000))
    c = controller()
    listen = f"127.0.0.1:{c.port}"
    config(controller=f"http://{listen}")
    daemon = assayd()
    for end in range(ENDS):
        left = len(spool.left()) - dice.randrange(5, 60)
        wait_until(lambda left=left: len(spool.left()) <= left, seconds=60)
        how = end % 4
        if how == 0:
            daemon.send_signal(signal.SIGHUP)
        elif how == 1:
            c.kill()
            c = controller("--listen", listen)
        else:
            assert end_of_assayd(daemon, signal.SIGKILL if how == 2 else signal.SIGTERM) == (-signal.SIGKILL if how == 2 else 0)
            daemon = assayd()
    assert len(spool.left()) > 0  # the kills came while reports were pending
    wait_until(lambda: not spool.left(), seconds=60)
    assert c.metrics()["assay_reports_late_total"] == 0
    c.stop()
    assert stored(c.db) == list(range(1, REPORTS + 1))


def test_a_long_outage_counts_for_windows_as_if_it_had_not_been(assayd, controller, config, spool, wait_until):
    """Of 40 runs that arrive at once, the last 20 are bad: the finding is based on as many as if each had arrived alone."""

    def cores(slow):
        values = {i: 40e9 if slow and i == 3 else 70e9 + i * 1e8 for i in range(8)}
        return [{**json.loads(sample("gemm.rate", f"cpu:{i}", value)), "unit": "FLOP/s"} for i, value in values.items()]

    for seq in range(1, 41):
        spool(seq, samples=cores(seq > 20), time=f"2026-11-21T00:{seq:02d}:00Z")
    c = controller()
    config(controller=f"http://127.0.0.1:{c.port}")
    assayd()
    wait_until(lambda: not spool.left())
    item, = [i for i in c.get(f"/v1/nodes/{NODE}/why").json["items"] if i["subject"] == "cpu:3"]
    assert item["windows"]["bad"] == min(item["windows"]["n"], 20)
    assert c.get(f"/v1/nodes/{NODE}").json["seq"] == 40
    assert c.metrics()["assay_reports_late_total"] == 0


@pytest.fixture
def topology_json(tmp_path, run, top):
    """(file, digest): a topology for measurements, in a form that every build can read."""
    made = run("assay", "topology", "-o", "json", "--from", top / "tests" / "fixtures" / "hgx-8gpu-8nic.xml")
    if made.returncode != 0:
        pytest.skip(f"this build reads no hwloc XML: {made.stderr.strip()}")
    path = tmp_path / "topology.json"
    path.write_text(made.stdout)
    return path, json.loads(made.stdout)["digest"]


def measure(run, profiles, says, topology_json):
    out = run("assay", "run", "--profiles", profiles(quick=[{"name": "p", "exec": says("p", sample())}]), "--report",
              env={"ASSAY_NODE": NODE, "ASSAY_TOPOLOGY": str(topology_json[0])})
    assert out.returncode in (0, 1, 3), out.stderr


def test_the_topology_follows_its_report_and_again_to_a_controller_that_lost_its_store(
        assayd, controller, config, run, profiles, says, topology_json, wait_until, tmp_path):
    path, digest = topology_json
    c = controller()
    listen = f"127.0.0.1:{c.port}"
    config(controller=f"http://{listen}")
    daemon = assayd()
    measure(run, profiles, says, topology_json)
    wait_until(lambda: c.get(f"/v1/topologies/{digest}").status == 200)
    assert c.get(f"/v1/topologies/{digest}").json == json.loads(path.read_text())
    measure(run, profiles, says, topology_json)
    wait_until(lambda: c.get(f"/v1/nodes/{NODE}").json["seq"] == 2)
    assert daemon.log().count(f"topology sent digest={digest}") == 1
    c.kill()
    c = controller("--listen", listen, db=tmp_path / "new.db")
    measure(run, profiles, says, topology_json)
    wait_until(lambda: c.get(f"/v1/topologies/{digest}").status == 200, seconds=20)


def test_a_topology_that_is_not_there_is_told_once_and_the_reports_arrive(assayd, controller, config, spool, wait_until):
    c = controller()
    config(controller=f"http://127.0.0.1:{c.port}")
    daemon = assayd()
    for seq in range(1, 4):
        spool(seq, topology="ab" * 32)
        wait_until(lambda: not spool.left())
    assert daemon.log().count("cannot send the topology that the controller asked for") == 1
    assert c.get("/v1/topologies/" + "ab" * 32).status == 404
