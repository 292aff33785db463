# SPDX-License-Identifier: Apache-2.0
"""Burns ordered by a person: on hosts out of service, two per rack at a time, started ten seconds apart."""
import json
import time

import pytest
from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

WAIT_S = 60
POLICY = "v: 1\nmode: enforce\nbudget: {domain: {label: rack, max: 9}, total: {percent: 100}, rate: {cordons: 100, per: 10m}}\ncoverage: {max_age: 3650d}\n"
REASON = {"reason": "fans replaced"}


@pytest.fixture
def fleet(controller, tmp_path):  # noqa: F811
    """A controller with gpu-0 to gpu-3 in rack r1, and other-0 in another; all but gpu-3 are cordoned."""
    policy, config = tmp_path / "policy.yaml", tmp_path / "controller.yaml"
    policy.write_text(POLICY)
    config.write_text(f"v: 1\npolicy: {policy}\nlabels: [{{nodes: 'gpu-*', labels: {{rack: r1}}}}, {{nodes: 'other-*', labels: {{rack: r2}}}}]\n")
    c = controller("--config", config, "--mode", "enforce")
    for name in (*(f"gpu-{i}" for i in range(4)), "other-0"):
        assert c.post(report(name, 1, samples=[sample()])).status == 202
        if name != "gpu-3":
            wait_for(lambda name=name: ask(c, name, "cordon").status == 200, WAIT_S)
    return c


def ask(c, name, what="burn", body=None):
    return c.call("POST", f"/v1/nodes/{name}/{what}", json.dumps(REASON if body is None else body))


def order_of(c, name):
    """The host's current burn order, or None."""
    answer = c.get(f"/v1/nodes/{name}/orders?wait=0")
    return next((o for o in (answer.json if answer.status == 200 else []) if o.get("profile") == "burn"), None)


@pytest.mark.once
def test_two_of_a_rack_burn_ten_seconds_apart_and_the_next_when_one_is_done(fleet):
    for i in range(3):
        answer = ask(fleet, f"gpu-{i}")
        assert answer.status == 200, answer.body
        assert answer.json == {"node": f"gpu-{i}", "action": None, "sentence": (
            "gpu-0 is burning now, for six minutes", "gpu-1 will burn after 1 other of its rack", "gpu-2 will burn after 2 others of its rack")[i]}
    assert ask(fleet, "other-0").status == 200
    first = order_of(fleet, "gpu-0")
    begun = time.monotonic()
    assert first["kind"] == "deep" and first["id"].startswith("burn-") and first["deadline"] > first["now"]
    assert order_of(fleet, "gpu-0") is None and order_of(fleet, "gpu-1") is None
    assert order_of(fleet, "other-0"), "another rack"
    assert wait_for(lambda: order_of(fleet, "gpu-1"), WAIT_S) and time.monotonic() - begun > 9
    assert fleet.post(report("gpu-0", 2, profile="burn", order={"id": first["id"], "kind": "deep"})).status == 202
    assert wait_for(lambda: order_of(fleet, "gpu-2"), WAIT_S)
    assert time.monotonic() - begun > 18


def test_who_is_in_service_or_waits_already_is_refused_with_the_reason(fleet):
    answer = ask(fleet, "gpu-3")
    assert answer.status == 409 and "gpu-3 is in service, and only hosts out of service are burned: cordon it first" in answer.json["detail"]
    assert ask(fleet, "nobody").status == 404
    assert ask(fleet, "gpu-0", body={}).status == 422
    assert ask(fleet, "gpu-0", body={"reason": "x", "budget": 1}).status == 422
    assert ask(fleet, "gpu-0", body={**REASON, "dry_run": True}).json["sentence"] == "gpu-0 would be burned"
    assert order_of(fleet, "gpu-0") is None
    assert ask(fleet, "gpu-0").status == 200 and ask(fleet, "gpu-0").status == 409


def test_a_host_that_is_given_back_before_is_not_burned(fleet):
    assert ask(fleet, "gpu-0").status == 200
    assert ask(fleet, "gpu-0", "uncordon").status == 200
    assert order_of(fleet, "gpu-0") is None
    assert ask(fleet, "gpu-0").status == 409
