# SPDX-License-Identifier: Apache-2.0
"""Budgets with many concurrent requests: the rate limit of a person, and the limits of all."""
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from fixtures_controller import controller  # noqa: F401
from test_assayctl_act import RULES, acting, dead  # noqa: F401
from waiting import wait_for

WIDE = "total: {percent: 100, nodes: 0}, domain: {label: none, max: 100}"
CALM = "breaker: {storm: {cordons: 1000, per: 10m}, alike: {percent: 100, nodes: 1000, per: 10m}, silent_percent: 100}\n"


def fleet(n):
    return [f"gpu-{i:02d}" for i in range(n)]


def policy(budget, mode="enforce"):
    return f"v: 1\nmode: {mode}\nbudget: {{{budget}}}\n{CALM}{RULES}"


def at_once(a, nodes, tokens=("token-operate",), body=None):
    """Sends a request for each host, with the tokens in turn, all before the first is answered. Returns the answers."""
    gate = Barrier(len(nodes))

    def ask(i):
        gate.wait(60)
        return a.post(f"nodes/{nodes[i]}/cordon", body or {"reason": "rack 3 is on fire"}, token=tokens[i % len(tokens)])

    with ThreadPoolExecutor(len(nodes)) as pool:
        return list(pool.map(ask, range(len(nodes))))


def budget(a, rule):
    return next(b for b in a.get("breaker")["budget"] if b["rule"] == rule)


def outside(a, nodes):
    return [n for n in nodes if not a.life(n)["schedulable"]]


@pytest.mark.parametrize("limit,clients", [(1, 6), (3, 14)])
def test_who_asks_at_once_has_what_who_asks_in_turn_has(acting, limit, clients):
    nodes = fleet(clients)
    a = acting(policy(f"{WIDE}, rate: {{cordons: 1, per: 10m, manual: {{cordons: {limit}, per: 10m}}}}"), nodes)
    for turn in range(3):
        answers = at_once(a, nodes if turn == 0 else [n for n in nodes if n not in outside(a, nodes)])
        refused = [x.json for x in answers if x.status == 409]
        assert [x.status for x in answers].count(200) == (limit if turn == 0 else 0)
        assert len(refused) == len(answers) - (limit if turn == 0 else 0)
        assert {x["rule"] for x in refused} == {"budget.rate.manual"}
        assert f"operator ann has cordoned {limit} host" in refused[0]["detail"] and "waiting until" in refused[0]["allows"]
    assert len(outside(a, nodes)) == limit
    row = budget(a, "budget.rate.manual")
    assert (row["used"], row["limit"], row["account"]) == (limit, limit, "operator ann")
    assert budget(a, "budget.rate")["used"] == 0
    # The other account has its own limit, and bypassing budgets ignores it.
    assert at_once(a, [n for n in nodes if n not in outside(a, nodes)][:1], tokens=("token-shared",))[0].status == 200
    left = [n for n in nodes if n not in outside(a, nodes)]
    assert at_once(a, left[:1], tokens=("token-admin",), body={"reason": "fire", "break_glass": True})[0].status == 200


@pytest.mark.parametrize("limit", [1, 3])
def test_persons_and_rules_have_a_rate_each_in_the_same_moment(acting, limit):
    nodes = fleet(26)
    sick, asked = nodes[:12], nodes[12:]
    a = acting(policy(f"{WIDE}, rate: {{cordons: {limit}, per: 10m, manual: {{cordons: {limit}, per: 10m}}}}"), nodes)
    with ThreadPoolExecutor(len(sick)) as pool:
        reports = [pool.submit(a.report, n, dead(f"gpu.xid{i}")) for i, n in enumerate(sick)]
        answers = at_once(a, asked)
        for one in reports:
            one.result()
    assert [x.status for x in answers].count(200) == limit
    assert wait_for(lambda: len(outside(a, sick)) == limit)
    a.settled()
    assert wait_for(lambda: a.actions(action="cordon", state="refused", by="automatic"))
    assert len(outside(a, sick)) == limit and len(outside(a, asked)) == limit
    assert [budget(a, r)["used"] for r in ("budget.rate", "budget.rate.manual", "budget.total")] == [limit, limit, 2 * limit]


@pytest.mark.parametrize("limit,clients", [(1, 6), (3, 14)])
def test_the_total_holds_for_people_and_rules_together(acting, limit, clients):
    nodes = fleet(clients + 6)
    a = acting(policy(f"total: {{percent: 100, nodes: {limit}}}, domain: {{label: none, max: 100}}, "
                      "rate: {cordons: 100, per: 10m, manual: {cordons: 100, per: 10m}}"), nodes)
    with ThreadPoolExecutor(6) as pool:
        reports = [pool.submit(a.report, n, dead(f"gpu.xid{i}")) for i, n in enumerate(nodes[clients:])]
        answers = at_once(a, nodes[:clients])
        for one in reports:
            one.result()
    a.settled()
    assert wait_for(lambda: len(outside(a, nodes)) == limit)
    assert {x.json["rule"] for x in answers if x.status != 200} <= {"budget.total"}
    assert budget(a, "budget.total")["used"] == limit


def test_a_restart_forgets_no_cordon_of_a_person(acting):
    nodes = fleet(8)
    a = acting(policy(f"{WIDE}, rate: {{cordons: 1, per: 10m, manual: {{cordons: 2, per: 10m}}}}"), nodes)
    assert [x.status for x in at_once(a, nodes[:2])] == [200, 200]
    a.c.kill()
    a.again()
    assert a.ready()
    assert a.post(f"nodes/{nodes[2]}/cordon", {"reason": "x"}).json["rule"] == "budget.rate.manual"
    assert budget(a, "budget.rate.manual")["used"] == 2


def test_whom_an_unnamed_token_speaks_for_makes_no_account(acting):
    nodes = fleet(8)
    a = acting(policy(f"{WIDE}, rate: {{cordons: 1, per: 10m, manual: {{cordons: 2, per: 10m}}}}"), nodes)
    answers = [a.post(f"nodes/{n}/cordon", {"reason": "x", "by": f"person{i}"}, token="token-shared") for i, n in enumerate(nodes[:4])]
    assert [x.status for x in answers] == [200, 200, 409, 409]


def test_a_policy_of_before_gives_thirty_in_ten_minutes_and_people_do_not_wait_for_rules(acting):
    nodes = fleet(12)
    a = acting(policy(f"{WIDE}, rate: {{cordons: 3, per: 10m}}"), nodes)
    for i, node in enumerate(nodes[:5]):
        a.report(node, dead(f"gpu.xid{i}"))
    assert wait_for(lambda: len(outside(a, nodes[:5])) == 3)
    assert [x.status for x in at_once(a, nodes[5:])] == [200] * 7
    assert (budget(a, "budget.rate.manual")["limit"], budget(a, "budget.rate")["used"]) == (30, 3)
    text = a.ctl("breaker", token="read").stdout
    assert "budget.rate.manual" in text and "automatic cordons" in text and "operator ann" in text


def test_what_is_only_told_uses_no_budget(acting):
    nodes = fleet(8)
    a = acting(policy(f"{WIDE}, rate: {{cordons: 3, per: 10m}}", mode="observe"), nodes)
    a.report(nodes[0], dead())
    assert wait_for(lambda: a.get("incidents")["items"])
    spent = a.c.metrics()["assay_decide_seconds_total"]
    assert wait_for(lambda: a.c.metrics()["assay_decide_seconds_total"] > spent)  # it has been decided on
    assert {b["rule"]: b["used"] for b in a.get("breaker")["budget"]} == {"budget.total": 0, "budget.rate": 0, "budget.rate.manual": 0}
    assert a.c.metrics()['assay_budget_used{budget="total"}'] == 0
