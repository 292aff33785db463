# SPDX-License-Identifier: Apache-2.0
"""Of hosts that wait for the same budget, the one with the highest gain by its job's plan is first; without a plan, the oldest."""
import json
import subprocess

import pytest
from fixtures_controller import controller  # noqa: F401
from test_investigations import revive
from test_job_judged import ADMIN, AGES, HOSTS, JOB, TOP, WAIT_S, Fleet
from test_job_withheld import order_of
from test_placement import process
from waiting import wait_for

pytestmark = pytest.mark.once  # sanitizers need more memory than an analysis is allowed

LITTLE, MUCH = ("gpu-03", 15, JOB), ("gpu-05", 40, "research/llm-8")  # slow host, percent, job
OTHERS = [h for h in HOSTS if h not in (LITTLE[0], MUCH[0])][:4]  # half of all: the limit of budget.total
SAVES = "a good host in its place saves"


def trace_of(tmp_path, node, percent, job):
    out = tmp_path / f"trace-{node}"
    with open(out, "w") as file:
        subprocess.run([TOP / "tests/fleet/job_trace.py", "--job", job, "--dp", "4", "--pp", "2", "--steps", "12", "--slow", f"{node}/{percent}"],
                       stdout=file, check=True, timeout=60)
    return out.read_bytes()


def refused(f, node):
    return [a for a in f.actions(action="cordon", state="refused") if a["node"] == node]


def proven(f, tmp_path, node, percent, job):
    """Its job blames it, its test confirms it, and the budget is full."""
    trace = trace_of(tmp_path, node, percent, job)

    def claim(ranks):
        body = {"format": "assay-processes/1", "boot_id": "b0", "processes": [process(r, ASSAY_JOB=job) for r in ranks]}
        assert f.c.call("PUT", f"/v1/nodes/{node}/processes", json.dumps(body).encode(), token=ADMIN).status == 200
    claim(f.ranks(node, trace))
    for ages in AGES:
        assert f.send(trace, ages, job=job)["suspect"] == node
    claim([])
    f.report(node, bad=True, profile="full", order=f.order(node))
    assert wait_for(lambda: refused(f, node), WAIT_S), f.actions()
    assert refused(f, node)[0]["result"].startswith("budget.total: ")


@pytest.mark.parametrize("kept,first", [(True, MUCH), (False, LITTLE)])
def test_who_gains_most_goes_first_and_without_a_plan_the_oldest(controller, tmp_path, kept, first):  # noqa: F811
    f = Fleet(controller, tmp_path)
    for node in OTHERS:
        order_of(f, node, "cordon")
    proven(f, tmp_path, *LITTLE)
    proven(f, tmp_path, *MUCH)
    both = (LITTLE[0], MUCH[0])
    if not kept:  # nor are they remembered
        for analysis in tmp_path.rglob("analyses/*"):
            analysis.unlink()
        revive(f)
        for node in both:
            f.report(node, bad=True)
        assert wait_for(lambda: f.c.call("GET", "/readyz").status == 200, WAIT_S)
    order_of(f, OTHERS[0], "uncordon")
    assert wait_for(lambda: [n for n in f.cordoned() if n in both], WAIT_S) == [first[0]], (f.actions(), f.c.log())
    (cordon,) = [a for a in f.actions(action="cordon", state="done") if a["node"] == first[0]]
    assert (f"{SAVES} {first[2]}" in cordon["reason"]) == kept, cordon
    # The other is not dropped: it is next.
    order_of(f, OTHERS[1], "uncordon")
    assert wait_for(lambda: {*both} <= {*f.cordoned()}, WAIT_S), (f.actions(), f.c.log())
