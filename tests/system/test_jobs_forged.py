# SPDX-License-Identifier: Apache-2.0
"""A client allowed to send for a job forges windows that blame each of its hosts in turn: the damage is limited."""
import pytest
from clock_fixtures import MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_investigations import listed, record
from test_job_judged import AGES, HOSTS, SENDER, WAIT_S, Fleet
from waiting import wait_for

STEP_S = 5 * MIN  # four per round: its windows are after those of the previous round
INVESTIGATIONS = 3  # jobs.ladder.investigations.n, in 24 h


def is_over(f):
    """The agents obey and pass each test, and then there are no more investigations."""
    for action in f.actions(action="retest", state="decided"):
        for order in f.orders(action["node"]):
            f.report(action["node"], profile="full", order={"id": order["id"], "kind": "deep"})
    return all(one["ended"] for one in listed(f))


def left_alone(f, node):
    """It is blamed, but was tested before, or will not be tested."""
    said = f.job()["decision"]
    return node in said["reason"] and said["action"] in ("watch", "acquit")


@pytest.mark.once
def test_forged_windows_have_no_more_hosts_tested_than_the_ladder_lets(controller, clock, tmp_path, full):  # noqa: F811
    f = Fleet(lambda *options, **more: controller(*options, env=clock.env(), **more), tmp_path)
    meta = f.trace()
    rounds, sent, accused = (50 if full else 6), 0, set()
    for i in range(rounds):
        victim = HOSTS[i % len(HOSTS)]
        for step in range(4):  # short enough that no agent counts as silent
            clock.set(wall=(4 * i + step) * STEP_S, boot=(4 * i + step) * STEP_S)
            for node in HOSTS:
                f.report(node)
        for node in HOSTS:
            f.claim(node, f.ranks(node, meta))  # the job really runs there
        forged = f.trace(slow=victim)
        for ages in AGES:
            accused.add(f.send(forged, ages, token=SENDER)["suspect"])
            sent += 1
        for node in HOSTS:
            f.claim(node, [])  # and has left
        if i < INVESTIGATIONS:
            assert wait_for(lambda n=i: len(listed(f)) == n + 1 and is_over(f), WAIT_S), (f.job(), listed(f), f.actions())
        else:
            assert wait_for(lambda v=victim: left_alone(f, v), WAIT_S), (f.job(), listed(f))
    assert accused == set(HOSTS[:rounds]), accused
    # Those after the first are opened, but order no test.
    assert sum(bool(record(f, one["id"])["tests"]) for one in listed(f)) == INVESTIGATIONS, listed(f)
    tested = [a["node"] for a in f.actions(action="retest")]
    assert sorted(tested) == HOSTS[:INVESTIGATIONS] and f.cordoned() == [] and all(f.orders(node) == [] for node in HOSTS)
    print(f"{sent} forged windows accused {len(accused)} hosts: {len(tested)} tests, nobody cordoned")
