# SPDX-License-Identifier: Apache-2.0
"""A campaign end to end: a real controller, real daemons of four hosts, and a fake probe with known rates."""
import json
import subprocess
import sys

import pytest

from collective_fixtures import fake_probes, free_port, host  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from waiting import wait_for

ADDRESSES = {"a": "127.0.0.1", "b": "127.0.0.2", "c": "127.0.0.3", "d": "127.0.0.4"}

# As slow as the slowest of its peers; it accepts only a permit that lists exactly these peers.
PROBE = """#!{python}
import json, sys
from pathlib import Path
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
peers = words["--peers"].split(",")
token, *passed = Path(words["--token-file"]).read_text().splitlines()
assert passed == ["passed " + p for p in peers] and len(token) >= 32 and int(words["--rank"]) < len(peers)
rate = 24e9 * min({parts}.get(p.rpartition(":")[0], 1) for p in peers)
print(json.dumps({{"v": 1, "check": "all_reduce.busbw", "subject": "mlx5_0:1", "value": rate, "unit": "B/s", "better": "higher", "ok": None,
                   "state": "measured", "code": "rail:0"}}))
"""

QUICK = """#!/bin/sh
echo '{"v":1,"check":"test.rate","subject":"cpu:0","value":1.0,"unit":"B/s","better":"higher","ok":null,"state":"measured"}'
"""


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def fleet(build, host, controller, tmp_path, profiles):
    """A controller, and four hosts that have passed their own tests; fleet(parts of the line rate by address)."""

    def start(parts):
        neighbors = tmp_path / "neighbors.yaml"
        neighbors.write_text(json.dumps({"v": 1, "switches": [{"name": "leaf-1", "nodes": list(ADDRESSES)}], "addresses": ADDRESSES}))
        config = tmp_path / "controller.yaml"
        config.write_text(f"v: 1\ncollectives: {{port: {free_port()}, address: file, file: {neighbors}}}\n")
        c = controller("--config", config)
        probes = tmp_path / "known"
        probes.mkdir()
        program(probes / "assay-probe-all-reduce", PROBE.format(python=sys.executable, parts=parts))
        quick = profiles(quick=[{"name": "fake", "exec": program(tmp_path / "quick", QUICK)}])
        for name in ADDRESSES:
            h = host(name, probes=probes, controller=f"http://{c.host}:{c.port}")
            subprocess.run([build / "assay", "run", "--profile", "quick", "--profiles", quick, "--report"], env=h.env, check=True,
                           stdout=subprocess.DEVNULL, timeout=60)
        assert wait_for(lambda: [n["connection"] for n in c.get("/v1/nodes").json["items"]] == ["connected"] * len(ADDRESSES))
        return c

    return start


def play(c):
    begun = c.call("POST", "/v1/campaigns", json.dumps({"domain": "leaf-1", "reason": "a job was slow"}).encode())
    assert begun.status == 202, begun.body
    path = f"/v1/campaigns/{begun.json['id']}"
    assert wait_for(lambda: c.get(path).json["state"] != "running"), c.get(path).json
    return c.get(path).json


def test_the_slow_one_of_four_hosts_is_named_by_what_their_daemons_report(fleet):
    c = fleet({ADDRESSES["c"]: 0.5})
    done = play(c)
    assert done["state"] == "done" and [b["node"] for b in done["blames"]] == ["c"], done
    assert not [n for n in done["nodes"] if n["gone"]] and done["rounds_made"] == 2
    assert all(g["state"] == "measured" for r in done["rounds"] for g in r["groups"])
    assert wait_for(lambda: [i["node"] for i in c.get("/v1/incidents?state=open").json["items"]] == ["c"])


def test_a_probe_that_cannot_run_condemns_nobody(fleet):
    done = play(fleet({ADDRESSES["b"]: None}))  # with this host the probe fails before it measures
    assert not [b for b in done["blames"] if b["kind"] != "undecided"], done["blames"]
    assert {g["state"] for r in done["rounds"] for g in r["groups"] if "b" in g["nodes"]} == {"not-run"}
