# SPDX-License-Identifier: Apache-2.0
"""Hosts that have joined but not passed yet: how they count, the audit record, and what a crash in between loses."""
import contextlib
import json
import sqlite3
import threading
from pathlib import Path

from fixtures_controller import controller, report, sample  # noqa: F401
from test_join import join, make, site, tokens_file  # noqa: F401

TREE = Path(__file__).resolve().parents[2]
VERSION_18 = [TREE / f"controller/store/sql/schema-{i}.sql" for i in range(1, 19)]


def cores(rate):
    return [sample(subject=f"cpu:{i}", value=rate + i * 1e8) for i in range(8)]


def node(c, name):
    return c.get(f"/v1/nodes/{name}", token="read").json


def hosts_of_baseline(c):
    return {b["check"]: b["hosts"] for b in c.get("/v1/baselines", token="read").json["items"]}


def opinion(c, name, token):
    orders = c.get(f"/v1/nodes/{name}/orders?wait=0", token=token)
    return next(o["opinion"] for o in orders.json if o["kind"] == "opinion")


def test_a_joined_host_is_unverified_until_a_whole_active_run_has_passed(site):  # noqa: F811
    c = site()
    ticket = make(c, hosts=9).json["token"]
    assert "unverified" in join(c, "gpu-1", ticket, "s1").json["sentence"]
    assert c.post(report("gpu-1", profile="passive", samples=[sample("gpu.power", "gpu:0", 300.0, "W", better="none")]), token="s1").status == 202
    assert node(c, "gpu-1")["unverified"] is True
    said = opinion(c, "gpu-1", "s1")
    assert said["verdict"] == "warn" and "not yet passed a quick or full run" in said["sentence"]
    busy = [{**s, "state": "busy", "value": None} for s in cores(70e9)]
    assert c.post(report("gpu-1", seq=2, samples=busy), token="s1").status == 202
    assert node(c, "gpu-1")["unverified"] is True, "what measured nothing has passed nothing"
    assert c.post(report("gpu-1", seq=3), token="s1").status == 202
    assert node(c, "gpu-1")["unverified"] is False
    assert opinion(c, "gpu-1", "s1")["verdict"] == "pass"
    c.kill()
    c = site()
    assert node(c, "gpu-1")["unverified"] is False


def test_an_unverified_host_is_in_no_baseline_and_not_among_its_sku(site):  # noqa: F811
    c = site()
    for i in range(4):
        assert c.post(report(f"old-{i}"), token="admin").status == 202
        assert node(c, f"old-{i}")["unverified"] is False, "a host of tokens.yaml, or of an admin, is what it was"
    assert hosts_of_baseline(c)["gemm.rate"] == 4
    ticket = make(c, hosts=9).json["token"]
    for i in range(9):
        assert join(c, f"new-{i}", ticket, f"s{i}").status == 200
        for seq in (1, 2, 3):  # slow hosts, more than half of the SKU
            assert c.post(report(f"new-{i}", seq=seq, samples=cores(35e9)), token=f"s{i}").status == 202
    assert hosts_of_baseline(c)["gemm.rate"] == 4
    assert all(node(c, f"new-{i}")["unverified"] for i in range(9))
    named = {i["node"] for i in c.get("/v1/incidents", token="read").json["items"]}
    assert not any(n.startswith("sku:") for n in named), "strangers do not make what is theirs the fleet's"
    assert c.post(report("new-0", seq=4), token="s0").status == 202
    assert hosts_of_baseline(c)["gemm.rate"] == (5 if not node(c, "new-0")["unverified"] else 4)


def test_a_policy_can_trust_whoever_joins(controller, tmp_path):  # noqa: F811
    policy = tmp_path / "policy.yaml"
    policy.write_text("v: 1\nstartup: {lift: false, verify_joined: false}\n")
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\ntokens: {tokens_file(tmp_path / 'tokens.yaml')}\npolicy: {policy}\n")
    c = controller("--config", config)
    ticket = make(c).json["token"]
    assert join(c, "gpu-1", ticket, "s1").status == 200
    busy = [{**s, "state": "busy", "value": None} for s in cores(70e9)]
    assert c.post(report("gpu-1", samples=busy), token="s1").status == 202
    assert node(c, "gpu-1")["unverified"] is False


def test_joins_and_resets_stand_in_the_record_of_what_was_done(site):  # noqa: F811
    c = site()
    ticket = make(c, hosts=9).json["token"]
    assert join(c, "gpu-1", ticket, "s1").status == 200
    assert join(c, "gpu-1", ticket, "s1").status == 200, "asked again: it is the same join"
    assert c.post(report("gpu-1"), token="s1").status == 202
    assert c.call("POST", "/v1/nodes/gpu-1/reset-token", b'{"reason": "new board"}', token="admin").status == 200
    assert join(c, "gpu-1", ticket, "s2").status == 200
    assert c.post(report("gpu-1", seq=2, profile="passive"), token="s2").status == 202
    assert node(c, "gpu-1")["unverified"] is True, "what passed before it was reset was another"
    c.kill()
    c = site()
    rows = [(a["action"], a["node"], a["by"], a["reason"], a["state"]) for a in c.get("/v1/actions", token="read").json["items"]]
    assert [r[:3] for r in rows] == [("join", "gpu-1", "join token 1 of operator ann"), ("reset-token", "gpu-1", "operator ann"),
                                     ("join", "gpu-1", "join token 1 of operator ann"), ("create-join-token", "", "operator ann")]
    assert rows[1][3:] == ("new board", "done") and rows[0][3].startswith("joined from 127.0.0.1")


def test_join_tokens_made_and_revoked_stand_in_the_record_without_their_secret(site):  # noqa: F811
    c = site()
    ticket = make(c, hosts=9, names="gpu-*").json["token"]
    assert c.call("POST", "/v1/join-tokens/1/revoke", b'{"reason": "it was on a screen"}', token="admin").status == 200
    assert c.call("POST", "/v1/join-tokens/7/revoke", b"{}", token="admin").status == 404, "which is no act"
    items = c.get("/v1/actions", token="read").json["items"]
    assert [(a["action"], a["node"], a["by"], a["reason"], a["state"]) for a in items] == [
        ("revoke-join-token", "", "operator ann", "1: it was on a screen", "done"),
        ("create-join-token", "", "operator ann", "1: for 9 hosts, names gpu-*", "done")]
    assert ticket not in json.dumps(items)


def test_a_controller_that_dies_between_join_and_first_report_forgets_neither(site):  # noqa: F811
    c = site()
    ticket = make(c).json["token"]
    assert join(c, "gpu-1", ticket, "s1").status == 200
    c.kill()
    c = site()  # a successor with the same store
    assert c.post(report("gpu-1", profile="passive"), token="s1").status == 202
    assert node(c, "gpu-1")["unverified"] is True


def test_a_controller_with_another_store_knows_neither_the_host_nor_the_join_token(site, controller, tmp_path):  # noqa: F811
    first = site()
    ticket = make(first).json["token"]
    assert join(first, "gpu-1", ticket, "s1").status == 200
    other = controller("--tokens", tmp_path / "tokens.yaml", db=tmp_path / "other.db")
    first.kill()
    assert other.post(report("gpu-1"), token="s1").status == 401
    refused = join(other, "gpu-1", ticket, "s1")
    assert refused.status == 401 and "assayctl token create" in refused.json["detail"]


def test_the_last_place_of_a_join_token_goes_to_one_of_those_who_race_for_it(site):  # noqa: F811
    c = site()
    ticket = make(c).json["token"]
    ready, said = threading.Barrier(8), []

    def run(i):
        ready.wait()
        said.append(join(c, f"gpu-{i}", ticket, f"s{i}").status)

    racers = [threading.Thread(target=run, args=(i, )) for i in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(said) == [200] + [403] * 7
    assert c.get("/v1/join-tokens", token="read").json["items"][0]["used"] == 1


def test_hosts_that_had_joined_before_an_upgrade_stay_what_they_were(controller, tmp_path):  # noqa: F811
    db = tmp_path / "assay.db"
    with contextlib.closing(sqlite3.connect(db)) as store, store:
        for step in VERSION_18:
            store.executescript(step.read_text())
        store.execute("INSERT INTO nodes (node, boot, seq, first_us, seen_us, verdict) VALUES ('gpu-1', 0, 1, 100, 3000, 1), ('gpu-2', 0, 1, 100, 100, 1)")
        store.execute("INSERT INTO joined VALUES ('gpu-1', 'aa', 2000, 1, 'x'), ('gpu-2', 'bb', 2000, 1, 'x'), ('gpu-3', NULL, 2000, 0, 'ann')")
        store.execute("PRAGMA user_version = 18")
    c = controller("--tokens", tokens_file(tmp_path / "tokens.yaml"), db=db)
    assert [node(c, f"gpu-{i}")["unverified"] for i in (1, 2)] == [False, True]
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(db)) as store:
        assert store.execute("SELECT node, verified_us FROM joined ORDER BY node").fetchall() == [("gpu-1", 2000), ("gpu-2", None), ("gpu-3", None)]
