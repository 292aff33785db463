# SPDX-License-Identifier: Apache-2.0
"""The controller is down for two days: spooled reports arrive once and in order, and count as of when they were measured."""
import datetime
import json

import pytest
from assayd_fixtures import assayd, assayd_path, config, stub  # noqa: F401
from clock_fixtures import DAY, HOUR, MIN, clock, clock_shift  # noqa: F401
from conftest import sample
from fixtures_controller import controller  # noqa: F401
from waiting import wait_for

UP = 10 * DAY  # the host has been up for longer than the outage
LAST = 90 * MIN  # age of the last run in the spool
NODE = "n1"
SKU = json.dumps({"v": 1, "sku": "test-host", "match": {"product": "*"}})


@pytest.fixture
def host(run, profiles, script, tmp_path, clock):
    """host(ago=3600, slow=True) runs `assay run --report` that many seconds ago on a host with eight cores.

    host.later: how far the host's clocks are ahead of the test's, for time that has passed."""
    rates = [[sample("gemm.rate", f"cpu:{i}", 70e9 + i * 1e8 - slow * (i == 3) * 50e9, unit="FLOP/s") for i in range(8)]
             for slow in (0, 1)]
    flag, sku = tmp_path / "slow", tmp_path / "sku.yaml"
    sku.write_text(SKU)
    text = "if [ -e '%s' ]; then cat <<'EOF'\n%s\nEOF\nelse cat <<'EOF'\n%s\nEOF\nfi\n"
    probe = script("probe", text % (flag, "\n".join(rates[1]), "\n".join(rates[0])))
    file = profiles(passive=[{"name": "gemm", "exec": probe, "active": False}],
                    quick=[{"name": "gemm", "exec": probe, "active": False}])

    def once(ago, slow=False, profile="passive"):
        clock.set(once.later - ago, once.later + UP - ago)
        flag.touch() if slow else flag.unlink(missing_ok=True)
        out = run("assay", "run", "--profile", profile, "--profiles", file, "--sku", sku, "--report", "-o", "json",
                  env={**clock.env(), "ASSAY_NODE": NODE})
        clock.set(once.later, once.later + UP)
        assert out.returncode == (1 if slow else 0) and out.stderr == "", out.stdout + out.stderr
        return json.loads(out.stdout)["report"]

    once.later = 0
    return once


def two_days(host, full, slow=lambda ago: False):
    """Passive runs of two days (every five minutes, or fewer) and a quick one every six hours, up to LAST ago."""
    step = 5 * MIN if full else 90 * MIN
    sent = []
    for ago in range(2 * DAY, LAST - 1, -step):
        sent.append(host(ago, slow(ago)))
        if ago % (6 * HOUR) == 0:
            sent.append(host(ago - 1, slow(ago), "quick"))
    return sent


def stamp(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def deliver(assayd, config, clock, c, spool):
    """Start the host's daemon and wait until the spool is empty."""
    config(controller=f"http://127.0.0.1:{c.port}")
    daemon = assayd(env=clock.env())
    assert wait_for(lambda: not list(spool.glob("*.json")), 60), daemon.log()
    return daemon


def test_two_days_of_spool_count_as_of_when_they_were_measured(host, assayd, config, clock, controller, tmp_path, full):
    """Yesterday's fault that is gone opens no incident and enters no baseline; and silence since then does not mean healthy."""
    sent = two_days(host, full, slow=lambda ago: DAY <= ago <= DAY + 12 * HOUR)
    c = controller()
    daemon = deliver(assayd, config, clock, c, tmp_path / "state" / "spool")
    node = c.get(f"/v1/nodes/{NODE}").json
    assert node["stale"] and node["verdict"] == "inconclusive" and node["last_verdict"] == "pass"
    assert abs(node["age_s"] - LAST) < 300 and abs(node["clock_skew_s"]) < 60
    assert c.metrics()['assay_nodes{verdict="inconclusive"}'] == 1
    assert c.get("/v1/incidents").json["items"] == []
    assert c.get("/v1/baselines").json["items"] == []
    history, cursor = [], ""
    while cursor is not None:
        page = c.get(f"/v1/nodes/{NODE}/verdicts?limit=1000{cursor and '&cursor=' + cursor}").json
        history, cursor = history + page["items"], page["next"]
    assert [h["seq"] for h in reversed(history)] == [r["seq"] for r in sent] == list(range(1, len(sent) + 1))
    assert {h["verdict"] for h in history} == {"pass", "fail"}
    for kept, report in zip(reversed(history), sent):
        assert kept["seq"] == report["seq"] and abs(stamp(kept["seen"]) - stamp(report["time"])) < 120
    # today's run is judged at once, and enters the baseline
    host(0)
    assert wait_for(lambda: not c.get(f"/v1/nodes/{NODE}").json["stale"]), daemon.log()
    node = c.get(f"/v1/nodes/{NODE}").json
    assert node["verdict"] == "pass" and node["age_s"] < 300
    assert [b["hosts"] for b in c.get("/v1/baselines").json["items"]] == [1]
    assert c.get("/v1/incidents").json["items"] == []


def test_a_fault_that_began_yesterday_and_is_still_there_opens_one_incident_now(host, assayd, config, clock, controller, tmp_path, full):
    two_days(host, full, slow=lambda ago: ago <= DAY)
    c = controller()
    daemon = deliver(assayd, config, clock, c, tmp_path / "state" / "spool")
    assert c.get("/v1/incidents").json["items"] == []
    host(0, slow=True)
    assert wait_for(lambda: c.get("/v1/incidents").json["items"]), daemon.log()
    incident, = c.get("/v1/incidents").json["items"]
    now = stamp(c.get(f"/v1/nodes/{NODE}").json["seen"])
    assert incident["state"] == "open" and incident["check"] == "gemm.rate" and incident["subject"] == "cpu:3"
    assert "bad in 3 of the last 3 runs" in incident["sentence"]
    assert abs(stamp(incident["opened"]) - now) < 60
    item, = c.get(f"/v1/nodes/{NODE}/why").json["items"]
    assert abs(now - stamp(item["windows"]["since"]) - DAY) < 300


def test_a_fault_that_yesterday_cured_is_closed_by_todays_first_good_run(host, assayd, config, clock, controller, tmp_path):
    """Its incident was open before the outage, and the fault was repaired during it."""
    c = controller()
    spool = tmp_path / "state" / "spool"
    clock.set(boot=UP)
    deliver(assayd, config, clock, c, spool)
    for _ in range(2):
        host(0, slow=True)
    assert wait_for(lambda: c.get("/v1/incidents?state=open").json["items"])
    listen = f"127.0.0.1:{c.port}"
    c.stop()
    host.later = 2 * DAY
    for ago in (47 * HOUR, 30 * HOUR, 20 * HOUR, 10 * HOUR):
        host(ago)
    c = controller("--listen", listen)
    assert wait_for(lambda: not list(spool.glob("*.json")), 60)
    assert [i["state"] for i in c.get("/v1/incidents").json["items"]] == ["open"]
    host(0)
    assert wait_for(lambda: not c.get("/v1/incidents?state=open").json["items"])
