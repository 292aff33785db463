# SPDX-License-Identifier: Apache-2.0
"""A real Alertmanager notifies each event once when it begins and once when it ends."""
import urllib.parse

from alertmanager_stub import real_alertmanager  # noqa: F401
from fixtures_controller import controller  # noqa: F401
from test_alerts import INCIDENT, Host, order, settings, told
from waiting import wait_for


def labels(a):
    return {alert["labels"]["alertname"] for alert in a.alerts()}


def updated(a):
    return max(alert["updatedAt"] for alert in a.alerts())


def test_each_event_is_notified_once_though_the_controller_is_killed(controller, real_alertmanager, tmp_path):  # noqa: F811
    a = real_alertmanager()
    config = settings(tmp_path, a)
    c = controller("--config", config)
    host = Host()
    host.fail(c)
    order(c, "/v1/nodes/gpu-17/cordon", reason="it is slow")
    assert wait_for(lambda: a.heard(INCIDENT) == ["firing"] and a.heard("AssayCordon") == ["firing"])
    for _ in range(2):
        before = updated(a)
        c.kill()
        assert labels(a) == {INCIDENT, "AssayCordon"}
        c = controller("--config", config)
        assert wait_for(lambda before=before: updated(a) > before)
    assert all(alert["status"]["state"] == "active" for alert in a.alerts())
    assert a.heard(INCIDENT) == ["firing"] and a.heard("AssayCordon") == ["firing"]
    host.heal(c)
    order(c, "/v1/nodes/gpu-17/uncordon", reason="it is well")
    assert wait_for(lambda: a.heard(INCIDENT) == ["firing", "resolved"] and a.heard("AssayCordon") == ["firing", "resolved"])
    assert told(c, "assay_alert_posts_failed_total", a.url) == 0


def test_what_changed_while_it_was_down_is_notified_once(controller, real_alertmanager, tmp_path):  # noqa: F811
    a, b = real_alertmanager(), real_alertmanager()
    config = settings(tmp_path, a, b)
    c = controller("--config", config)
    hosts = [Host(f"gpu-{i}") for i in range(3)]
    hosts[0].fail(c)
    assert wait_for(lambda: a.heard(INCIDENT) == b.heard(INCIDENT) == ["firing"])
    assert a.has_recorded()
    a.stop()
    hosts[0].heal(c)
    hosts[1].fail(c)
    hosts[2].fail(c)
    hosts[2].heal(c)
    assert wait_for(lambda: told(c, "assay_alert_posts_failed_total", a.url) > 0)
    c.kill()
    c = controller("--config", config)
    a.start()
    assert wait_for(lambda: len(a.heard(INCIDENT)) == 3)
    assert sorted((status, found["node"]) for status, found in a.notices) == [
        ("firing", "gpu-0"), ("firing", "gpu-1"), ("resolved", "gpu-0")]
    assert wait_for(lambda: sum(status == "firing" for status, _ in b.notices) >= 2)
    assert [x["labels"]["node"] for x in b.alerts()] == ["gpu-1"]


def test_it_takes_all_that_we_say_of_an_alert(controller, real_alertmanager, tmp_path):  # noqa: F811
    a = real_alertmanager()
    c = controller("--config", settings(tmp_path, a, **{"external-url": "https://assay.example"}))
    incident = Host().fail(c)
    assert wait_for(a.alerts)
    (alert,) = a.alerts()
    assert alert["labels"] == {"alertname": INCIDENT, "node": "gpu-17", "check": "gemm.rate", "severity": "warning",
                               "incident": incident["id"]}
    assert alert["annotations"]["sentence"] == incident["sentence"] and set(alert["annotations"]) == {"sentence", "clears", "command", "link"}
    assert urllib.parse.urlsplit(alert["generatorURL"]).path == f"/v1/incidents/{incident['id']}"
