# SPDX-License-Identifier: Apache-2.0
"""The way to the API server is cut, conflicts or forgets: the controller converges, takes nothing out twice and lifts nothing
that is not ours."""
import pytest

NODES = [f"gpu-{i}" for i in range(6)]
LONG_S = 150  # an outage, and the longest pause between two attempts
OTHERS = "gpu-5"  # out of service by a person


def begin(acting, **more):
    a = acting.start(NODES, **more)
    a.kube.kubectl("cordon", OTHERS)
    a.take_out("gpu-0")
    return a


def converge(a, *names):
    """Each of them is out once, gpu-0 comes back when it is good, and what a person did stays."""
    for name in names:
        assert a.until(lambda: a.is_out(name), LONG_S), a.words(name)
    a.give_back("gpu-0", LONG_S)
    a.finish(once=("gpu-0", *names), ended=True)
    assert a.kube.admin.cordoned() == {OTHERS, *names} and a.mark(OTHERS) is None


TRICKS = ("conflict", "cut", "gone", "drop")


@pytest.mark.parametrize("mode", TRICKS)
def test_a_bad_way_delays_and_breaks_nothing(kube, way, acting, mode):
    a = begin(acting, url=way.url)
    way.set(mode)
    a.host("gpu-1").report(ok=False)
    a.host("gpu-0").report(ok=True)
    if mode == "conflict":  # every second patch goes through: no end of it is needed
        converge(a, "gpu-1")
    elif mode == "gone":
        a.kube.kubectl("label", "node", "gpu-2", "a=b")
    assert a.until(lambda: way.did[mode] >= 2, LONG_S), a.c.log()
    a.host("gpu-2").report(ok=False)
    way.set("pass")
    converge(a, "gpu-1", "gpu-2")
