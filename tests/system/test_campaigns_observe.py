# SPDX-License-Identifier: Apache-2.0
"""Campaigns with a controller that must not act: modes observe and dry-run."""
import re

import pytest

from campaign_hosts import fabric  # noqa: F401
from fixtures_controller import controller, sample  # noqa: F401
from waiting import wait_for

NAMES = [f"gpu-{i}" for i in range(6)]


def named(f):
    """The campaign's result is visible everywhere, whether or not the mode allows actions."""
    incidents = [i for i in f.c.get("/v1/incidents?state=open").json["items"] if i["check"] == "all_reduce.busbw"]
    assert [i["node"] for i in incidents] == ["gpu-3"]
    assert re.search(r"round 1 with gpu-\d: .* round 2 with gpu-\d", incidents[0]["sentence"])
    assert f.c.get("/v1/nodes/gpu-3").json["verdict"] == "fail"
    assert wait_for(lambda: f.hosts["gpu-3"].opinion and f.hosts["gpu-3"].opinion["verdict"] == "warn"), "admitted as degraded: it is in service"


@pytest.mark.parametrize("mode, states", [("observe", []), ("dry-run", ["dry-run"])])
def test_a_host_is_named_by_a_person_s_campaign_and_nothing_is_done_to_it(fabric, mode, states):
    f = fabric(mode=mode)
    f.add(*NAMES)
    f.hosts["gpu-3"].part = 0.5
    for _ in range(2):  # twice, so that the condition of a rule is surely met
        done = f.play(nodes=NAMES)
        assert done["state"] == "done" and [b["node"] for b in done["blames"]] == ["gpu-3"]
    named(f)
    assert wait_for(lambda: [a["state"] for a in f.c.get("/v1/actions").json["items"] if a["action"] == "cordon"] == states)
    assert not f.c.get("/v1/nodes/gpu-3/why").json["life"]["cordon"]
    assert all(order["kind"] == "allreduce" for h in f.hosts.values() for order in h.orders)
    f.hosts["gpu-3"].part = 1.0
    assert f.play(nodes=NAMES)["blames"] == []
    assert wait_for(lambda: not f.c.get("/v1/incidents?state=open").json["items"]), "a good campaign clears it, as it was named"


@pytest.mark.parametrize("mode", ["observe", "dry-run"])
def test_a_rule_begins_no_campaign_where_nothing_may_be_done(fabric, mode):
    f = fabric(mode=mode)
    f.add(*NAMES)
    for _ in range(3):
        flap = [sample("rnic.flapping", "mlx5_0:1", 3, "1", better="lower", ok=False, severity="warn", note="three flaps in ten minutes")]
        assert f.hosts["gpu-2"].report(samples=flap).status == 202
    assert wait_for(lambda: any(i["check"] == "rnic.flapping" for i in f.c.get("/v1/incidents?state=open").json["items"]))
    assert [f.play(nodes=NAMES)["id"] for _ in range(2)] == ["1", "2"], "the actor has looked since, more than once"
    assert [o for h in f.hosts.values() for o in h.orders if o["kind"] not in ("allreduce", "pair")] == []
