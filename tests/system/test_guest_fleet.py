# SPDX-License-Identifier: Apache-2.0
"""Hosts with one controller, end to end in guests: real daemons, orders of its campaigns, real all-reduces over Soft-RoCE."""
import json
import os
import re

import pytest
from guest_steps import needs

HOSTS = ["node-a", "node-b", "node-c"]
SLOW, HEALTHY = "node-b", ["node-a", "node-c"]
LINK_BYTES_PER_S, SLOW_BYTES_PER_S = 20e6 / 8, 12e6 / 8  # the scenario's traffic shaping, including headers
SPARE = 1.1  # tokens collected while idle are sent in a burst: tc-tbf(8)
GUESTS_TIMEOUT_S = "270"


def boot(guest, build, part):
    """{letter: {section: text}} of one boot of three guests."""
    if os.environ.get("ASSAY_FULL") != "1":
        pytest.skip("three guests with their daemons take minutes of CPU: under scripts/test --full")
    needs(build, "assay-probe-all-reduce")
    done = guest("fleet", "--three", "--set", f"PART={part}", "--timeout", GUESTS_TIMEOUT_S)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr
    return {letter: dict(re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", text, re.MULTILINE | re.DOTALL))
            for letter, text in re.findall(r"^#### (\w)\n(.*?)(?=^#### |\Z)", done.stdout, re.MULTILINE | re.DOTALL)}


@pytest.fixture(scope="module")
def slow(guest, build):
    return boot(guest, build, "slow")


@pytest.fixture(scope="module")
def gone(guest, build):
    return boot(guest, build, "gone")


def seen(sections, name):
    """The visible state after that campaign: the campaign, {host: row of nodes}, the open incidents of hosts."""
    first = sections["a"]
    campaign = json.loads(first[name])
    nodes = {n["node"]: n for n in json.loads(first[f"{name}.nodes"])["items"]}
    incidents = [i for i in json.loads(first[f"{name}.incidents"])["items"] if i["state"] == "open" and i["node"] in HOSTS]
    print(name, [(g["nodes"], g["state"], g["value"], g["why"]) for g in groups_of(campaign)], campaign["sentence"])
    return campaign, nodes, incidents


def groups_of(campaign):
    return [g for r in campaign["rounds"] for g in r["groups"]]


def named(campaign):
    return [(b["kind"], b["node"]) for b in campaign["blames"] if b["kind"] != "undecided"]


def assert_measured(campaign):
    """All hosts took part, each pair ran, and no rate is above that of its links."""
    assert campaign["state"] == "done" and not [n for n in campaign["nodes"] if n["gone"]], campaign
    for group in groups_of(campaign):
        assert group["state"] == "measured", group
        assert 0 < group["value"] < SPARE * LINK_BYTES_PER_S, group


def test_good_hosts_are_left_alone(slow):
    campaign, nodes, incidents = seen(slow, "clean")
    assert_measured(campaign)
    assert {n for g in groups_of(campaign) for n in g["nodes"]} == set(HOSTS)
    assert not named(campaign) and not incidents, campaign
    assert [n["verdict"] for n in nodes.values()] == ["pass"] * 3, nodes


def test_the_host_whose_egress_is_slow_is_named_and_no_other(slow):
    campaign, nodes, incidents = seen(slow, "slow")
    assert_measured(campaign)
    assert named(campaign) == [("node", SLOW)], campaign
    (blame,) = campaign["blames"]
    assert blame["partners"] == 2 and 0.4 < blame["ratio"] < 0.8, blame
    for group in groups_of(campaign):
        assert (group["value"] < SPARE * SLOW_BYTES_PER_S) == (SLOW in group["nodes"]), group
    assert {name: n["verdict"] for name, n in nodes.items()} == {SLOW: "fail"} | dict.fromkeys(HEALTHY, "pass")
    assert [(i["node"], i["check"]) for i in incidents] == [(SLOW, "all_reduce.busbw")], incidents


def test_why_tells_the_passes_in_a_unit_that_shows_them(slow):
    assert re.search(r"with node-[ac]:\s+1\.\d+\s+MB/s", slow["a"]["slow.why.b"]), slow["a"]["slow.why.b"]
    for letter in "ac":
        assert "of the rate of the others" not in slow["a"][f"slow.why.{letter}"]


def test_only_the_slow_host_is_taken_out_of_service(slow):
    done = [(a["node"], a["action"]) for a in json.loads(slow["a"]["slow.actions"])["items"]]
    assert done and {node for node, _ in done} == {SLOW}, done
    answers = {letter: json.loads(slow[letter]["admit"]) for letter in "abc"}
    assert {letter: a["answer"] for letter, a in answers.items()} == {"a": "ok", "b": "bad", "c": "ok"}, answers
    assert answers["b"]["source"] == "fleet" and "of the rate of the others" in answers["b"]["reasons"][0], answers["b"]


def test_once_mended_it_is_named_no_more(slow):
    campaign, _, _ = seen(slow, "mended")
    assert_measured(campaign)
    assert not named(campaign), campaign


def test_a_host_that_has_its_own_name_at_127_0_1_1_is_found_by_name(slow):
    """As in Debian's /etc/hosts: each host listened in some group, and was reached."""
    campaign, _, _ = seen(slow, "clean")
    assert {n["address"] for n in campaign["nodes"]} == {f"{name}:7400" for name in HOSTS}
    firsts = {name for letter, name in zip("abc", HOSTS) if "started: rank 0 of 2" in slow[letter]["assayd"]}
    assert len(firsts) >= 2, firsts


def test_clocks_that_do_not_agree_cost_no_order(slow):
    """One is a day ahead, one ten minutes behind: the controller reports it, and its deadlines hold anyway."""
    assert "24 h ahead of the controller's" in slow["a"]["clean.why.b"]
    assert "behind the controller's" in slow["a"]["clean.why.c"]
    orders = [len(groups_of(seen(slow, name)[0])) * 2 for name in ("clean", "slow", "mended")]
    logs = "".join(slow[letter]["assayd"] for letter in "abc")
    assert len(re.findall(r"allreduce started", logs)) == len(re.findall(r"allreduce done: exit status 0", logs)) == sum(orders), logs
    assert "not obeyed" not in logs


def test_a_host_that_loses_its_power_is_left_out_and_nobody_is_blamed(gone):
    campaign, nodes, incidents = seen(gone, "gone")
    assert campaign["state"] == "done" and not named(campaign), campaign
    assert not incidents, incidents
    assert [n["node"] for n in campaign["nodes"] if n["gone"]] == ["node-c"], campaign
    assert all(("node-c" in g["nodes"]) == (g["state"] != "measured") for g in groups_of(campaign)), campaign
    assert {nodes[name]["verdict"] for name in ("node-a", "node-b")} == {"pass"}, nodes
    assert nodes["node-c"]["connection"] != "connected", nodes["node-c"]


@pytest.mark.parametrize("which, letters", [("slow", "abc"), ("gone", "ab")])
def test_all_end_in_order_and_leave_no_token(request, which, letters):
    sections = request.getfixturevalue(which)
    for letter in letters:
        assert sections[letter]["assayd"].startswith("status 0, left of the order: \n"), sections[letter]["assayd"]
    assert sections["a"]["controller"].startswith("status 0\n"), sections["a"]["controller"]
