# SPDX-License-Identifier: Apache-2.0
"""How long it takes from a window to a suspect, and from the test that fails last to the PATCH of the node, by the audit log.

Printed, not asserted: ASSAY_FULL=1, with -s, on a machine that does nothing else. Each round has a cluster and a store of its own.
"""
import os
import time

import pytest
from fixtures_controller import controller  # noqa: F401
from investigation_cell import Cell, fails_once
from test_investigations import record
from test_job_judged import AGES, HOSTS, SLOW, WAIT_S
from waiting import wait_for

ROUNDS = 40 if os.environ.get("ASSAY_FULL") == "1" else 1
WINDOW, PATCH = "window sent to suspect shown", "last failed test sent to PATCH of the node"


@pytest.fixture(scope="module")
def took():
    """{what: seconds of each round}; in the end it is printed."""
    found = {WINDOW: [], PATCH: []}
    yield found
    for what, values in found.items():
        values.sort()
        if values:
            print(f"\n{what}, {len(values)} times: p50 {values[len(values) // 2]:.2f} s, p99 {values[len(values) * 99 // 100]:.2f} s, "
                  f"longest {values[-1]:.2f} s", end="")


class Timed(Cell):
    """Notes when a window was sent that makes its host a suspect."""

    def suspect(self, ends=True, ages=AGES):
        trace = self.trace()
        self.claim(SLOW, self.ranks(SLOW, trace))
        for one in ages:
            sent = time.monotonic()
            assert self.send(trace, one)["suspect"] == SLOW
        assert wait_for(lambda: self.job()["state"] == "suspected", WAIT_S)
        self.suspected_s = time.monotonic() - sent
        if ends:
            self.claim(SLOW, [])


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_host_is_taken_out_once_its_last_test_failed(kube, controller, tmp_path, took, full, number):  # noqa: F811
    if not full:
        pytest.skip("it measures: ASSAY_FULL=1")
    for node in HOSTS:
        kube.admin.create_node(node)
    f = Timed(controller, kube, tmp_path, name=f"ctl-{number}")
    f.begin()
    fails_once(f)
    took[WINDOW].append(f.suspected_s)

    def is_over():
        return kube.audit.cordons(SLOW)
    sent = time.time()
    f.answer(bad=True)
    # One that came a moment too soon after the one before does not count: there is a third.
    while not wait_for(is_over, 5):
        f.last = f.order(SLOW)
        sent = time.time()
        f.answer(bad=True)
    took[PATCH].append(is_over()[0].began - sent)
    assert wait_for(lambda: record(f)["state"] == "cordoned", WAIT_S), f.words()
