# SPDX-License-Identifier: Apache-2.0
"""A controller takes over from another that analyses windows of jobs: each has its own store, and none is analysed twice in one store."""
import contextlib

from fixtures_controller import controller  # noqa: F401
from test_fence import SHORT, WAIT_S, Twin
from test_jobs import build, part_of, send, trace, window  # noqa: F401
from waiting import wait_for

JOB = "research/llm-7"


def states(twin):
    jobs = twin.c.get(f"/v1/jobs?name={JOB}").json["items"]
    return [w["state"] for w in twin.c.get(f"/v1/jobs/{jobs[0]['id']}/windows").json["items"]] if jobs else []


def metric(twin, name):
    with contextlib.suppress(OSError):
        return twin.c.metrics().get(name)


def refuses(twin):
    """Refuses temporarily, with a message: the client goes elsewhere or retries."""
    answer = send(twin.c, trace("soon"))
    return answer.status == 503 and "another controller is the leader" in answer.json["detail"] and int(answer.headers["Retry-After"]) > 0


def test_windows_stay_with_the_controller_that_took_them_until_it_leads_again(kube, controller, build, tmp_path):  # noqa: F811
    hold = build / "assay-attribute.wait"
    hold.touch()
    first = Twin(controller, kube, tmp_path, "ctl-1", env=SHORT)
    assert wait_for(first.leads, WAIT_S), first.c.log()
    second = Twin(controller, kube, tmp_path, "ctl-2", env=SHORT)
    assert wait_for(lambda: "another controller is the leader" in second.c.log(), WAIT_S), second.c.log()
    assert refuses(second) and states(second) == []

    # It dies with a window that is being analysed and one that is incomplete.
    assert send(first.c, trace("soon")).status == 202
    assert send(first.c, part_of(1), part=1, of=2).status == 202
    first.kill()
    assert wait_for(second.leads, WAIT_S), second.c.log()
    hold.unlink()
    sent = send(second.c, trace("soon"))
    assert sent.status == 202 and window(second.c, sent)["state"] == "analysed"
    assert send(second.c, trace("soon")).status == 200  # once, however often it is sent
    assert states(second) == ["analysed"]

    # After its restart it accepts nothing; it still has its windows, and may have continued before it knew that another leads.
    first.again()
    assert wait_for(lambda: "another controller is the leader" in first.c.log(), WAIT_S), first.c.log()
    assert refuses(first)
    assert states(first) in (["queued", "queued"], ["queued", "analysed"])

    # It leads again, and continues: each window ends once.
    assert second.c.stop()[0] == 0
    assert wait_for(first.leads, WAIT_S), first.c.log()
    assert wait_for(lambda: states(first) == ["queued", "analysed"], WAIT_S), first.c.log()
    assert send(first.c, trace("soon")).status == 200
    assert send(first.c, part_of(2), part=2, of=2).status == 202
    assert wait_for(lambda: states(first) == ["analysed", "analysed"], WAIT_S), first.c.log()
    assert wait_for(lambda: metric(first, 'assay_windows_total{result="analysed"}') == 2, WAIT_S)
