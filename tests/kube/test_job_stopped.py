# SPDX-License-Identifier: Apache-2.0
"""The owner of a hung job is notified by an event in the job's namespace."""
from test_job_beats import LIMIT_S, beat, clock, clock_shift, time  # noqa: F401

NAME = "research/llm-9"


def events(kube, namespace):
    return [e for e in kube.admin.get(f"/api/v1/namespaces/{namespace}/events").body["items"] if e["reason"] == "AssayJobStopped"]


def test_an_owner_is_told_of_a_job_that_stands_still(kube, acting, time, clock):  # noqa: F811
    kube.admin.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}})
    c = acting.start(["gpu-1"], env=clock.env()).c
    assert beat(c, 1204, job=NAME).status == 200
    time.quiet(c, LIMIT_S, lambda: beat(c, 1204, job=NAME), NAME)
    assert acting.until(lambda: events(kube, "research")), c.log()
    (told,) = events(kube, "research")
    assert told["count"] == 1 and told["type"] == "Warning" and told["message"].startswith(f"{NAME} stands still: no step for 1")
    assert events(kube, "default") == []
