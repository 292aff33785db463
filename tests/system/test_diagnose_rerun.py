# SPDX-License-Identifier: Apache-2.0
"""The next run shows whether restarting a job without the excluded hosts helped."""
import contextlib
import sqlite3

import pytest
from fixtures_controller import controller  # noqa: F401
from test_diagnose import BAD, HOSTS, WAIT_S, lab, labs  # noqa: F401
from waiting import wait_for


def diagnosed(lab, before=None):  # noqa: F811
    """A job whose diagnosis excluded BAD; run 1 was as fast as the next will be, or run 2 was slow because of `before`."""
    f = lab()
    f.hosts[BAD].alone = 0.5
    f.analysed({"id": f.id, "window": 1})
    if before:
        f.analysed(f.send(slow=before, run=2))
    f.stopped()
    over = f.done()
    assert over["state"] == "excluded" and over["diagnosis"]["result"]["exclude"] == [BAD]
    assert over["diagnosis"]["next"] is None
    return f, over


def verified(f):
    return f.wait(lambda r: r["diagnosis"]["next"])


@pytest.mark.once
def test_a_next_run_that_is_faster_says_so_once_it_has_twenty_steps(lab):  # noqa: F811
    f, over = diagnosed(lab, before=f"{BAD}/30")
    before = over["diagnosis"]["before"]
    assert {k: before[k] for k in ("run", "steps", "ranks", "dp", "pp")} == {"run": 2, "steps": 12, "ranks": 64, "dp": 4, "pp": 2}
    f.analysed(f.send(run=3))
    assert f.record()["diagnosis"]["next"] is None, "12 steps are too few"
    f.analysed(f.send(run=3, steps=13))
    now = verified(f)
    told = now["diagnosis"]["next"]
    assert (told["run"], told["steps"], told["outcome"]) == (3, 25, "faster"), told
    assert told["gain"] == pytest.approx(1 - told["step_s"] / before["step_s"], abs=1e-5) and 0.05 < told["gain"] < 0.4
    assert told["sentence"].startswith(f"run 3 without {BAD}: {before['step_s']:.3g} s -> {told['step_s']:.3g} s a step: faster by ")
    # The decision and this result stay the same, also after a restart.
    assert {k: v for k, v in now.items() if k != "diagnosis"} == {k: v for k, v in over.items() if k != "diagnosis"}
    f.revive()
    again = verified(f)["diagnosis"]["next"]  # it may have been killed before that was durable
    assert {**again, "at": None} == {**told, "at": None}
    assert f.c.metrics()['assay_investigations_total{outcome="excluded"}'] == 0, "it has ended once, before the restart"


@pytest.mark.once
def test_a_next_run_that_is_no_faster_says_that_something_else_slows_it(lab):  # noqa: F811
    f, over = diagnosed(lab)
    assert over["diagnosis"]["before"]["step_s"] > 0
    f.analysed(f.send(run=2, steps=24))
    told = verified(f)["diagnosis"]["next"]
    assert told["outcome"] == "same" and abs(told["gain"]) < 0.03
    assert "no faster" in told["sentence"] and told["sentence"].endswith("the excluded hosts were not what slowed it down")


@pytest.mark.once
def test_a_run_with_what_was_excluded_or_of_another_shape_is_not_the_next_one(lab):  # noqa: F811
    f, over = diagnosed(lab)
    for node in HOSTS:
        f.claim(node, [HOSTS.index(node)])
    f.analysed(f.send(run=2, steps=24, ages=(30, 0)))
    assert f.record()["diagnosis"]["next"] is None, f"{BAD} is in it"
    f.stop_job()
    f.analysed(f.send(run=3, steps=24))
    assert verified(f)["diagnosis"]["next"]["run"] == 3


@pytest.mark.once
def test_without_a_window_before_only_the_new_pace_is_told(lab):  # noqa: F811
    f = lab()
    f.hosts[BAD].alone = 0.5
    f.analysed({"id": f.id, "window": 1})
    f.c.kill()
    forget_windows(f)
    f.revive()
    assert wait_for(lambda: f.order(plan=True).status == 200, WAIT_S)
    f.stopped()
    assert f.done()["diagnosis"]["before"] is None
    f.analysed(f.send(run=2, steps=24))
    told = verified(f)["diagnosis"]["next"]
    assert (told["outcome"], told["gain"]) == ("unknown", None) and told["sentence"].endswith("the step time before is unknown")


def forget_windows(f):
    with contextlib.closing(sqlite3.connect(f.c.db)) as db:
        db.execute("DELETE FROM trace_windows")
        db.commit()
