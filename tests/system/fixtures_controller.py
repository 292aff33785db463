# SPDX-License-Identifier: Apache-2.0
"""A controller on a free port with its own store, and reports to send to it."""
import contextlib
import gzip
import http.client
import json
import signal
import socket
import ssl
import subprocess
import time

import openapi
import pytest

START_S = 60
RESEND_S = 60


def sample(check="gemm.rate", subject="cpu:0", value=70e9, unit="FLOP/s", **more):
    return {"v": 1, "check": check, "subject": subject, "value": value, "unit": unit, "better": "higher", "ok": None,
            "state": "measured", **more}


def report(node="gpu-1", seq=1, boot_id="b0", samples=None, **more):
    """A report; by default of eight equal cores."""
    if samples is None:
        samples = [sample(subject=f"cpu:{i}", value=70e9 + i * 1e8) for i in range(8)]
    return {"v": 1, "kind": "report", "node": node, "boot_id": boot_id, "seq": seq, "time": "2026-11-20T10:00:00Z",
            "profile": "quick", "agent": "0.1.0", "sku": "generic-cpu", "env": {"kernel": "6.1.0"}, "duration_s": 12.5,
            "samples": samples, "problems": [], **more}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Controller:
    """A running assay-controller."""

    def __init__(self, process, address, db, tls=None):
        self.process, self.db, self.tls = process, db, tls
        host, _, port = address.rpartition(":")
        self.host, self.port = host.strip("[]"), int(port)

    def connect(self, timeout=30):
        """A raw socket without credentials."""
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def connection(self, timeout=30, context=None):
        if self.tls:
            context = context or ssl.create_default_context(cafile=self.tls)
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def call(self, method, path, body=None, token=None, headers=None, timeout=30, context=None):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        with contextlib.closing(self.connection(timeout, context)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer = Answer(answer.status, answer.headers, answer.read())
        openapi.check(method, path, answer)
        return answer

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, value, zipped=False, **more):
        """Send a report: an object, or raw bytes."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = dict(more.pop("headers", {}))
        if zipped:
            body = gzip.compress(body)
            headers["Content-Encoding"] = "gzip"
        return self.call("POST", "/v1/reports", body, headers=headers, **more)

    def post_again(self, value, **more):
        """Send a report like an agent: if the controller is busy, retry after the time it gives."""
        deadline = time.monotonic() + RESEND_S
        while True:
            answer = self.post(value, **more)
            if answer.status != 503 or time.monotonic() > deadline:
                return answer
            time.sleep(int(answer.headers["Retry-After"]))

    def metrics(self):
        """{name{labels}: value} of all metrics; OSError if the controller is shutting down."""
        answer = self.get("/metrics")
        if answer.status == 503:
            raise ConnectionAbortedError(answer.body.decode())
        lines = answer.body.decode().splitlines()
        return {k: float(v) for k, _, v in (line.rpartition(" ") for line in lines if line and line[0] != "#")}

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """A clean stop: its exit status and output."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=START_S)
        return self.process.returncode, out, err


@pytest.fixture
def controller(build, environ, tmp_path):
    """controller("--tokens", file, ...) starts one and returns it; after kill() or stop() the next has the same store."""
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    started = []

    def start(*args, db=None, tls=None, env=None, of=build):
        db = db or tmp_path / "assay.db"
        where = [] if "--listen" in args else ["--listen", "127.0.0.1:0"]
        errors = open(tmp_path / f"controller-{len(started)}.log", "w+")
        process = subprocess.Popen([f"{of}/assay-controller", *where, "--db", str(db), *map(str, args)],
                                   env={**environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, text=True)
        started.append(process)
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            errors.seek(0)
            pytest.fail(f"the controller did not start: {line!r} {errors.read()}")
        c = Controller(process, line.split()[-1], db, tls)
        c.log = lambda: open(errors.name).read()
        return c

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
