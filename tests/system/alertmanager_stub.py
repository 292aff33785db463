# SPDX-License-Identifier: Apache-2.0
"""An Alertmanager for tests: it validates POST /api/v2/alerts and handles endsAt like the real one. Also the real one, where it is
installed, with a webhook that receives its notifications."""
import contextlib
import datetime
import http.server
import json
import shutil
import subprocess
import threading
import time
import urllib.request

import pytest
from collective_fixtures import free_port
from waiting import wait_for

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
LABEL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"


def stamp(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def wrong(alert):
    """The error of api/v2/api.go and types.Alert.Validate(), or None."""
    labels, notes = alert.get("labels"), alert.get("annotations", {})
    if not isinstance(labels, dict) or not any(labels.values()):
        return "at least one label pair required"
    for name, value in [*labels.items(), *notes.items()]:
        if not name or set(name) - set(LABEL) or name[0].isdigit():
            return f"invalid name {name!r}"
        if not isinstance(value, str):
            return f"{name}: not a text"
    if stamp(alert["endsAt"]) < stamp(alert["startsAt"]):
        return "start time must be before end time"
    return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextlib.contextmanager
def serving(handler, port=0, tls=None):
    server = Server(("127.0.0.1", port), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class Stub:
    """fires and resolves are (time, labels) of alerts that became active and resolved, as a notifier would see it."""

    def __init__(self, port=0, tls=None):
        self.tls = tls
        self.lock = threading.Lock()
        self.alerts, self.posts, self.fires, self.resolves, self.unheard, self.refused = {}, [], [], [], [], []
        self.status, self.delay, self.headers = 200, 0, []
        self.ahead = 0  # seconds by which its clock is ahead
        self.held = threading.Event()
        self.context = None
        self.port = port

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.ahead)

    def take(self, alerts):
        bad = None
        now = self.now()
        for alert in alerts:
            bad = wrong(alert) or bad
            if wrong(alert):
                self.refused.append(alert)
                continue
            key = json.dumps(alert["labels"], sort_keys=True)
            before = self.alerts.get(key)
            active = before is not None and stamp(before["endsAt"]) > now
            if stamp(alert["endsAt"]) > now:
                if not active:
                    self.fires.append(alert["labels"])
            else:
                (self.resolves if active else self.unheard).append(alert["labels"])
            self.alerts[key] = alert
        return bad

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.lock:
            self.headers.append(dict(handler.headers))
            status = self.status
            alerts = json.loads(body)
            assert handler.path == "/api/v2/alerts" and handler.headers["Content-Type"] == "application/json", handler.path
            if status == 200:
                bad = self.take(alerts)
                self.posts.append((time.monotonic(), alerts))
                status = 400 if bad else 200
        if self.delay:
            self.held.wait(self.delay)
        text = b'"bad"' if status == 400 else b""
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def start(self):
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                with contextlib.suppress(ConnectionError):
                    stub.answer(self)

            def log_message(self, *args):
                pass

        self.context = serving(Handler, self.port, self.tls)
        self.port = self.context.__enter__()
        return self

    def stop(self):
        context, self.context = self.context, None
        if context:
            context.__exit__(None, None, None)

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def active(self):
        """Labels of the firing alerts."""
        now = self.now()
        with self.lock:
            return [a["labels"] for a in self.alerts.values() if stamp(a["endsAt"]) > now]

    def named(self, name):
        """The alerts of that name, as last posted."""
        with self.lock:
            return [a for a in self.alerts.values() if a["labels"]["alertname"] == name]

    def count(self, name):
        """(fired, resolved) of alerts of that name."""
        with self.lock:
            return tuple(sum(labels["alertname"] == name for labels in heard) for heard in (self.fires, self.resolves))


@pytest.fixture
def alertmanager():
    """alertmanager(tls=None) starts one on a free port."""
    started = []

    def start(**more):
        started.append(Stub(**more).start())
        return started[-1]

    yield start
    for stub in started:
        stub.held.set()
        stub.stop()


# --- the real one ---

CONFIG = """
route:
  receiver: hook
  group_by: ['...']
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: hook
    webhook_configs:
      - url: http://127.0.0.1:%d/
        send_resolved: true
"""


class Real:
    """A real Alertmanager. notices: (status, labels) of each alert in each notification."""

    def __init__(self, where):
        self.where, self.port, self.process = where, free_port(), None
        self.notices, self.lock = [], threading.Lock()
        real = self

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with real.lock:
                    real.notices += [(a["status"], a["labels"]) for a in body["alerts"]]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.hook = serving(Hook)
        (where / "alertmanager.yml").write_text(CONFIG % self.hook.__enter__())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ready(self):
        try:
            return urllib.request.urlopen(self.url + "/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def start(self):
        with open(self.where / "log", "a") as log:
            self.process = subprocess.Popen(
                [PROGRAM, f"--config.file={self.where}/alertmanager.yml", f"--storage.path={self.where}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="], stdout=log, stderr=log)
        assert wait_for(self.ready), (self.where / "log").read_text()
        return self

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def alerts(self):
        with urllib.request.urlopen(self.url + "/api/v2/alerts", timeout=30) as answer:
            return json.load(answer)

    def queries(self):
        with urllib.request.urlopen(self.url + "/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return float(next(line for line in lines if line.startswith("alertmanager_nflog_queries_total")).split()[1])

    def has_recorded(self):
        """Is the notification in its log, which it consults each time? The webhook gets it earlier."""
        before = self.queries()
        return wait_for(lambda: self.queries() > before + 1)

    def heard(self, name):
        """The notifications of alerts of that name, in order."""
        with self.lock:
            return [status for status, labels in self.notices if labels["alertname"] == name]

    def close(self):
        self.stop()
        self.hook.__exit__(None, None, None)


@pytest.fixture
def real_alertmanager(tmp_path):
    """real_alertmanager() starts one; skips if it is not installed."""
    if not PROGRAM:
        pytest.skip("no alertmanager: apt-get install prometheus-alertmanager")
    started = []

    def start():
        where = tmp_path / f"alertmanager-{len(started)}"
        where.mkdir()
        started.append(Real(where))
        return started[-1].start()

    yield start
    for one in started:
        one.close()
