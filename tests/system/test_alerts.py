# SPDX-License-Identifier: Apache-2.0
"""Alerts go to each Alertmanager: once when they begin and once when they end, whatever is down in between."""
import base64
import contextlib
import datetime
import json
import shutil
import sqlite3
import subprocess
import time

import pytest
from alertmanager_stub import alertmanager, stamp  # noqa: F401
from controller_stub import make_certificates, server_tls
from fixtures_controller import controller, report, sample  # noqa: F401
from test_assayctl_act import NODES, Acting, dead, policy
from waiting import wait_for

DAY = datetime.timedelta(days=1)
INCIDENT = "AssayIncident"


def settings(tmp_path, *alertmanagers, **more):
    file = tmp_path / "controller.yaml"
    entries = [a if isinstance(a, dict) else {"url": a.url} for a in alertmanagers]
    file.write_text(json.dumps({"v": 1, "alertmanagers": entries, **more}))
    return file


class Host:
    """A host with good or bad reports. Each is its own model, because a fault common to a model is not a host's fault."""

    def __init__(self, name="gpu-17", seq=0):
        self.name, self.seq = name, seq

    def report(self, c, good):
        self.seq += 1
        cores = [sample(subject=f"cpu:{i}", value=40e9 if i == 3 and not good else 70e9 + i * 1e8) for i in range(8)]
        answer = c.post_again(report(self.name, self.seq, samples=cores, sku=self.name))
        assert answer.status == 202, answer.body

    def incidents(self, c):
        return [i for i in c.get("/v1/incidents?state=open").json["items"] if i["node"] == self.name]

    def fail(self, c):
        """Reports bad results until it has an incident. Returns the incident."""
        for _ in range(10):
            self.report(c, False)
            if self.incidents(c):
                return self.incidents(c)[0]
        raise AssertionError("no incident of a host that is ill")

    def heal(self, c):
        for _ in range(20):
            self.report(c, True)
            if not self.incidents(c):
                return
        raise AssertionError("an incident of a host that is well")


def order(c, path, **body):
    """Retries while a starting controller is not ready."""
    last = []
    assert wait_for(lambda: last.append(c.call("POST", path, json.dumps(body).encode())) or last[-1].status != 503)
    assert last[-1].status == 200, last[-1].body


def told(c, metric, url):
    return c.metrics()[f'{metric}{{alertmanager="{url}"}}']


def test_an_incident_is_told_to_each_alertmanager_and_its_end_too(controller, alertmanager, tmp_path):
    two = [alertmanager(), alertmanager()]
    c = controller("--config", settings(tmp_path, *two, **{"external-url": "https://assay.example/"}))
    host = Host()
    incident = host.fail(c)
    for a in two:
        assert wait_for(lambda a=a: a.count(INCIDENT) == (1, 0))
        (alert,) = a.named(INCIDENT)
        assert alert["labels"] == {"alertname": INCIDENT, "node": "gpu-17", "check": "gemm.rate", "severity": "warning",
                                   "incident": incident["id"]}
        notes = alert["annotations"]
        assert notes["sentence"] == incident["sentence"] and notes["clears"].startswith("clears after")
        assert notes["command"] == "assayctl why gpu-17" and "stale" not in notes
        assert notes["link"] == alert["generatorURL"] == f"https://assay.example/v1/incidents/{incident['id']}"
        assert stamp(alert["startsAt"]) == stamp(incident["opened"])
        ahead = stamp(alert["endsAt"]) - datetime.datetime.now(datetime.timezone.utc)
        assert DAY - datetime.timedelta(minutes=5) < ahead <= DAY
    assert c.metrics()["assay_alerts_open"] == 1
    host.heal(c)
    for a in two:
        assert wait_for(lambda a=a: a.count(INCIDENT) == (1, 1))
        assert a.unheard == [] and a.refused == []
        assert wait_for(lambda a=a: told(c, "assay_alerts_delivered_total", a.url) == 2)
        assert told(c, "assay_alerts_waiting", a.url) == told(c, "assay_alert_posts_failed_total", a.url) == 0
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        assert db.execute("SELECT count(*) FROM alerts").fetchone() == (0,)


def test_a_controller_that_is_killed_and_starts_is_no_all_clear(controller, alertmanager, tmp_path):
    a = alertmanager()
    config = settings(tmp_path, a)
    c = controller("--config", config)
    host = Host()
    host.fail(c)
    order(c, "/v1/nodes/gpu-17/cordon", reason="it is slow")
    assert wait_for(lambda: a.count(INCIDENT) == (1, 0) and a.count("AssayCordon") == (1, 0))
    for _ in range(3):
        c.kill()
        posts = len(a.posts)
        c = controller("--config", config)
        assert wait_for(lambda posts=posts: {INCIDENT, "AssayCordon"} <=
                        {alert["labels"]["alertname"] for _, alerts in a.posts[posts:] for alert in alerts})
    assert a.count(INCIDENT) == (1, 0) and a.count("AssayCordon") == (1, 0) and a.resolves == []
    host.heal(c)
    order(c, "/v1/nodes/gpu-17/uncordon", reason="it is well")
    assert wait_for(lambda: a.count(INCIDENT) == (1, 1) and a.count("AssayCordon") == (1, 1))
    assert a.unheard == []


def test_one_killed_between_the_end_and_its_post_tells_it_afterwards(controller, alertmanager, tmp_path):
    a, b = alertmanager(), alertmanager()
    config = settings(tmp_path, a, b)
    c = controller("--config", config)
    host = Host()
    host.fail(c)
    assert wait_for(lambda: a.count(INCIDENT) == b.count(INCIDENT) == (1, 0))
    a.stop()
    host.heal(c)
    assert wait_for(lambda: b.count(INCIDENT) == (1, 1))
    assert wait_for(lambda: told(c, "assay_alert_posts_failed_total", a.url) > 0)
    assert told(c, "assay_alerts_waiting", a.url) == 1 and told(c, "assay_alerts_waiting", b.url) == 0
    c.kill()
    a.start()
    c = controller("--config", config)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 1))
    assert b.count(INCIDENT) == (1, 1) and a.unheard == []


def test_an_alertmanager_that_is_away_is_told_all_that_is_so_when_it_is_back(controller, alertmanager, tmp_path):
    a = alertmanager()
    config = settings(tmp_path, a)
    c = controller("--config", config)
    hosts = [Host(f"gpu-{i}") for i in range(3)]
    hosts[0].fail(c)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 0))
    a.status = 503
    hosts[0].heal(c)
    hosts[1].fail(c)
    hosts[2].fail(c)
    hosts[2].heal(c)
    assert wait_for(lambda: told(c, "assay_alert_posts_failed_total", a.url) >= 3)
    assert "alerts are waiting and will be posted again: POST " in c.log()
    assert c.log().count("alerts are waiting") == 1
    a.status = 200
    assert wait_for(lambda: a.active() and a.count(INCIDENT)[1] == 1)
    assert [labels["node"] for labels in a.active()] == ["gpu-1"]
    assert [labels["node"] for labels in a.resolves] == ["gpu-0"]
    assert wait_for(lambda: "alerts are being delivered again" in c.log())
    assert wait_for(lambda: told(c, "assay_alerts_waiting", a.url) == 0) and told(c, "assay_alerts_oldest_seconds", a.url) == 0


def test_one_that_hangs_holds_up_neither_reports_nor_the_other(controller, alertmanager, tmp_path):
    slow, quick = alertmanager(), alertmanager()
    slow.delay = 120
    c = controller("--config", settings(tmp_path, slow, quick))
    host = Host()
    host.fail(c)
    assert wait_for(lambda: quick.count(INCIDENT) == (1, 0) and slow.headers)
    took = []
    for _ in range(20):
        start = time.monotonic()
        host.report(c, False)
        took.append(time.monotonic() - start)
    assert sorted(took)[10] < 2, took  # if a post blocked, each would take seconds
    host.heal(c)
    assert wait_for(lambda: quick.count(INCIDENT) == (1, 1))
    assert wait_for(lambda: "timed out" in c.log())
    # An unanswered post may have arrived, so its end is sent as well.
    slow.delay = 0
    slow.held.set()
    assert wait_for(lambda: slow.count(INCIDENT) == (1, 1))


def test_a_cordon_by_hand_is_told(controller, alertmanager, tmp_path):
    a = alertmanager()
    c = controller("--config", settings(tmp_path, a))
    Host().report(c, True)
    order(c, "/v1/nodes/gpu-17/cordon", reason="its fan rattles")
    assert wait_for(lambda: a.count("AssayCordon") == (1, 0))
    (alert,) = a.named("AssayCordon")
    assert alert["labels"] == {"alertname": "AssayCordon", "node": "gpu-17", "severity": "info"}
    assert "its fan rattles" in alert["annotations"]["sentence"] and "assayctl uncordon gpu-17" in alert["annotations"]["clears"]
    order(c, "/v1/nodes/gpu-17/uncordon", reason="oiled")
    assert wait_for(lambda: a.count("AssayCordon") == (1, 1))


def test_an_open_breaker_is_told_until_a_person_resets_it(controller, run, alertmanager, tmp_path):
    a = alertmanager()
    config = settings(tmp_path, a)
    acting = Acting(lambda *args, **more: controller("--config", config, *args, **more), run, tmp_path, policy(), NODES)
    assert acting.ready()
    for node in NODES:
        acting.report(node, dead())
    assert wait_for(lambda: a.count("AssayBreaker") == (1, 0)), acting.c.log()
    (alert,) = a.named("AssayBreaker")
    assert alert["labels"] == {"alertname": "AssayBreaker", "severity": "critical"}
    assert alert["annotations"]["sentence"].startswith("the breaker is open, so no host is taken out of service: ")
    acting.c.kill()
    acting.again()
    assert acting.ready() and acting.post("breaker/reset", {"reason": "a bad file"}).status == 200
    assert wait_for(lambda: a.count("AssayBreaker") == (1, 1)), acting.c.log()


def test_who_is_in_the_settings_no_more_is_forgotten_and_who_is_new_is_told(controller, alertmanager, tmp_path):
    old, new = alertmanager(), alertmanager()
    c = controller("--config", settings(tmp_path, old))
    Host().fail(c)
    assert wait_for(lambda: old.count(INCIDENT) == (1, 0))
    assert c.stop()[0] == 0
    c = controller("--config", settings(tmp_path, new))
    assert wait_for(lambda: new.count(INCIDENT) == (1, 0))
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        assert db.execute("SELECT alertmanager FROM alerts").fetchall() == [(new.url,)]
    assert old.resolves == []


def test_a_host_that_is_silent_is_told_as_stale_under_the_same_labels(controller, alertmanager, tmp_path):
    a = alertmanager()
    config = settings(tmp_path, a)
    c = controller("--config", config)
    Host().fail(c)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 0))
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        db.execute("UPDATE nodes SET seen_us = seen_us - 3600000000")
        db.commit()
    for file in tmp_path.glob("assay.db-*"):
        file.unlink()
    c = controller("--config", config)
    assert wait_for(lambda: "stale" in a.named(INCIDENT)[0]["annotations"])
    assert a.named(INCIDENT)[0]["annotations"]["stale"].startswith("gpu-17 has not been heard from since ")
    assert a.count(INCIDENT) == (1, 0) and len(a.alerts) == 1


@pytest.mark.parametrize("how", ["token-file", "basic-auth-file"])
def test_it_shows_what_the_alertmanager_asks_for_and_tells_nobody_else(controller, alertmanager, tmp_path, how):
    a, secret = alertmanager(), tmp_path / "secret"
    secret.write_text("assay:open-sesame\n" if how == "basic-auth-file" else "open-sesame\n")
    c = controller("--config", settings(tmp_path, {"url": a.url + "/", how: str(secret)}))
    host = Host()
    host.fail(c)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 0))
    want = {"token-file": "Bearer open-sesame", "basic-auth-file": "Basic " + base64.b64encode(b"assay:open-sesame").decode()}[how]
    assert a.headers[-1]["Authorization"] == want
    # A new password is used from the next post on.
    secret.write_text("assay:abracadabra\n" if how == "basic-auth-file" else "abracadabra\n")
    host.heal(c)
    assert wait_for(lambda: a.count(INCIDENT) == (1, 1))
    want = {"token-file": "Bearer abracadabra", "basic-auth-file": "Basic " + base64.b64encode(b"assay:abracadabra").decode()}[how]
    assert a.headers[-1]["Authorization"] == want
    # If one is unreachable only alerts are lost.
    secret.unlink()
    host.fail(c)
    assert wait_for(lambda: "alerts are waiting and will be posted again: " in c.log()) and str(secret) in c.log()
    assert "sesame" not in c.log() and "abracadabra" not in c.log()


def test_only_who_has_the_right_certificate_is_told(controller, alertmanager, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt-get install openssl")
    make_certificates(tmp_path)
    good, stranger = (alertmanager(tls=server_tls(tmp_path / "server.pem", tmp_path / "server.key")) for _ in range(2))
    c = controller("--config", settings(tmp_path, {"url": good.url, "cacert": str(tmp_path / "ca.pem")},
                                        {"url": stranger.url, "cacert": str(tmp_path / "other.pem")}))
    Host().fail(c)
    assert wait_for(lambda: good.count(INCIDENT) == (1, 0))
    assert wait_for(lambda: "the certificate of the server is not trusted" in c.log())
    assert stranger.headers == [] and told(c, "assay_alerts_waiting", stranger.url) == 1


@pytest.mark.parametrize("entries,words", [
    ({"url": "http://a:9093"}, "alertmanagers: expected a"),
    ([{}], "alertmanagers[0].url: "),
    ([{"url": "a:9093"}], "alertmanagers[0].url: expected an address such as http://HOST:PORT or https://HOST"),
    ([{"url": "https://"}], "alertmanagers[0].url: expected a host"),
    ([{"url": "https://a/?x=1"}], "alertmanagers[0].url: expected a host, followed by at most a port and a path"),
    ([{"url": "https://me:secret@a"}], "everyone who sees the address would see the password in it: use basic-auth-file"),
    ([{"url": "http://a:9093"}, {"url": "http://a:9093/"}], "alertmanagers[1]: url: http://a:9093 is listed twice"),
    ([{"url": f"http://a{i}"} for i in range(9)], "alertmanagers: 9 entries, more than 8"),
    ([{"url": "http://a", "token-file": "x"}], "alertmanagers[0]: the token would be sent unencrypted: use https"),
    ([{"url": "http://a", "basic-auth-file": "x"}], "alertmanagers[0]: the password would be sent unencrypted: use https"),
    ([{"url": "https://a", "basic-auth-file": "x", "token-file": "y"}], "expected token-file or basic-auth-file, not both"),
    ([{"url": "http://a", "cacert": "x"}], "cacert: only for an https address"),
    ([{"url": "https://a", "token": "x"}], "token: unknown key"),
    ([{"url": "https://a", "token-file": "DIR/absent"}], "alertmanagers[0]: "),
    ([{"url": "https://a", "token-file": "DIR/two"}], "two: expected one line"),
    ([{"url": "https://a", "basic-auth-file": "DIR/one"}], "one: expected one line, NAME:PASSWORD"),
    ([{"url": "https://a", "cacert": "DIR/one"}], "one: has no certificate (PEM)"),
])
def test_bad_settings_are_refused_in_a_sentence(build, environ, tmp_path, entries, words):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    (tmp_path / "one").write_text("hush\n")
    (tmp_path / "two").write_text("hush\nhush\n")
    file = tmp_path / "controller.yaml"
    file.write_text(json.dumps({"v": 1, "alertmanagers": entries}).replace("DIR", str(tmp_path)))
    done = subprocess.run([build / "assay-controller", "--check", "--config", file], env=environ, capture_output=True, text=True)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done
    assert "hush" not in done.stderr and str(file) in done.stderr


def test_good_settings_are_good(build, environ, tmp_path):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    (tmp_path / "password").write_text("assay:hush\n")
    (tmp_path / "token").write_text("c2VjcmV0\n")
    entries = [{"url": "https://alerts.example/path/", "basic-auth-file": str(tmp_path / "password")},
               {"url": "http://127.0.0.1:9093/alertmanager", "token-file": str(tmp_path / "token")}, {"url": "http://[::1]:9093"}]
    file = tmp_path / "controller.yaml"
    file.write_text(json.dumps({"v": 1, "alertmanagers": entries, "external-url": "https://assay.example"}))
    done = subprocess.run([build / "assay-controller", "--check", "--config", file], env=environ, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done
