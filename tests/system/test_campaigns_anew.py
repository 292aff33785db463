# SPDX-License-Identifier: Apache-2.0
"""Campaigns under external events: the controller stops, or the kernel's random generator is not ready."""
import contextlib
import json
import sqlite3
import subprocess

import pytest

from campaign_hosts import fabric  # noqa: F401
from fixtures_controller import controller, sample  # noqa: F401
from test_disk_full import disk  # noqa: F401
from waiting import wait_for

NAMES = [f"gpu-{i}" for i in range(4)]


def end(f, controller, clean=False):
    """Kills or stops the controller, and starts another with its store. Hosts reconnect on their own."""
    f.c.stop() if clean else f.c.kill()
    f.c = controller(*f.args)


def last_row(f):
    """The row of the latest campaign, after the controller has stopped, because its store cannot be read while it runs."""
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        (body,), = db.execute("SELECT body FROM campaigns ORDER BY id DESC LIMIT 1")
    return json.loads(body)


def groups_of(campaign):
    return [g for r in campaign["rounds"] for g in r["groups"]]


def ids_of(f):
    return [o["id"] for h in f.hosts.values() for o in h.orders]


@pytest.mark.parametrize("clean", [True, False])
def test_a_campaign_goes_on_when_its_controller_is_started_anew(fabric, controller, clean):
    """All had their orders and none had answered: the group is measured again when the old order has expired."""
    f = fabric("collectives: {timeout: 2s}")
    f.add(*NAMES)
    f.hosts["gpu-3"].part = 0.5
    for host in f.hosts.values():
        host.way = "silent"
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: all(h.orders for h in f.hosts.values()))
    tokens = {o["token"] for h in f.hosts.values() for o in h.orders}
    end(f, controller, clean)
    for host in f.hosts.values():
        host.way = "obeys"
    assert wait_for(lambda: f.show(number)["state"] != "running"), f.show(number)
    done = f.show(number)
    assert done["state"] == "done" and done["resumed"] == 1
    assert [b["node"] for b in done["blames"] if b["kind"] == "node"] == ["gpu-3"]
    assert all(g["state"] == "measured" for g in groups_of(done)) and not [n for n in done["nodes"] if n["gone"]]
    ids = ids_of(f)
    assert len(ids) == len(set((h.name, o["id"]) for h in f.hosts.values() for o in h.orders)), "no order is told twice"
    assert any(i.endswith("-2") and i.count("-") == 4 for i in ids), "the first round ran anew under another id"
    later = {o["token"] for h in f.hosts.values() for o in h.orders if o["id"].count("-") == 4}
    assert later and not later & tokens, "and with another secret"
    assert "kept" not in done
    f.c.stop()
    assert last_row(f) == done


def test_what_was_answered_before_and_after_a_kill_counts(fabric, controller):
    """One of two has answered, and its report is acknowledged: it is not ordered again."""
    f = fabric("collectives: {timeout: 1h}")
    f.add(*NAMES[:2])
    f.hosts["gpu-1"].way = "silent"
    number = f.begin(nodes=NAMES[:2])["id"]
    assert wait_for(lambda: f.hosts["gpu-1"].orders and f.hosts["gpu-0"].answered)
    f.c.kill()
    assert sorted(s["answered"] for s in last_row(f)["kept"]["groups"][0]["sides"]) == [False, True]
    f.c = controller(*f.args)
    first = f.hosts["gpu-1"].orders[0]
    f.hosts["gpu-1"].way = "obeys"
    f.hosts["gpu-1"].answer(first)
    assert wait_for(lambda: groups_of(f.show(number))[0]["state"] == "measured"), f.show(number)
    assert wait_for(lambda: f.show(number)["state"] == "done")
    assert ids_of(f).count(first["id"]) == 2, "each of the two was told once"


def test_no_secret_of_a_group_is_in_the_store(fabric):
    f = fabric()
    f.add(*NAMES)
    for host in f.hosts.values():
        host.way = "silent"
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: all(h.orders for h in f.hosts.values()))
    assert "kept" not in f.show(number)
    assert all("kept" not in c for c in f.c.get("/v1/campaigns").json["items"])
    f.c.kill()
    assert last_row(f)["kept"]["groups"]
    for host in f.hosts.values():
        found = [p.name for p in f.c.db.parent.glob(f.c.db.name + "*") if host.orders[0]["token"].encode() in p.read_bytes()]
        assert not found


def test_kills_at_any_time_leave_a_campaign_that_ends(fabric, controller):
    f = fabric("collectives: {timeout: 2s}")
    f.add(*NAMES)
    f.hosts["gpu-2"].part = 0.5
    number = f.begin(nodes=NAMES)["id"]
    for orders in (1, 5, 6):
        wait_for(lambda n=orders: len(ids_of(f)) >= n or f.show(number)["state"] != "running")
        end(f, controller)
    assert wait_for(lambda: f.show(number)["state"] != "running"), f.show(number)
    done = f.show(number)
    assert done["state"] == "done" and [b["node"] for b in done["blames"] if b["kind"] == "node"] == ["gpu-2"], done
    assert wait_for(lambda: [a["node"] for a in f.c.get("/v1/actions").json["items"] if a["action"] == "cordon" and a["state"] == "done"] == ["gpu-2"])


def test_one_that_may_be_what_ends_the_controller_is_given_up_in_words(fabric, controller):
    f = fabric("collectives: {timeout: 1h}")
    f.add(*NAMES)
    for host in f.hosts.values():
        host.way = "silent"
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: all(h.orders for h in f.hosts.values()))
    for times in range(1, 5):
        end(f, controller)
        left = f.show(number)
        assert (left["state"], left["resumed"]) == (("running", times) if times < 4 else ("abandoned", 3))
    assert left["ended"] and "in round 1: the controller restarted 4 times while it ran" in left["sentence"]
    assert f.c.metrics()["assay_campaigns_running"] == 0
    for host in f.hosts.values():
        host.way = "obeys"
    assert wait_for(lambda: all(f.c.get(f"/v1/nodes/{n}").json["connection"] == "connected" for n in NAMES))
    assert f.play(nodes=NAMES)["state"] == "done"


def test_one_that_cannot_be_read_is_given_up_in_words(fabric, controller):
    f = fabric("collectives: {timeout: 1h}")
    f.add(*NAMES)
    for host in f.hosts.values():
        host.way = "silent"
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: all(h.orders for h in f.hosts.values()))
    f.c.kill()
    with contextlib.closing(sqlite3.connect(f.c.db)) as db, db:
        db.execute("UPDATE campaigns SET body = json_set(body, '$.kept.hosts[1].name', 7)")
    f.c = controller(*f.args)
    left = f.show(number)
    assert left["state"] == "abandoned" and "hosts[1].name" in left["sentence"], left


def test_the_test_that_the_policy_wants_goes_on_over_a_kill(fabric, controller):
    """No second campaign is started for it, and the rule gets its result."""
    f = fabric("labels: [{nodes: 'gpu-*', labels: {fabric.topograph.run/tier-0: leaf-1}}]", "collectives: {timeout: 2s}")
    f.add(*NAMES)
    for host in f.hosts.values():
        host.way = "silent"
    f.hosts["gpu-2"].part = 0.5
    flaps = sample("rnic.flapping", "mlx5_0:1", 3, "1", better="lower", ok=False, severity="warn", code="pair-test")
    assert f.hosts["gpu-2"].report(samples=[flaps]).status == 202
    assert wait_for(lambda: all(h.orders for h in f.hosts.values()))
    end(f, controller)
    for host in f.hosts.values():
        host.way = "obeys"
    assert wait_for(lambda: f.show(1)["state"] == "done"), f.show(1)
    assert f.show(1)["resumed"] == 1 and f.show(1)["who"] == "automatic"

    def retests():
        return [a for a in f.c.get("/v1/actions?node=gpu-2").json["items"] if a["action"] == "retest"]
    assert wait_for(lambda: retests() and retests()[-1]["state"] == "done"), retests()
    assert retests()[-1]["result"] == "it failed again"
    assert len(f.c.get("/v1/campaigns").json["items"]) == 1


def test_one_that_could_not_be_kept_is_not_begun(fabric, disk):  # noqa: F811
    """The client got an error, so it must not run later."""
    disk.mount("size=4m")
    f = fabric(db=disk.path / "assay.db")
    f.add(*NAMES)
    disk.fill()
    assert "could not be stored" in f.begin(503, nodes=NAMES)["detail"]
    disk.clear()
    body = json.dumps({"reason": "once more", "nodes": NAMES}).encode()
    assert wait_for(lambda: f.c.call("POST", "/v1/campaigns", body).status == 202)
    assert wait_for(lambda: all(c["state"] == "done" for c in f.c.get("/v1/campaigns").json["items"]))
    assert [c["reason"] for c in f.c.get("/v1/campaigns").json["items"]] == ["once more"]


@pytest.fixture
def late_kernel(build, configured, tmp_path):
    """(environment, file): while the file exists the kernel's random generator is not ready (tests/fakes/random_late.c)."""
    if configured("enable-sanitizers"):
        pytest.skip("a library cannot be loaded before that of the sanitizers")
    name = "tests/fakes/random_late.so"
    subprocess.run(["make", "-s", "-C", str(build), name], check=True, capture_output=True)
    path = tmp_path / "not-seeded"
    path.write_text("")
    return {"LD_PRELOAD": str(build / name), "ASSAY_RANDOM_LATE": str(path)}, path


def test_no_secret_comes_from_a_kernel_that_is_not_seeded(fabric, late_kernel):
    env, path = late_kernel
    f = fabric(env=env)
    f.add(*NAMES)
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: f.show(number)["rounds"])
    for _ in range(3):  # it retries each second
        before = f.c.metrics()["assay_campaigns_running"]
        assert before == 1 and not ids_of(f) and {g["state"] for g in groups_of(f.show(number))} == {"waiting"}
    path.unlink()
    assert wait_for(lambda: f.show(number)["state"] == "done")
    assert f.show(number)["blames"] == []


def test_a_kernel_that_is_never_seeded_ends_a_campaign_with_the_reason(fabric, late_kernel):
    env, _ = late_kernel
    f = fabric("collectives: {timeout: 1s}", env=env)
    f.add(*NAMES)
    number = f.begin(nodes=NAMES)["id"]
    assert wait_for(lambda: f.show(number)["state"] != "running")
    left = f.show(number)
    assert left["state"] == "abandoned" and "random number generator is not seeded yet" in left["sentence"], left
    assert not ids_of(f) and not [n for n in left["nodes"] if n["gone"]]
