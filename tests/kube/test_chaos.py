# SPDX-License-Identifier: Apache-2.0
"""The API server, or the path to it, is faulty: the controller converges, cordons nothing twice, lifts only our own cordons, and
decides nothing on stale state."""
import json

import pytest
from acting import SHORT_LEASE

NODES = [f"gpu-{i}" for i in range(6)]
LONG_S = 150  # an outage plus the longest pause between two attempts
OTHERS = "gpu-5"  # cordoned by a person
SLOW_S = 10


def begin(acting, **more):
    a = acting.start(NODES, **more)
    a.kube.kubectl("cordon", OTHERS)
    a.take_out("gpu-0")
    return a


def converge(a, *names):
    """Each of them is cordoned once, gpu-0 returns when it is good, and a person's change stays."""
    for name in names:
        assert a.until(lambda: a.is_out(name), LONG_S), a.words(name)
    a.give_back("gpu-0", LONG_S)
    a.finish(once=("gpu-0", *names), ended=True)
    assert a.kube.admin.cordoned() == {OTHERS, *names} and a.mark(OTHERS) is None


def metric(a, name):
    return a.ask(lambda c: c.metrics())[name]


def actions(a, node, state=None):
    items = a.ask(lambda c: c.get("/v1/actions")).json["items"]
    return [i for i in items if i["node"] == node and state in (None, i["state"])]


# ---- the path --------------------------------------------------------------------------

# The mode, and the evidence that it lasted long enough.
TRICKS = {"busy": ({"retry_after": 1}, "busy", 8), "conflict": ({}, "conflict", 2), "cut": ({}, "cut", 2), "drop": ({}, "drop", 2),
          "gone": ({}, "gone", 2), "slow": ({"seconds": SLOW_S}, "slowed", 1)}


@pytest.mark.some(2)
@pytest.mark.parametrize("mode", TRICKS)
def test_a_bad_way_delays_and_breaks_nothing(kube, way, acting, mode):
    options, shown, times = TRICKS[mode]
    a = begin(acting, url=way.url, env=SHORT_LEASE)
    way.set(mode, **options)
    a.host("gpu-1").report(ok=False)
    a.host("gpu-0").report(ok=True)
    if mode == "conflict":  # every second patch succeeds, so it need not end
        converge(a, "gpu-1")
    elif mode == "gone":
        a.kube.kubectl("label", "node", "gpu-2", "a=b")
    assert a.until(lambda: way.did[shown] >= times, LONG_S), a.c.log()
    a.host("gpu-2").report(ok=False)
    way.set("pass")
    converge(a, "gpu-1", "gpu-2")


def test_a_token_that_ends_is_read_again(kube, way, acting, tmp_path):
    token = tmp_path / "token"
    token.write_text("ctl-token")
    a = begin(acting, url=way.url, env=SHORT_LEASE, tokenFile=token)
    way.set("expired", old="ctl-token", token=kube.mint(seconds=-3600))
    a.host("gpu-1").report(ok=False)
    assert a.until(lambda: way.did["expired"] >= 2, LONG_S), a.c.log()
    assert kube.admin.cordoned() == {"gpu-0", OTHERS}
    token.write_text(kube.mint())
    converge(a, "gpu-1")


# ---- the server ------------------------------------------------------------------------


def test_a_server_that_hangs_ends_and_gets_another_ca(kube_own, acting_on):
    a = begin(acting_on(kube_own))
    kube_own.pause()
    a.host("gpu-1").report(ok=False)
    assert a.until(lambda: metric(a, "assay_actions_under_way") >= 1 or a.ended, LONG_S), a.c.log()
    kube_own.resume()
    assert a.until(lambda: a.is_out("gpu-1"), LONG_S), a.words("gpu-1")
    kube_own.stop()
    assert a.until(lambda: metric(a, "assay_cluster_stale") == 1, LONG_S), a.c.log()
    a.host("gpu-2").report(ok=False)
    a.settle()
    assert [i for i in actions(a, "gpu-2") if i["state"] != "refused"] == []
    kube_own.rotate_ca()  # and is there again
    converge(a, "gpu-1", "gpu-2")


# ---- stale state -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["blind", "deaf"])
def test_what_others_took_meanwhile_counts(kube, way, acting, mode):
    """Nodes can be written, but changes of others are not visible: no list and no watch, or a hanging watch."""
    a = acting.start(NODES, most=2, url=way.url)
    way.set(mode)
    for name in ("gpu-4", "gpu-5"):
        kube.kubectl("cordon", name)
    a.host("gpu-1").report(ok=False)
    if mode == "blind":
        assert a.until(lambda: way.did["blind"] >= 2 and metric(a, "assay_cluster_stale") == 1, LONG_S), a.c.log()
        assert [i for i in actions(a, "gpu-1") if i["state"] != "refused"] == []
        way.set("pass")
    assert a.until(lambda: actions(a, "gpu-1", "refused"), LONG_S), a.words("gpu-1")
    assert "budget.total" in json.dumps(actions(a, "gpu-1", "refused")) and kube.admin.cordoned() == {"gpu-4", "gpu-5"}
    way.set("pass")
    kube.kubectl("uncordon", "gpu-4")
    assert a.until(lambda: a.is_out("gpu-1"), LONG_S), a.words("gpu-1")
    a.finish(once=["gpu-1"], ended=True)
    assert kube.audit.most_in_force(anybody=True) == 2
