# SPDX-License-Identifier: Apache-2.0
"""page/fleet_data.js in Node.js: the state of the fleet after incremental answers equals that of one full answer."""
import random

import pytest
from browser import modules  # noqa: F401
from page_fake import Fleet

pytestmark = pytest.mark.once

STATE = "f => ({hosts: f.hosts, named: f.hosts.every(h => f.host(h.name) === h), counts: f.counts(), rows: m.rowsOf(f.hosts, 'rack').map(r => [r.label, r.hosts.map(h => h.name)])})"


@pytest.fixture
def after(modules):
    """The state after these answers, and whether each reported changed rows."""
    return lambda answers: modules("fleet_data.js", f"const f = new m.Fleet(); let shape = f.shape; const others = x.map(a => {{ f.take(a); f.counts(); const o = f.shape !== shape; shape = f.shape; return o; }});"
                                   f"return {{...({STATE})(f), others}};", answers)


def test_changes_lead_where_the_whole_leads(after):
    chance, names = random.Random(16), [f"gpu-{i}" for i in range(200)] + ["a2b10", "a10b2", "0", "x" * 300, "node007", "node7", "123456789012345"]
    fleet = Fleet(len(names), names=names)
    answers = [fleet.answer()]
    for _ in range(30):
        before = fleet.version
        for i in chance.sample(range(len(names)), 20):
            fleet.put(i, verdict=chance.randrange(-1, 4), stale=chance.randrange(2), life=chance.randrange(-1, 9), service=chance.randrange(-1, 4), connection=chance.randrange(3),
                      domain=chance.randrange(-1, 7), incidents=chance.randrange(3))
        answers.append(fleet.answer(before))
    told, whole = after(answers), after([fleet.answer()])
    assert told | {"others": []} == whole | {"others": []}
    assert told["named"] and sum(told["counts"][k] for k in ("fail", "warn", "unsure", "none", "pass")) == len(names)
    order = [h["name"] for h in told["hosts"]]
    assert order.index("gpu-2") < order.index("gpu-11") and order.index("a2b10") < order.index("a10b2") and order.index("node007") + 1 == order.index("node7")


def test_rows_are_others_only_when_a_host_may_stand_elsewhere(after):
    fleet, answers = Fleet(40), []
    answers.append(fleet.answer())
    for change in ({"verdict": 3}, {"stale": 1}, {"domain": 0}, {"incidents": 2, "service": 1}, {"life": 2}, {"life": 2}):
        before = fleet.version
        fleet.put(39, **change)
        answers.append(fleet.answer(before))
    assert after(answers)["others"] == [True, False, False, True, False, True, False]


def test_a_whole_answer_leaves_nothing_of_the_one_before(after):
    first, then = Fleet(40), Fleet(30, names=[f"cpu-{i}" for i in range(10)] + [f"gpu-{i:02}" for i in range(20)])
    assert after([first.answer(), then.answer()]) | {"others": []} == after([then.answer()]) | {"others": []}
    assert after([first.answer(), then.answer()])["others"] == [True, True]
