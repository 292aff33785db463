# SPDX-License-Identifier: Apache-2.0
"""Any component fails in any state of an investigation: it ends correctly or is withdrawn with a reason, and no host stays held."""
import pytest
from clock_fixtures import HOUR, MIN, clock, clock_shift  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from investigation_cell import CORDONS, GONE_ON, LATE_S, STATES, Cell
from server import CONTROLLER
from test_investigations import listed, record, wait_state
from test_job_judged import HOSTS, JOB, SLOW, WAIT_S
from waiting import wait_for

FRESH_S = 31 * MIN  # without a window for this long the job has ended
WEEK_S = 8 * 24 * HOUR  # after this, proven blame is dropped
QUICK = {("open", "hand"), ("testing", "server"), ("testing", "takeover"), ("failed", "agent"), ("evict", "job"), ("cordoned", "hand"),
         ("acquitted", "agent")}


def has_reported(f, node):
    """Reports; false while the controller is on standby, because its Lease of 3 s expires in each jump of the clock."""
    try:
        f.report(node, profile="full")
    except AssertionError:
        if f.c.get("/readyz").status == 200:
            raise
        return False
    return True


def later(f, clock, seconds, hosts=HOSTS):
    """Advances the time; those hosts report."""
    clock.set(wall=seconds)
    for node in hosts:
        assert f.until(lambda node=node: has_reported(f, node)), f.words()


def no_windows_come(f, run, clock, hosts=HOSTS):
    """No windows from now on; each state must end."""
    before = record(f)
    later(f, clock, FRESH_S, hosts)
    state = before["state"]
    if state == "open":
        # A waiting host is tested once the job is no longer reported there; and that test is not answered.
        assert f.until(lambda: record(f)["state"] in ("testing", "withdrawn")), f.words()
        later(f, clock, clock_of(clock) + FRESH_S, hosts)
    if state == "evict" and SLOW not in hosts:
        # The findings of its tests hold, and its cordon is requested for a week, because nothing contradicts them.
        f.is_free()
        assert record(f)["state"] == "evict"
        later(f, clock, WEEK_S, hosts)
        f.ends(run, "withdrawn", f"the findings on {SLOW} are too old to cordon it")
    elif state in GONE_ON:
        f.ends(run, "withdrawn", f"no window of {JOB} for longer than jobs.windows.fresh")
    elif state == "cordoned":
        f.is_free()
        assert f.is_out() and record(f)["state"] == "cordoned"
        later(f, clock, 25 * HOUR, hosts)
        f.ends(run, "cordoned", f"{SLOW} is out of service")
    else:
        f.is_free()
        assert record(f) == before
    later(f, clock, clock_of(clock) + LATE_S, hosts)
    f.is_free()
    assert len(listed(f)) == 1


def clock_of(clock):
    return int(clock.path.read_text().split()[0]) / 1e6


def server_goes_away(f, run, clock, way, **_):
    """... for longer than the Lease, and returns."""
    before = record(f)
    way.set("drop")
    assert wait_for(lambda: f.c.process.poll() is not None or "no longer" in f.c.log() or way.did["drop"] > 5, WAIT_S), f.c.log()
    assert f.until(lambda: record(f)["state"] == before["state"])  # without information no decisions are made
    way.set("pass")
    assert f.until(lambda: f.leads() and f.c.get("/readyz").status == 200), f.c.log()
    assert len(listed(f)) == 1 and record(f)["tests"][:1] == before["tests"][:1]
    no_windows_come(f, run, clock)


def agent_falls_silent(f, run, clock, **_):
    """Its host stops reporting, and answers no order."""
    no_windows_come(f, run, clock, [node for node in HOSTS if node != SLOW])


def job_ends(f, run, clock, **_):
    f.claim(SLOW, [])
    no_windows_come(f, run, clock)


def hand_takes_it(f, run, clock, **_):
    """A person keeps it in service; or uncordons it at the node if it is out of service."""
    state = record(f)["state"]
    if state == "cordoned":
        f.kube.kubectl("uncordon", SLOW)
        f.ends(run, "withdrawn", f"an operator released {SLOW}")
    elif state in GONE_ON:
        if f.is_held():
            f.lift()
        assert f.until(lambda: f.order_of_a_person("override", SLOW, **{"for": "24h"}).status == 200), f.words()
        f.ends(run, "withdrawn", f"an operator keeps {SLOW} in service")
    no_windows_come(f, run, clock)


def another_takes_over(f, run, clock, controller, **_):  # noqa: F811
    """The other has its own store without the investigation; then the first one leads again."""
    other = Cell(controller, f.kube, f.tmp_path, "ctl-2", env=f.env)
    assert wait_for(lambda: "another controller is the leader" in other.c.log(), WAIT_S), other.c.log()
    was_out, before = f.is_out(), record(f)
    f.c.kill()
    assert wait_for(other.leads, WAIT_S), other.c.log()
    assert other.until(lambda: not f.is_held()), other.c.log()
    assert f.is_out() == was_out and listed(other) == []
    f.again()
    assert wait_for(lambda: "another controller is the leader" in f.c.log(), WAIT_S), f.c.log()
    assert record(f) == before  # unchanged while it does not lead
    assert other.c.stop()[0] == 0
    assert wait_for(f.leads, WAIT_S), f.c.log()
    no_windows_come(f, run, clock)


FAULTS = {"server": server_goes_away, "agent": agent_falls_silent, "job": job_ends, "hand": hand_takes_it, "takeover": another_takes_over}


@pytest.mark.some(10)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("state", STATES)
def test_it_ends_and_nobody_stays_held(kube, way, controller, tmp_path, run, clock, full, state, fault):  # noqa: F811
    if not full and (state, fault) not in QUICK:
        pytest.skip("one of the full matrix: ASSAY_FULL=1")
    for node in HOSTS:
        kube.admin.create_node(node)
    f = Cell(controller, kube, tmp_path, url=way.url, cordons=CORDONS.get(state, 100), env=clock.env())
    f.begin()
    STATES[state](f)
    FAULTS[fault](f, run, clock, way=way, controller=controller)


def looks(kube):
    """How often the controller queried the pods of SLOW."""
    return len([r for r in kube.audit.find(user=CONTROLLER, resource="pods") if f"spec.nodeName%3D{SLOW}" in r.uri])


def test_a_pod_that_starts_again_while_its_host_waits_is_scheduled_there_again(kube, controller, tmp_path):  # noqa: F811
    """There is no scheduler here (test_scheduler.py has one), so it checks the node, which has neither taint nor cordon until the pod is gone."""
    for node in HOSTS:
        kube.admin.create_node(node)
    job = {"owner": {"apiVersion": "batch/v1", "kind": "Job"}}
    kube.admin.create_pod("worker-3", SLOW, **job)
    f = Cell(controller, kube, tmp_path)
    f.begin()
    f.suspect()  # its agent knows no rank there, but the cluster knows the pod
    wait_state(f, "open")
    assert wait_for(lambda: "as soon as it is idle" in f.job()["decision"]["reason"], WAIT_S), f.job()

    def is_left_alone():
        return f.taints() == [] and not f.is_out() and f.orders(SLOW) == [] and f.state() == "open"
    assert is_left_alone()
    before = looks(kube)
    kube.admin.delete("/api/v1/namespaces/default/pods/worker-3", {"gracePeriodSeconds": 0})
    assert wait_for(lambda: looks(kube) > before, WAIT_S) and is_left_alone()  # the pod may be missing for a moment
    kube.admin.create_pod("worker-3", SLOW, **job)
    before = looks(kube)
    assert wait_for(lambda: looks(kube) > before, WAIT_S) and is_left_alone()
    kube.admin.delete("/api/v1/namespaces/default/pods/worker-3", {"gracePeriodSeconds": 0})
    f.last = f.order(SLOW)
    assert f.is_held() and not f.is_out()
    f.answer(bad=False)
    assert wait_state(f, "acquitted")
    f.is_free()
    assert kube.audit.refused(CONTROLLER) == []
