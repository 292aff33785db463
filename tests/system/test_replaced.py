# SPDX-License-Identifier: Apache-2.0
"""A machine replaced under the same name, two machines under one name: none is judged by the results of another."""
import json

import pytest
from conftest import sample as line
from fake_host import FakeHost
from fixtures_controller import controller, report, sample  # noqa: F401

HOUR = 3600


class Machine:
    """Reports of one machine named gpu-1, in one boot; `ago` seconds old when sent."""

    def __init__(self, c, machine, boot, **more):
        self.c, self.machine, self.boot, self.more, self.seq = c, machine, boot, more, 0

    def send(self, slow=False, ago=1.0, **more):
        self.seq += 1
        rates = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8 - slow * (i == 3) * 50e9) for i in range(8)]
        env = {"kernel": "6.1.0", **({"machine": self.machine} if self.machine else {})}
        value = {**report(seq=self.seq, boot_id=self.boot, samples=rates, env=env), **self.more, **more}
        answer = self.c.post(value, headers={"Assay-Age": str(ago)})
        assert answer.status == 202, answer.body


def incidents(c, state="all"):
    return [(i["check"], i["state"]) for i in c.get(f"/v1/incidents?state={state}").json["items"]]


def node(c):
    return c.get("/v1/nodes/gpu-1").json


@pytest.mark.parametrize("new", [{"machine": "b:2222222222222222"}, {"sku": "hgx-h200"}])
def test_another_machine_under_the_name_begins_anew(controller, new):
    c = controller()
    old = Machine(c, "b:1111111111111111", "boot-a")
    for _ in range(3):
        old.send(slow=True)
    assert incidents(c) == [("gemm.rate", "open")]
    fresh = Machine(c, new.get("machine", old.machine), "boot-b", **{k: v for k, v in new.items() if k == "sku"})
    fresh.send(slow=True)  # the first of two: results of the old one do not count
    assert incidents(c, "open") == [] and ("host.replaced", "closed") in incidents(c)
    assert node(c)["boot_id"] == "boot-b"
    event, = [i for i in c.get("/v1/incidents").json["items"] if i["check"] == "host.replaced"]
    assert "another machine" in event["sentence"] and event["action"] == "observe"
    assert len(c.get("/v1/nodes/gpu-1/verdicts").json["items"]) == 4  # history stays
    fresh.send(slow=True)
    assert incidents(c, "open") == [("gemm.rate", "open")]


def test_what_the_old_machine_had_is_missing_from_nobody(controller):
    c = controller()
    old = Machine(c, "b:1111111111111111", "boot-a")
    old.send()
    old.send(samples=[sample("memory.copy_bw", "numa:0", 1e9, "B/s")])
    assert node(c)["verdict"] == "inconclusive"  # gemm.rate is missing
    Machine(c, "b:2222222222222222", "boot-b").send(samples=[sample("memory.copy_bw", "numa:0", 1e9, "B/s")])
    assert node(c)["verdict"] == "pass"


def test_what_the_old_machine_reached_is_no_baseline_any_more(controller):
    c = controller()
    Machine(c, "b:1111111111111111", "boot-a").send()
    assert [b["hosts"] for b in c.get("/v1/baselines").json["items"]] == [1]
    Machine(c, "b:2222222222222222", "boot-b").send(samples=[sample("memory.copy_bw", "numa:0", 1e9, "B/s")])
    assert {b["check"]: b["hosts"] for b in c.get("/v1/baselines").json["items"]} == {"memory.copy_bw": 1}


def test_a_reboot_or_a_run_that_is_not_roots_is_no_replacement(controller):
    c = controller()
    Machine(c, "b:1111111111111111", "boot-a").send(slow=True)
    Machine(c, "b:1111111111111111", "boot-b").send(slow=True)
    assert incidents(c) == [("gemm.rate", "open")]
    Machine(c, "m:3333333333333333", "boot-c").send()
    Machine(c, None, "boot-d").send()
    assert incidents(c) == [("gemm.rate", "open")]


@pytest.mark.parametrize("other", ["b:2222222222222222", "b:1111111111111111"])
def test_two_machines_under_one_name_are_told_and_neither_is_judged(controller, other):
    """One of them is slow. In the second case they differ only in the boot."""
    c = controller()
    a, b = Machine(c, "b:1111111111111111", "boot-a"), Machine(c, other, "boot-b")
    a.send(ago=600)
    b.send(slow=True, ago=300)
    for ago in (200, 150, 100, 50):
        a.send(ago=ago)
        b.send(slow=True, ago=ago - 10)
    assert incidents(c, "open") == [("host.identity", "open")]
    incident, = [i for i in c.get("/v1/incidents").json["items"] if i["state"] == "open"]
    assert incident["action"] == "observe" and "two machines report as gpu-1" in incident["sentence"]
    assert incident["verdict"] == "warn" and not incident["fatal"]
    seen = node(c)
    assert seen["verdict"] == "inconclusive" and "two machines" in seen["sentence"]
    assert len(c.get("/v1/nodes/gpu-1/verdicts").json["items"]) == 10  # nothing is lost
    # still known after a restart
    listen = f"127.0.0.1:{c.port}"
    c.stop()
    c = controller("--listen", listen)
    b.c = c
    b.send(slow=True)
    b.send(slow=True)
    assert incidents(c, "open") == [("host.identity", "open")] and node(c)["verdict"] == "inconclusive"


def test_what_a_replaced_machine_left_in_its_spool_is_history(controller):
    """It arrives after the new one's first report, but was measured before it."""
    c = controller()
    a, b = Machine(c, "b:1111111111111111", "boot-a"), Machine(c, "b:2222222222222222", "boot-b")
    a.send(ago=7 * HOUR)
    b.send(ago=60)
    a.send(slow=True, ago=6 * HOUR)
    a.send(slow=True, ago=5 * HOUR)
    assert incidents(c, "open") == [] and node(c)["verdict"] == "pass" and node(c)["boot_id"] == "boot-b"


def test_a_machine_that_was_gone_for_a_while_and_goes_on_is_the_host_again(controller):
    """A wrong name that was corrected: the other machine reported once, hours ago."""
    c = controller()
    a, b = Machine(c, "b:1111111111111111", "boot-a"), Machine(c, "b:2222222222222222", "boot-b")
    a.send(ago=7 * HOUR)
    b.send(ago=6 * HOUR)
    a.send(ago=1)
    assert node(c)["boot_id"] == "boot-a" and node(c)["verdict"] == "pass"
    assert incidents(c, "open") == []


@pytest.fixture
def disk(run, says, profiles, tmp_path):
    """disk("BOARD") moves this state directory to the machine with that board; disk.measure(), disk.admit()."""
    fake = FakeHost(tmp_path / "root")
    good, bad = (profiles_of(says, profiles, tmp_path, ok) for ok in (True, False))

    def move(board):
        fake.write("/sys/class/dmi/id/board_serial", board)

    def env():
        return {"ASSAY_SYSROOT": str(fake.root), "ASSAY_NODE": "gpu-1"}

    def measure(fatal=False, profile="quick"):
        out = run("assay", "run", "--profile", profile, "--profiles", bad if fatal else good, "--busy", "run", "-o", "json", env=env())
        assert out.stderr == ""
        return json.loads(out.stdout)

    move.measure, move.admit = measure, lambda: json.loads(run("assay", "admit", "-o", "json", env=env()).stdout)
    return move


def profiles_of(says, profiles, tmp_path, ok):
    probe = says(f"probe-{ok}", line("gemm.correct", "cpu:0", 1, unit="1", better="none", ok=ok, severity="fatal"),
                 *[line("gemm.rate", f"cpu:{i}", 70e9, unit="FLOP/s") for i in range(8)])
    path = profiles(quick=[{"name": "gemm", "exec": probe}], full=[{"name": "gemm", "exec": probe}])
    return path.rename(tmp_path / f"profiles-{ok}.yaml")


def test_a_disk_that_was_moved_brings_no_verdict_along(disk):
    """A fatal finding of the machine that was sent away, and its history of values."""
    disk("CN7016345A")
    first = disk.measure(fatal=True, profile="full")
    assert first["report"]["env"]["machine"].startswith("b:") and disk.admit()["answer"] == "bad"
    disk("CN7016345B")
    answer = disk.admit()
    assert answer["answer"] == "unknown" and "another machine" in answer["reasons"][0], answer
    second = disk.measure()
    assert second["report"]["env"]["machine"] != first["report"]["env"]["machine"]
    assert second["report"]["seq"] == first["report"]["seq"] + 1
    assert disk.admit()["answer"] == "ok"
    disk("CN7016345A")
    assert disk.admit()["answer"] == "unknown"
