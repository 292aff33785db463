# SPDX-License-Identifier: Apache-2.0
"""A stub of the controller for assayctl, with any answers a test needs, also malformed ones."""
import http.server
import json
import threading
import urllib.parse

import pytest


def node(name="gpu-1", verdict="pass", sentence=None, **more):
    return {"node": name, "verdict": verdict, "last_verdict": verdict, "sentence": sentence or f"{verdict}: 8 checks", "sku": "x",
            "profile": "quick", "time": "2026-11-20T10:00:00Z", "agent": "0.1.0", "boot_id": "b0", "seq": 1,
            "seen": "2026-11-20T10:00:00Z", "first_seen": "2026-11-20T10:00:00Z", "age_s": 1.0, "stale": False,
            "topology": None, "env": {}, "connection": "connected", **more}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.stub.lock:
            if self.headers["Content-Type"] == "application/json":
                self.server.stub.sent.append((self.path, json.loads(body)))
            else:
                self.server.stub.raw.append((self.path, dict(self.headers), body))
        self.do_GET()

    def do_GET(self):
        stub = self.server.stub
        path = urllib.parse.urlsplit(self.path)
        with stub.lock:
            stub.asked.append(self.path)
            stub.headers = dict(self.headers)
            answer = stub.answers.get(path.path, (404, {"detail": "there is nothing here"}))
        if callable(answer):
            answer = answer(dict(urllib.parse.parse_qsl(path.query)))
        if answer is None:
            stub.ended.wait(60)
            self.close_connection = True
            return
        if isinstance(answer, bytes):
            self.wfile.write(answer)
            self.close_connection = True
            return
        status, value, *headers = answer
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


class Stub:
    """answers[path] is (status, value or bytes, header...), raw bytes, None (never), or a function of the query.

    sent: (path, value) of each POST of JSON; raw: (path, headers, bytes) of each other POST.
    """

    def __init__(self):
        self.answers, self.asked, self.sent, self.raw, self.headers = {}, [], [], [], {}
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.stub, self.server.daemon_threads = self, True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.nodes("gpu-07", "gpu-17")

    def list(self, path, items):
        with self.lock:
            self.answers[path] = (200, {"items": items, "next": None})

    def nodes(self, *names):
        self.list("/v1/nodes", [n if isinstance(n, dict) else node(n) for n in names])

    def close(self):
        if not self.ended.is_set():
            self.ended.set()
            self.server.shutdown()
            self.server.server_close()


@pytest.fixture
def stub():
    s = Stub()
    yield s
    s.close()
