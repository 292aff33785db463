# SPDX-License-Identifier: Apache-2.0
"""A fake controller for the web page: it serves the page's files like the real one, and answers set by the test.

So a test can have ten thousand hosts, hostile names, or a controller that stops halfway, without real ones. Its answers follow
docs/openapi.yaml.
"""
import base64
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "page"
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
VERDICTS, LIVES = ["pass", "inconclusive", "warn", "fail"], ["healthy", "suspected", "retesting", "cordoned", "drained", "in-repair", "verifying", "released", "sticky"]
SERVICES, CONNECTIONS = ["in-service", "cordoned", "held", "not-ready"], ["none", "connected", "suspect"]
COLUMNS = ("verdict", "stale", "life", "service", "connection", "domain", "sku", "incidents")
RACK = 32
HOLD_S = 5


def policy(html):
    """The Content-Security-Policy that controller/http/page_index.c builds."""
    found = re.search(r'<script type="importmap">(.*?)</script>', html, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
    return ("default-src 'none'; script-src 'self' 'sha256-%s'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
            "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'" % digest)


def stamp(at=None):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at or time.time()))


class Fleet:
    """Hosts by number; by default a host passes, is healthy and in service."""

    def __init__(self, n, names=None, racks=None):
        self.names = names or ["gpu-%02d" % i for i in range(n)]
        self.racks = racks or ["r%02d" % k for k in range((n + RACK - 1) // RACK)]
        self.skus = ["hgx-h100"]
        self.said = {i: {"domain": i // RACK, "connection": 1} for i in range(n)}
        self.sentences = {}
        self.controller, self.version, self.changed = "c1", 1, {}
        self.breaker = {"open": False, "cause": None, "reason": None, "opened": None, "reset": None, "reset_by": None, "mode": "enforce", "epoch": 1,
                        "fenced": False, "stale": None, "stopped": None, "budget": [{"rule": "budget.total", "used": 1, "limit": 12}]}

    def put(self, i, sentence=None, **columns):
        self.said[i].update(columns)
        self.version += 1
        self.changed[i] = self.version
        if sentence is not None:
            self.sentences[i] = sentence

    def answer(self, since=None):
        ids = list(self.said) if since is None else [i for i, v in self.changed.items() if v > since]
        worst = sorted((i for i in self.said if self.said[i].get("verdict")), key=lambda i: (-self.said[i]["verdict"], self.said[i].get("service", 0)))[:32]
        body = {"controller": self.controller, "epoch": 1, "version": "%s-%d" % (self.controller, self.version), "as_of": stamp(), "whole": since is None,
                "reset": False, "policy": {"mode": "enforce", "version": "0bc9c768", "domain_label": "rack"}, "breaker": self.breaker, "counts": {},
                "nodes": {"names": [self.names[i] for i in ids], **{c: [self.said[i].get(c, 0) for i in ids] for c in COLUMNS}},
                "worst": [{"node": self.names[i], "verdict": VERDICTS[self.said[i]["verdict"]], "in_service": self.said[i].get("service", 0) == 0,
                           "sentence": self.sentences.get(i)} for i in worst],
                "changed": {k: [] for k in ("incidents", "actions", "campaigns", "jobs", "investigations")}}
        if since is None:
            body.update(verdicts=VERDICTS, lives=LIVES, services=SERVICES, connections=CONNECTIONS, domains=self.racks, skus=self.skus)
        return body

    def since(self, version):
        controller, number = version.rsplit("-", 1)
        if controller != self.controller:
            return {"controller": self.controller, "epoch": 1, "version": "%s-%d" % (self.controller, self.version), "as_of": stamp(), "whole": False, "reset": True}
        return self.answer(int(number))


class Fake:
    """A server on loopback. `routes` overrides the fleet: path without query -> (status, body) or a function of (method, body)."""

    def __init__(self, fleet):
        self.fleet, self.routes, self.asked, self.silent, self.refused = fleet, {}, [], False, False
        self.self = {"role": "operate", "name": "ada", "until": None, "open": False, "version": "0", "page": "V"}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def answer(self, status, data, kind, **headers):
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                outer.serve(self)
            do_POST = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass  # the browser went to another page

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = "http://127.0.0.1:%d/" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def serve(self, call):
        url = urllib.parse.urlparse(call.path)
        length = int(call.headers.get("Content-Length") or 0)
        data = call.rfile.read(length) if length else None
        if data is not None:
            data = data.decode() if "yaml" in (call.headers.get("Content-Type") or "") else json.loads(data)
        if url.path.startswith("/v1/"):
            self.asked.append((call.command, call.path))
            if self.silent:
                threading.Event().wait(60)
                return
            status, body = self.api(call, url, data)
            later = {"Retry_After": "1"} if status == 503 else {}
            call.answer(status, b"" if body is None else json.dumps(body).encode(), "application/json" if status < 400 else "application/problem+json", **later)
        else:
            self.file(call, url.path)

    def file(self, call, path):
        if path == "/":
            html = (PAGE / "index.html").read_text().replace("@VERSION@", "V")
            call.answer(200, html.encode(), "text/html; charset=utf-8", Content_Security_Policy=policy(html))
            return
        found = PAGE / path.removeprefix("/V/")
        if not path.startswith("/V/") or ".." in path or not found.is_file():
            call.answer(404, b"", "text/plain")
        else:
            call.answer(200, found.read_bytes(), TYPES.get(found.suffix, "text/plain"))

    def api(self, call, url, data):
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path in self.routes:
            found = self.routes[url.path]
            return found(call.command, data) if callable(found) else found
        if self.refused:
            return 401, {"type": "about:blank", "title": "Unauthorized", "status": 401, "detail": "no session"}
        if url.path == "/v1/self":
            return 200, self.self
        if url.path == "/v1/breaker":
            return 200, self.fleet.breaker
        if url.path == "/v1/fleet":
            return 200, self.fleet.answer()
        if url.path == "/v1/changes":
            return 200, self.held(query["since"], min(float(query["wait"]), HOLD_S))
        return 404, {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no such thing: " + url.path}

    def held(self, version, wait):
        end, pause = time.monotonic() + wait, threading.Event()
        while time.monotonic() < end and not self.refused and version == "%s-%d" % (self.fleet.controller, self.fleet.version):
            pause.wait(0.05)
        return self.fleet.since(version)
