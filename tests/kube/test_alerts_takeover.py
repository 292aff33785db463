# SPDX-License-Identifier: Apache-2.0
"""Two controllers with separate stores: the active one sends alerts, the other does not, and neither resolves the other's."""
from alertmanager_stub import alertmanager  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_alerts import INCIDENT, Host
from test_fence import SHORT, WAIT_S, Twin
from waiting import wait_for


class Telling(Twin):
    """A controller that sends alerts."""

    def __init__(self, a, *args, **more):
        self.a = a
        super().__init__(*args, **more)

    def again(self):
        text, policy = self.config.read_text(), self.directory / "policy.yaml"
        if "alertmanagers" not in text:
            policy.write_text(policy.read_text().replace("rules: [", 'rules: [{name: slow, match: {check: "gemm.*"}, action: alert}, '))
            self.config.write_text(f"{text}\nalertmanagers: [{{url: '{self.a.url}'}}]\n")
        super().again()


def test_who_stands_by_tells_nothing_and_who_takes_over_ends_nothing_of_the_other(kube, controller, alertmanager, tmp_path):  # noqa: F811
    a = alertmanager()
    first = Telling(a, controller, kube, tmp_path, "ctl-1", env=SHORT)
    assert wait_for(first.leads, WAIT_S), first.c.log()
    Host("gpu-1").fail(first.c)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 0)), first.c.log()
    second = Telling(a, controller, kube, tmp_path, "ctl-2", env=SHORT)
    assert wait_for(lambda: "another controller is the leader" in second.c.log(), WAIT_S), second.c.log()
    first.kill()
    assert wait_for(second.leads, WAIT_S), second.c.log()
    Host("gpu-2").fail(second.c)
    assert wait_for(lambda: a.count(INCIDENT) == (2, 0)), second.c.log()
    assert a.resolves == []

    # After its restart it is on standby, with an open incident of its own, and posts nothing about it.
    first.again()
    assert wait_for(lambda: "another controller is the leader" in first.c.log(), WAIT_S), first.c.log()
    assert first.c.metrics()[f'assay_alerts_delivered_total{{alertmanager="{a.url}"}}'] == 0

    # It leads again, posts its alerts again, and resolves them once that is judged.
    posts = len(a.posts)
    assert second.c.stop()[0] == 0
    assert wait_for(first.leads, WAIT_S), first.c.log()
    assert wait_for(lambda: any(x["labels"].get("node") == "gpu-1" for _, alerts in a.posts[posts:] for x in alerts)), first.c.log()
    assert a.count(INCIDENT) == (2, 0)
    Host("gpu-1", seq=100).heal(first.c)
    assert wait_for(lambda: a.count(INCIDENT) == (2, 1)), first.c.log()
    assert [labels["node"] for labels in a.resolves] == ["gpu-1"]
