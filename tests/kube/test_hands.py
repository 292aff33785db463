# SPDX-License-Identifier: Apache-2.0
"""Manual changes of a node between any two of our requests about it.

Each of the changes below has its own node. Our requests about these nodes are held at one step, before or after the server; the
changes are made; then the requests continue. In any case the cordons of people stay, ours end when their hosts are good again,
and the ledger is empty at the end."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from acting import CONDITION, MARK, holders_of, lease
from api import STRATEGIC

PATH = "/api/v1/nodes/"
WAIT_S = 150  # an action with unknown outcome keeps its reservation for a minute
NOTE = "please leave it, Ann"
OTHERS = 7  # enough that the deleted nodes do not look like a vanishing cluster


# A person's change; returns whether the person keeps the node out of service from then on.


def nothing(api, node):
    return False


def uncordons(api, node):
    api.patch(PATH + node, {"spec": {"unschedulable": None}}, content=STRATEGIC)  # like kubectl
    return False


def cordons(api, node):
    was = is_out(api, node)
    api.patch(PATH + node, {"spec": {"unschedulable": True}}, content=STRATEGIC)
    return not was


def takes_our_mark(api, node):
    api.patch(PATH + node, {"metadata": {"annotations": {MARK: None}}})
    return is_out(api, node)


def writes_a_note_over_our_mark(api, node):
    api.patch(PATH + node, {"metadata": {"annotations": {MARK: NOTE}}})
    return is_out(api, node)


def claims_it(api, node):
    mark = api.node(node)["metadata"].get("annotations", {}).get(MARK)
    if mark:
        api.patch(PATH + node, {"metadata": {"annotations": {MARK: json.dumps({**json.loads(mark), "pre": True})}}})
    return is_out(api, node)


def deletes_it(api, node):
    api.delete(PATH + node)
    return False


def makes_it_anew(api, node):
    api.delete(PATH + node)
    api.create_node(node)
    return False


def makes_it_anew_out_of_service(api, node):
    api.delete(PATH + node)
    api.create_node(node, unschedulable=True)
    return True


def is_out(api, node):
    return bool(api.node(node)["spec"].get("unschedulable"))


HANDS = {f.__name__.replace("_", "-"): f for f in (
    nothing, uncordons, cordons, takes_our_mark, writes_a_note_over_our_mark, claims_it, deletes_it, makes_it_anew,
    makes_it_anew_out_of_service)}


# Our requests about a node, in order.


def is_node(path, tail=""):
    name, _, rest = path.partition("?")[0].removeprefix(PATH).partition("/")
    return path.startswith(PATH) and name in HANDS and rest == tail


def puts_ledger(done):
    def which(method, path, body):
        if method != "PUT" or "/leases/assay-budget" not in path:
            return False
        return any(is_done == done for node, is_done in holders_of(json.loads(body)).items() if node in HANDS)
    return which


def reads(method, path, _):
    return method == "GET" and is_node(path)


def sets(unschedulable):
    def which(method, path, body):
        return method == "PATCH" and is_node(path) and json.loads(body).get("spec", {}).get("unschedulable", "") is unschedulable
    return which


def tells_condition(method, path, _):
    return method == "PATCH" and is_node(path, "status")


def tells_event(method, path, _):
    return method == "POST" and path.partition("?")[0].endswith("/events")


# name: (which request, held after the server, while we lift it)
STEPS = {
    "reserve": (puts_ledger(False), False, False),
    "reserved": (puts_ledger(False), True, False),
    "look": (reads, True, False),
    "patch": (sets(True), False, False),
    "patched": (sets(True), True, False),
    "book": (puts_ledger(True), False, False),
    "event": (tells_event, False, False),
    "condition": (tells_condition, False, False),
    "look-to-lift": (reads, True, True),
    "lift": (sets(None), False, True),
    "lifted": (sets(None), True, True),
}
QUICK = ("look", "patched", "lift")
SHARED = ("reserve", "reserved", "book")  # one request for all nodes


def of_each(a, do):
    """Reports of all hosts whose node exists, in parallel."""
    with ThreadPoolExecutor(len(HANDS)) as pool:
        list(pool.map(lambda name: do(a.host(name)), sorted(set(HANDS) & set(a.kube.admin.nodes()))))


def find_bad(a):
    of_each(a, lambda host: host.report(ok=False))


def mend(a):
    def one(host):
        host.ok = True
        host.obey(wait=0)
    of_each(a, one)
    hurry(a)


def hurry(a):
    """Triggers a decision by a request, because time-based decisions are made only every ten seconds."""
    a.order("silence", "other-0", **{"for": "0s"})


def tells_all(a):
    hurry(a)
    return all((a.kube.admin.condition(name, CONDITION) or {}).get("status") == "True" for name in HANDS)


@pytest.mark.parametrize("step", STEPS)
def test_a_hand_between_two_of_our_requests(kube, way, acting, step, full):
    if step not in QUICK and not full:
        pytest.skip("ASSAY_FULL=1 stops at every step")
    which, after, lifts = STEPS[step]
    for i in range(OTHERS):
        kube.admin.create_node(f"other-{i}")
    a = acting.start(list(HANDS), url=way.url)
    assert a.until(lambda: tells_all(a), WAIT_S), a.c.log()
    if lifts:
        find_bad(a)
        assert a.until(lambda: a.marked() == set(HANDS), WAIT_S), a.c.log()
        a.settle()
    way.set("hold", which=which, after=after)
    if not lifts:
        find_bad(a)

    def is_held():
        if lifts:
            mend(a)
        return way.did["hold"] if step in SHARED else len(set(way.held)) >= (1 if step == "event" else len(HANDS))
    assert a.until(is_held, WAIT_S), (way.held, a.c.log())
    theirs = {name for name, hand in HANDS.items() if hand(kube.admin, name)}
    way.set("pass")

    def is_over():
        mend(a)
        return not a.marked() and holders_of(lease(kube, "assay-budget")) == {} and a.is_settled()
    assert a.until(is_over, WAIT_S), (a.marked(), holders_of(lease(kube, "assay-budget")), a.under_way())
    a.finish()
    assert kube.admin.cordoned() == theirs
    assert a.annotation("writes-a-note-over-our-mark", MARK) == NOTE
