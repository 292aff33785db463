# SPDX-License-Identifier: Apache-2.0
"""Campaigns (tests of hosts with each other): a real controller, and hosts that execute its orders."""
import json
import re

import pytest

from campaign_hosts import POLICY, fabric  # noqa: F401
from fixtures_controller import controller, sample  # noqa: F401
from waiting import wait_for

NAMES = [f"gpu-{i}" for i in range(6)]


def open_incidents(c):
    return {(i["node"], i["check"]): i["sentence"] for i in c.get("/v1/incidents?state=open").json["items"]}


def cordoned(c):
    return sorted(a["node"] for a in c.get("/v1/actions").json["items"] if a["action"] == "cordon" and a["state"] == "done")


def test_a_slow_host_is_named_after_the_second_pass_and_cordoned_by_the_policy(fabric):
    f = fabric()
    f.add(*NAMES)
    f.hosts["gpu-3"].part = 0.5
    done = f.play(nodes=NAMES, by="ann")
    assert done["state"] == "done" and done["rounds_made"] == 2 and done["kind"] == "allreduce"
    (blame,) = done["blames"]
    assert (blame["node"], blame["kind"], blame["partners"]) == ("gpu-3", "node", 2) and 0.45 < blame["ratio"] < 0.55
    assert done["sentence"].startswith("gpu-3 reaches 50 %")
    groups = [g for r in done["rounds"] for g in r["groups"]]
    assert all(g["state"] == "measured" for g in groups)
    assert all((g["value"] < 15e9) == ("gpu-3" in g["nodes"]) for g in groups)
    assert wait_for(lambda: cordoned(f.c) == ["gpu-3"])
    assert {f.c.get(f"/v1/nodes/{n}").json["verdict"] for n in NAMES if n != "gpu-3"} == {"pass"}
    looked_at = f.c.get("/v1/nodes/gpu-3").json, next(n for n in f.c.get("/v1/nodes").json["items"] if n["node"] == "gpu-3"), f.c.get("/v1/nodes/gpu-3/why").json
    assert all(n["verdict"] == "fail" and "round 2 with gpu-" in n["sentence"] for n in looked_at), looked_at
    assert wait_for(lambda: f.hosts["gpu-3"].opinion["verdict"] == "fail"), "it is out of service"
    incidents = open_incidents(f.c)
    sentence = incidents["gpu-3", "all_reduce.busbw"]
    assert re.search(r"round 1 with gpu-\d: 12\.\d GB/s, round 2 with gpu-\d: 12\.\d GB/s", sentence), sentence
    assert not [key for key in incidents if key[0] != "gpu-3"]
    metrics = f.c.metrics()
    assert metrics["assay_campaigns_total"] == 1 and metrics["assay_campaign_hosts_blamed_total"] == 1
    assert metrics['assay_campaign_groups_total{outcome="measured"}'] == len(groups)


def test_the_orders_of_a_group_fit_together(fabric):
    f = fabric()
    f.add(*NAMES[:4])
    f.play(nodes=NAMES[:4])
    by_id = {}
    for host in f.hosts.values():
        assert len({o["id"] for o in host.orders}) == len(host.orders) >= 2
        for order in host.orders:
            assert order["peers"][order["rank"]] == f"{host.name}:7400"
            assert order["passed"] == order["peers"] and order["deadline"] > order["now"]
            assert re.fullmatch(r"[0-9a-zA-Z_-]{32,128}", order["token"]) and len(order["id"]) <= 64
            by_id.setdefault(order["id"], []).append((order["token"], order["rank"], tuple(order["peers"])))
    for members in by_id.values():
        assert len(members) == 2 and len({(token, peers) for token, _, peers in members}) == 1
        assert sorted(rank for _, rank, _ in members) == [0, 1]
    assert len({members[0][0] for members in by_id.values()}) == len(by_id)


def test_good_hosts_are_left_alone_and_one_that_was_mended_is_cleared(fabric):
    f = fabric()
    f.add(*NAMES)
    f.hosts["gpu-1"].part = 0.4
    f.play(nodes=NAMES)
    assert wait_for(lambda: cordoned(f.c) == ["gpu-1"])
    f.hosts["gpu-1"].part = 1.0
    done = f.play(nodes=NAMES)
    assert done["blames"] == [] and done["sentence"].startswith("no host is slow: 6 hosts")
    assert wait_for(lambda: not open_incidents(f.c)), open_incidents(f.c)
    assert f.c.get("/v1/nodes/gpu-1").json["verdict"] == "pass"


def test_an_observer_cordons_nobody(fabric):
    f = fabric(mode="observe")
    f.add(*NAMES)
    f.hosts["gpu-2"].part = 0.5
    f.play(nodes=NAMES)
    assert wait_for(lambda: ("gpu-2", "all_reduce.busbw") in open_incidents(f.c))
    assert cordoned(f.c) == []
    node = f.c.get("/v1/nodes/gpu-2").json
    assert node["verdict"] == "fail" and "all_reduce.busbw" not in node["sentence"] and "round 1 with gpu-" in node["sentence"]
    assert wait_for(lambda: f.c.metrics()['assay_nodes{verdict="fail"}'] == 1)
    # Sent at once, not when its call times out.
    assert wait_for(lambda: f.hosts["gpu-2"].opinion["verdict"] == "warn") and "round 1 with gpu-" in f.hosts["gpu-2"].opinion["sentence"]
    assert f.hosts["gpu-2"].report().status == 202, "a run of its own, good as ever"
    assert f.c.get("/v1/nodes/gpu-2").json["verdict"] == "fail"
    f.hosts["gpu-2"].part = 1.0
    f.play(nodes=NAMES)
    assert wait_for(lambda: not open_incidents(f.c)) and f.c.get("/v1/nodes/gpu-2").json["verdict"] == "pass"
    assert wait_for(lambda: f.hosts["gpu-2"].opinion["verdict"] == "pass")


def test_a_host_that_is_cordoned_is_told_while_its_call_is_held(fabric):
    f = fabric()
    f.add(*NAMES, hold=50)
    f.hosts["gpu-2"].part = 0.5
    f.play(nodes=NAMES)
    assert wait_for(lambda: f.hosts["gpu-2"].opinion["verdict"] == "fail")
    assert f.hosts["gpu-2"].unanswered == 0, "it had to ask again"
    f.ended.set()
    assert f.c.stop()[0] == 0  # and with it the calls


def test_a_host_that_takes_orders_and_never_answers_is_left_out_and_condemned_for_nothing(fabric):
    f = fabric("collectives: {timeout: 2s}")
    f.add(*NAMES)
    f.hosts["gpu-4"].way = "silent"
    done = f.play(nodes=NAMES)
    gone = {n["node"]: n["why"] for n in done["nodes"] if n["gone"]}
    assert gone == {"gpu-4": "it accepted the order but did not report"}
    assert not [b for b in done["blames"] if b["kind"] != "undecided"]
    assert not open_incidents(f.c) and cordoned(f.c) == []


def test_a_busy_host_is_left_out_and_the_others_are_measured(fabric):
    f = fabric()
    f.add(*NAMES)
    f.hosts["gpu-0"].way, f.hosts["gpu-0"].part = "busy", 0.1
    f.hosts["gpu-5"].part = 0.5
    done = f.play(nodes=NAMES)
    assert {n["node"]: n["why"] for n in done["nodes"] if n["gone"]} == {"gpu-0": "a job runs here"}
    assert [b["node"] for b in done["blames"] if b["kind"] == "node"] == ["gpu-5"]
    assert wait_for(lambda: cordoned(f.c) == ["gpu-5"])
    assert f.c.get("/v1/nodes/gpu-0").json["verdict"] == "pass"


def test_who_failed_its_own_tests_or_is_not_there_is_told_and_not_asked(fabric):
    f = fabric("collectives: {timeout: 2s}", policy=POLICY.replace("enforce", "observe"), mode="observe")
    f.add(*NAMES)
    f.hosts["gpu-1"].report(samples=[sample("inventory.gpus", "host", 7, "1", ok=False)])
    f.c.post_again({**__import__("fixtures_controller").report("gpu-9")})
    done = f.play(nodes=[*NAMES, "gpu-9"])
    why = {n["node"]: n["why"] for n in done["nodes"] if n["gone"]}
    assert set(why) == {"gpu-1", "gpu-9"}
    assert "own tests: inventory.gpus" in why["gpu-1"] and "is not connected" in why["gpu-9"]
    assert f.hosts["gpu-1"].orders == []


def test_a_slow_switch_is_an_incident_of_its_own_and_cordons_nobody(fabric, tmp_path):
    names = [f"gpu-{i}" for i in range(12)]
    neighbors = tmp_path / "neighbors.yaml"
    neighbors.write_text("v: 1\nswitches:\n" + "".join(
        f"  - {{name: leaf-{n}, nodes: [{', '.join(names[4 * n:4 * n + 4])}]}}\n" for n in range(3)))
    f = fabric(f"collectives: {{file: {neighbors}}}")
    f.add(*names)
    for name in names[4:8]:
        f.hosts[name].part = 0.5
    done = f.play(nodes=names)
    assert [b["switch"] for b in done["blames"] if b["kind"] in ("switch", "undecided")][0] == "leaf-1", done["blames"]
    assert "leaf-1" in open_incidents(f.c)["domain:leaf-1", "all_reduce.busbw"]
    assert cordoned(f.c) == []
    # It ends when the hosts below it are good, wherever else the campaign ran.
    f.play(nodes=names[:4] + names[8:])
    assert ("domain:leaf-1", "all_reduce.busbw") in open_incidents(f.c)
    for name in names[4:8]:
        f.hosts[name].part = 1.0
    f.play(nodes=names)
    assert wait_for(lambda: not open_incidents(f.c)), open_incidents(f.c)


def test_a_domain_is_found_by_file_label_or_lldp(fabric, tmp_path):
    neighbors = tmp_path / "neighbors.yaml"
    neighbors.write_text("v: 1\nswitches: [{name: leaf-f, nodes: [gpu-0, gpu-1]}]\naddresses: {gpu-0: 10.0.0.1}\n")
    f = fabric("labels: [{nodes: 'gpu-[23]', labels: {network.topology.nvidia.com/leaf: leaf-l}}]",
               f"collectives: {{file: {neighbors}, port: 1234}}")
    f.add(*NAMES[:4])
    for domain, names in (("leaf-f", NAMES[:2]), ("leaf-l", NAMES[2:4])):
        done = f.play(domain=domain)
        assert sorted(n["node"] for n in done["nodes"]) == names and done["domain"] == domain
        assert all(n["switches"] == [domain] and n["address"] == n["node"] + ":1234" for n in done["nodes"])


def test_a_domain_is_found_by_what_rnics_heard_by_lldp(fabric):
    """Two switches with crossed rails: mlx5_2 is rail 0, mlx5_10 rail 1. A host with other neighbours is not included."""
    f = fabric()
    f.add(*NAMES)
    for i, name in enumerate(NAMES):
        heard = [{"rnic": "mlx5_10:1", "switch": f"leaf-b{i // 4}", "port": "Eth1", "source": "lldp"},
                 {"rnic": "mlx5_2:1", "switch": f"leaf-a{i // 4}", "port": "Eth2", "source": "lldp"}]
        body = json.dumps({"v": 1, "kind": "topology", "nodes": [], "links": [], "neighbors": heard}).encode()
        refused = f.c.call("PUT", f"/v1/topologies/{'0' * 64}", body)
        digest = re.search(r"[0-9a-f]{64}", refused.json["detail"]).group()
        assert f.c.call("PUT", f"/v1/topologies/{digest}", body).status in (200, 201)
        assert f.hosts[name].report(topology=digest).status == 202
    f.hosts["gpu-2"].part = 0.5
    for domain in ("leaf-a0", "leaf-b0"):
        done = f.play(domain=domain)
        assert {n["node"]: n["switches"][:2] for n in done["nodes"]} == {n: ["leaf-a0", "leaf-b0"] for n in NAMES[:4]}
        assert [b["node"] for b in done["blames"] if b["kind"] == "node"] == ["gpu-2"], done["blames"]
    assert "nowhere" in f.begin(404, domain="leaf-nowhere")["detail"]


def test_addresses_may_come_from_the_file_alone(fabric, tmp_path):
    neighbors = tmp_path / "neighbors.yaml"
    neighbors.write_text("v: 1\naddresses: {gpu-0: 10.0.0.1, gpu-1: '[fd00::1]'}\n")
    f = fabric(f"collectives: {{address: file, file: {neighbors}}}")
    f.add(*NAMES[:3])
    for host in f.hosts.values():
        host.way = "silent"  # these addresses are not reachable
    number = f.begin(nodes=NAMES[:3])["id"]
    nodes = {n["node"]: (n["address"], n["why"]) for n in f.show(number)["nodes"]}
    assert nodes == {"gpu-0": ("10.0.0.1:7400", None), "gpu-1": ("[fd00::1]:7400", None),
                     "gpu-2": ("gpu-2:7400", "the neighbors file has no address for this host")}


def test_what_gpu_memory_shows_is_not_cleared_by_host_memory(fabric):
    f = fabric("collectives: {memory: gpu}")
    f.add(*NAMES)
    f.hosts["gpu-3"].part = 0.5
    done = f.play(nodes=NAMES)
    assert (done["memory"], done["engine"], done["check"]) == ("gpu", "verbs", "all_reduce.gpu_busbw") and [b["node"] for b in done["blames"]] == ["gpu-3"]
    assert wait_for(lambda: cordoned(f.c) == ["gpu-3"])
    f.hosts["gpu-3"].part = 1.0
    host = f.play(nodes=NAMES, memory="host")
    assert (host["check"], host["blames"]) == ("all_reduce.busbw", []) and ("gpu-3", "all_reduce.gpu_busbw") in open_incidents(f.c)
    assert f.play(nodes=NAMES, engine="nccl")["check"] == "all_reduce.nccl_busbw"
    assert ("gpu-3", "all_reduce.gpu_busbw") in open_incidents(f.c), "NCCL is not verbs"
    assert f.play(nodes=NAMES)["blames"] == []
    assert wait_for(lambda: ("gpu-3", "all_reduce.gpu_busbw") not in open_incidents(f.c))


def test_a_pair_that_is_slow_from_gpu_memory_is_tried_again_there(fabric):
    f = fabric("labels: [{nodes: 'gpu-*', labels: {fabric.topograph.run/tier-0: leaf-1}}]")
    f.add(*NAMES)
    low = sample("rnic_pair.gpu_connect", "mlx5_0:1>mlx5_1:1", 0, "1", better="none", ok=False)
    for _ in range(2):
        assert f.hosts["gpu-2"].report(samples=[low]).status == 202
    assert wait_for(lambda: [c for c in f.c.get("/v1/campaigns").json["items"] if c["state"] != "running"])
    done = f.show("1")
    assert (done["kind"], done["memory"], done["check"]) == ("pair", "gpu", "rnic_pair.gpu_write_bw"), done
    assert {o["memory"] for h in f.hosts.values() for o in h.orders} == {"gpu"}


@pytest.mark.parametrize("part", [0.5, 1.0])
def test_a_link_that_flaps_is_tried_with_others_by_itself(fabric, part):
    """The policy's retest of a finding that needs two hosts becomes a campaign: the finding is reproduced, or over."""
    f = fabric("labels: [{nodes: 'gpu-*', labels: {fabric.topograph.run/tier-0: leaf-1}}]")
    f.add(*NAMES)
    f.hosts["gpu-2"].part = part
    flaps = sample("rnic.flapping", "mlx5_0:1", 3, "1", better="lower", ok=False, severity="warn", code="pair-test")
    assert f.hosts["gpu-2"].report(samples=[flaps]).status == 202
    assert wait_for(lambda: [c for c in f.c.get("/v1/campaigns").json["items"] if c["state"] != "running"])
    done = f.show("1")
    assert done["state"] == "done" and done["kind"] == "pair" and done["who"] == "automatic"
    assert done["reason"] == "rnic.flapping of gpu-2: retested with other hosts" and len(done["nodes"]) == 6
    retests = [a for a in f.c.get("/v1/actions?node=gpu-2").json["items"] if a["action"] == "retest"]
    assert retests[-1]["state"] == "done" and retests[-1]["result"] == ("it failed again" if part < 1 else "it passed")
    if part < 1:
        assert wait_for(lambda: cordoned(f.c) == ["gpu-2"])
        assert ("gpu-2", "rnic_pair.write_bw") in open_incidents(f.c)
    else:
        # The test is over; a flap is reported until a day without any.
        assert set(open_incidents(f.c)) == {("gpu-2", "rnic.flapping")} and cordoned(f.c) == []
