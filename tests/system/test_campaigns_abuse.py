# SPDX-License-Identifier: Apache-2.0
"""Input that campaigns reject: from people, from files, and from hosts that send reports without an order."""
import json

import pytest

from campaign_hosts import fabric  # noqa: F401
from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

NAMES = [f"gpu-{i}" for i in range(4)]

BODIES = [
    (b"", 400, "body"),
    (b"{", 400, "body"),
    (b"[]", 422, "body"),
    (b"{}", 422, "reason"),
    ({"reason": "x"}, 422, "either domain or nodes"),
    ({"reason": "x", "domain": "a", "nodes": ["a", "b"]}, 422, "either domain or nodes"),
    ({"reason": "", "domain": "a"}, 422, "reason: expected a reason of 1 to 500"),
    ({"reason": " \n", "domain": "a"}, 422, "reason"),
    ({"reason": "x" * 501, "domain": "a"}, 422, "reason"),
    ({"reason": 7, "domain": "a"}, 422, "reason"),
    ({"reason": "x", "domain": ""}, 422, "domain: expected 1 to 253"),
    ({"reason": "x", "domain": "a" * 254}, 422, "domain"),
    ({"reason": "x", "domain": "nowhere"}, 404, "nowhere"),
    ({"reason": "x", "nodes": []}, 422, "nodes: expected 2 to 256"),
    ({"reason": "x", "nodes": ["gpu-0"]}, 422, "nodes: expected 2 to 256"),
    ({"reason": "x", "nodes": ["gpu-0", "gpu-0"]}, 422, "fewer than two"),
    ({"reason": "x", "nodes": ["gpu-0", 7]}, 422, "nodes[1]"),
    ({"reason": "x", "nodes": ["gpu-0", "../x"]}, 422, "nodes[1]"),
    ({"reason": "x", "nodes": ["gpu-0", "nobody"]}, 404, "nobody"),
    ({"reason": "x", "nodes": [f"n{i}" for i in range(257)]}, 422, "nodes: expected 2 to 256"),
    ({"reason": "x", "nodes": NAMES, "kind": "all"}, 422, "kind"),
    ({"reason": "x", "nodes": NAMES, "plan": "luck"}, 422, "plan"),
    ({"reason": "x", "nodes": NAMES, "kind": "pair", "plan": "bisect"}, 422, "bisect"),
    ({"reason": "x", "nodes": NAMES, "memory": "disk"}, 422, "memory"),
    ({"reason": "x", "nodes": NAMES, "engine": "nccl"}, 422, "engine nccl needs memory gpu"),
    ({"reason": "x", "nodes": NAMES, "kind": "pair", "memory": "gpu", "engine": "nccl"}, 422, "use kind allreduce"),
    ({"reason": "x", "nodes": NAMES, "passed": NAMES}, 422, "passed"),
    (b" " * 200000, 413, ""),
]


def test_what_is_no_campaign_is_refused_with_the_place(fabric):
    f = fabric()
    f.add(*NAMES)
    for body, status, words in BODIES:
        answer = f.c.call("POST", "/v1/campaigns", body if isinstance(body, bytes) else json.dumps(body).encode())
        assert answer.status == status and words in answer.json["detail"], (body, answer.body)
    for number in ("1", "x", "", "-1", "9" * 30, "1%00", "%2e%2e"):
        assert f.c.get(f"/v1/campaigns/{number}").status == 404, number
    assert f.c.get("/v1/campaigns").json == {"items": [], "next": None}
    assert not any(h.orders for h in f.hosts.values())


def test_no_host_and_no_switch_is_in_two_campaigns_at_once(fabric, tmp_path):
    names = [f"gpu-{i}" for i in range(20)]
    neighbors = tmp_path / "neighbors.yaml"
    neighbors.write_text("v: 1\nswitches:\n" + "".join(f"  - {{name: leaf-{n}, nodes: [gpu-{2 * n}, gpu-{2 * n + 1}]}}\n" for n in range(1, 10)))
    f = fabric(f"collectives: {{file: {neighbors}}}")
    for name in names:
        assert f.c.post_again(report(name)).status == 202
    first = f.begin(nodes=["gpu-0", "gpu-2"])["id"]
    assert f"gpu-2 is taking part in campaign {first}" in f.begin(409, nodes=["gpu-2", "gpu-4"])["detail"]
    assert f"gpu-3 is below a switch at which campaign {first}" in f.begin(409, nodes=["gpu-3", "gpu-4"])["detail"]
    for n in range(2, 9):
        f.begin(domain=f"leaf-{n}")
    assert "8 campaigns are running" in f.begin(409, domain="leaf-9")["detail"]
    assert f.c.metrics()["assay_campaigns_running"] == 8


def test_answers_that_nobody_asked_for_change_nothing(fabric):
    f = fabric()
    f.add(*NAMES)
    for host in f.hosts.values():
        host.way = "silent"
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: all(h.orders for h in f.hosts.values()))
    before = f.show(number)
    order = f.hosts["gpu-0"].orders[0]
    stranger = next(n for n in NAMES if not any(p.startswith(n + ":") for p in order["peers"]))
    value = [sample("all_reduce.busbw", "mlx5_0:1", 1e9, "B/s", code="rail:0")]
    for name, claimed in ((stranger, order["id"]), ("gpu-0", "campaign-99-1-1"), ("gpu-0", "campaign-1-1-99"), ("gpu-0", "x" * 5000), ("outside", order["id"])):
        f.c.post_again(report(name, seq=100 + len(claimed) % 7 + len(name), samples=value, order={"id": claimed, "kind": "allreduce"}))
    assert f.show(number) == before
    assert f.show(number)["rounds"][0]["groups"][0]["state"] == "running"


@pytest.mark.parametrize("section,words", [
    ("{port: 0}", "collectives.port"),
    ("{port: 70000}", "collectives.port"),
    ("{address: dns}", "collectives.address"),
    ("{address: file}", "collectives.address: file: needs its key file"),
    ("{timeout: 1ms}", "collectives.timeout: expected 1s to 1h"),
    ("{at-once: 1}", "collectives.at-once"),
    ("{hosts: 3}", "hosts"),
    ("7", "collectives"),
    ("{file: /nowhere/neighbors.yaml}", "/nowhere/neighbors.yaml"),
])
def test_bad_settings_are_named_with_their_place(run, tmp_path, section, words):
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\ncollectives: {section}\n")
    done = run("assay-controller", "--check", "--config", config)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
