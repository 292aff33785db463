# SPDX-License-Identifier: Apache-2.0
"""A check without a measurement clears no finding: the controller's verdict on a host whose probes gave way."""
import sqlite3

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401

FATAL = {"value": 0.0, "unit": "1", "ok": False, "severity": "fatal", "note": "wrong data"}
EIGHT = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)]
WRONG = EIGHT + [sample("gemm.correct", "cpu:0", **FATAL)]
RIGHT = EIGHT + [sample("gemm.correct", "cpu:0", value=1.0, unit="1", ok=True)]
STATE = [sample("host.ntp", "host", value=1.0, unit="1", ok=True)]
# gemm runs and has to give way; gemm does not run
ABORTED = STATE + [{**s, "value": None, "ok": None, "state": "aborted"} for s in WRONG]


def problem(code, probe="gemm"):
    return [{"probe": probe, "code": code, "detail": f"{probe} is {code}"}]


class Host:
    def __init__(self, c, name="gpu-1"):
        self.c, self.name, self.seq = c, name, 0

    def send(self, samples, **more):
        self.seq += 1
        answer = self.c.post(report(self.name, seq=self.seq, samples=samples, **more))
        assert answer.status == 202, answer.body
        return self

    def why(self):
        return self.c.get(f"/v1/nodes/{self.name}/why").json

    def items(self):
        return {(i["check"], i["subject"]): i["verdict"] for i in self.why()["items"]}


NOTHING_MEASURED = {
    **{code: (STATE, problem(code)) for code in ("busy", "timeout", "crashed", "set-up", "empty")},
    "aborted": (ABORTED, []),
}


@pytest.mark.parametrize("how", NOTHING_MEASURED)
def test_a_run_that_measured_nothing_clears_nothing(controller, how):
    samples, problems = NOTHING_MEASURED[how]
    c = controller()
    host = Host(c).send(STATE + WRONG)
    for _ in range(3):
        host.send(samples, problems=problems)
        why = host.why()
        assert why["verdict"] == "fail" and "gemm.correct" in why["sentence"]
        item, = [i for i in why["items"] if i["check"] == "gemm.correct"]
        assert item["verdict"] == "fail" and item["fatal"] and item["profile"] == "quick"
    listen = f"127.0.0.1:{c.port}"
    c.stop()
    host.c = controller("--listen", listen)
    host.send(samples, problems=problems)
    assert host.items()["gemm.correct", "cpu:0"] == "fail", "after a restart too"
    host.send(STATE + RIGHT)
    assert host.items() == {} and host.why()["verdict"] == "pass"


def test_what_is_kept_is_cleared_by_another_profile(controller):
    host = Host(controller()).send(STATE + WRONG).send(STATE, problems=problem("busy"))
    host.send(RIGHT, profile="full")
    assert ("gemm.correct", "cpu:0") not in host.items()
    host.send(STATE, problems=problem("busy"))
    assert host.items() == {("probe.gemm", "gpu-1"): "inconclusive"}


def test_a_pass_that_is_kept_stands_before_older_profiles(controller):
    host = Host(controller()).send(WRONG, profile="full").send(STATE + RIGHT)
    host.send(STATE, problems=problem("busy"))
    assert host.items() == {("probe.gemm", "gpu-1"): "inconclusive"}


def test_what_was_kept_is_missing_when_it_is_gone(controller):
    host = Host(controller()).send(STATE + RIGHT).send(STATE, problems=problem("busy"))
    host.send(STATE + [s for s in RIGHT if s["subject"] != "cpu:7"])
    assert host.items() == {("gemm.rate", "cpu:7"): "inconclusive"}


def test_of_a_device_that_is_gone_what_was_fatal_stands(controller):
    """A check that had values before and is now "not applicable" counts as missing, and missing clears nothing."""
    host = Host(controller()).send(STATE + WRONG).send(STATE, problems=problem("not-applicable"))
    missing = {("gemm.rate", f"cpu:{i}"): "inconclusive" for i in range(8)}
    assert host.items() == {("gemm.correct", "cpu:0"): "fail", **missing}


def test_nothing_is_kept_of_a_machine_that_is_gone(controller):
    env = {"kernel": "6.1.0", "machine": "b:1111111111111111"}
    host = Host(controller()).send(STATE + WRONG, env=env).send(STATE, problems=problem("busy"), env=env)
    host.send(STATE, problems=problem("busy"), boot_id="b1", env={**env, "machine": "b:2222222222222222"})
    assert host.items() == {("probe.gemm", "gpu-1"): "inconclusive"}


def test_earlier_runs_that_are_kept_are_bounded(controller):
    """Each run fails in a different probe, which is busy in all later runs."""
    c = controller()
    host = Host(c)
    for last in range(20):
        samples = STATE + [sample(f"p{last}.rate", f"disk:{last}", **FATAL)]
        host.send(samples, problems=[p for i in range(last) for p in problem("busy", f"p{i}")])
    bad = [s for (check, s) in host.items() if check.endswith(".rate")]
    assert sorted(bad) == sorted(f"disk:{i}" for i in range(11, 20)), "the newest, and eight before it"
    c.stop()
    kept, = sqlite3.connect(c.db).execute("SELECT length(kept) FROM runs").fetchone()
    assert kept < 20000
