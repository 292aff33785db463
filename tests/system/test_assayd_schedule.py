# SPDX-License-Identifier: Apache-2.0
"""assayd without systemd: it runs the profiles at their intervals."""
import json

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from conftest import sample


def moment(profile, node, period_s):
    """The host's offset within the period: FNV-1a of "PROFILE NODE"."""
    h = 2166136261
    for byte in f"{profile} {node}".encode():
        h = (h ^ byte) * 16777619 % 2**32
    return h % period_s


@pytest.fixture
def scheduled(assayd, config, says, tmp_path):
    """scheduled(period_s) starts assayd with a profile `passive` on a host that catches up on missed runs at once. Returns (daemon, node)."""
    policies = tmp_path / "policies"
    policies.mkdir()

    def start(**schedule):
        probe = {"name": "p", "exec": str(says("p", sample())), "budget": "5s", "active": False}
        names = ("passive", "quick", "full")
        (policies / "profiles.yaml").write_text(json.dumps({"v": 1, "profiles": {n: {"budget": "90s", "probes": [probe]} for n in names}}))
        node = next(f"n{i}" for i in range(10000) if moment("passive", f"n{i}", 300) % 60 == 0 and 120 <= moment("passive", f"n{i}", 300) <= 240)
        config(node=node, schedule=schedule)
        return assayd(env={"ASSAY_POLICY_DIR": str(policies), "ASSAY_NODE": node}), node

    start.last = tmp_path / "state/last/passive.json"
    return start


def test_what_was_not_run_since_the_boot_is_run_at_once_and_its_report_arrives(scheduled, stub, wait_until):
    _, node = scheduled(passive="5m")
    wait_until(lambda: any(key[0] == node for key in stub.stored))
    report = next(r for key, r in stub.stored.items() if key[0] == node)
    assert report["profile"] == "passive" and [s["check"] for s in report["samples"]] == ["test.rate"]
    assert scheduled.last.exists()


def test_nothing_is_run_that_is_not_scheduled_or_was_run_just_now(scheduled, stub, assayd, wait_until):
    daemon, node = scheduled(passive="5m")
    wait_until(lambda: stub.stored)
    daemon.terminate()
    assert daemon.wait(timeout=60) == 0
    again, _ = scheduled(passive="5m")  # its next moment is in minutes
    wait_until(lambda: stub.held)
    time_of_last = scheduled.last.stat().st_mtime_ns
    again.terminate()
    assert again.wait(timeout=60) == 0
    assert scheduled.last.stat().st_mtime_ns == time_of_last
    assert {r["profile"] for r in stub.stored.values()} == {"passive"}


def test_while_disabled_nothing_is_run(scheduled, stub, wait_until, tmp_path):
    (tmp_path / "conf" / "disabled").touch()
    daemon, _ = scheduled(passive="5m")
    wait_until(lambda: "nothing is sent and no order" in daemon.log())
    assert not scheduled.last.exists()
    (tmp_path / "conf" / "disabled").unlink()
    wait_until(lambda: stub.stored)


@pytest.mark.parametrize("schedule,words", [
    ({"passive": "30s"}, "schedule.passive: 30s is outside 1m to 30d"), ({"quick": "31d"}, "schedule.quick: "),
    ({"deep": "1h"}, "schedule.deep: "), ({"full": 60}, "schedule.full: ")])
def test_a_schedule_that_cannot_be_is_refused(run, assayd_path, config, schedule, words):
    config(schedule=schedule)
    out = run("assayd", "--check")
    assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1
