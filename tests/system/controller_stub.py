# SPDX-License-Identifier: Apache-2.0
"""A small controller for tests of assayd: real sockets, real HTTP, and any misbehaviour a test needs."""
import gzip
import http.server
import json
import select
import socket
import ssl
import subprocess
import threading
import time


class Answer:
    """The stub's answer to one POST; raw=bytes is sent unchanged and the connection is cut."""

    def __init__(self, status=202, body=None, headers=None, raw=None):
        self.status = status
        self.body = {"accepted": 1} if body is None and status == 202 else body
        self.headers = headers or {}
        self.raw = raw


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def log_message(self, *_):
        pass

    def say(self, answer):
        if answer.raw is not None:
            self.wfile.write(answer.raw)
            self.close_connection = True
            return
        body = b"" if answer.body is None else json.dumps(answer.body).encode()
        lines = [f"HTTP/1.1 {answer.status} X", f"Content-Length: {len(body)}"]
        lines += [f"{k}: {v}" for k, v in answer.headers.items()]
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def read(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        packed = self.headers.get("Content-Encoding") == "gzip"
        body = gzip.decompress(body) if packed else body
        with self.server.stub.lock:
            self.server.stub.sent.append((self.path, str(self.headers), body))
        return body, packed

    def do_POST(self):
        body, packed = self.read()
        stub = self.server.stub
        with stub.lock:
            if self.path.startswith("/v1/traces?"):
                answer = stub.on_trace(self, body)
            elif not self.path.endswith("/batch"):
                answer = stub.on_report(self, json.loads(body), packed)
            elif not stub.takes_lines:
                answer = Answer(404)
            else:
                answer = stub.on_lines(self, body.split(b"\n"), packed)
        self.say(answer)

    def do_PUT(self):
        body, _ = self.read()
        stub, what = self.server.stub, self.path.rpartition("/")[2]
        with stub.lock:
            if what == "processes":
                answer = stub.on_processes(body)
            elif what == "hang":
                answer = stub.on_hang(self.path, body)
            else:
                answer = stub.on_topology(what, body)
        self.say(answer)

    def do_GET(self):
        stub = self.server.stub
        with stub.lock:
            stub.asked.append((self.path, dict(self.headers)))
            refusal = stub.orders_answer
        if refusal:
            self.say(refusal)
            return
        if self.path.endswith("wait=none"):
            self.say(Answer(400, {"title": "wait"}))
            return
        orders = stub.hold(self.connection, float(self.path.split("wait=")[1]))
        if orders is None:
            self.close_connection = True
        else:
            self.say(Answer(200, orders) if orders else Answer(204))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, stub, host, port, tls):
        self.stub = stub
        self.tls = tls
        self.open = set()
        super().__init__((host, port), Handler)

    def finish_request(self, request, client_address):
        self.stub.connections += 1
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
            names = dict(pair for rdn in (request.getpeercert() or {}).get("subject", ()) for pair in rdn)
            self.stub.peers.append(names.get("commonName"))
        self.open.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            self.open.discard(request)
            request.close()

    def handle_error(self, *_):
        pass


class Stub:
    """The controller: what arrived (seqs, in order), what it stored, what it answers."""

    def __init__(self, tls=None, host="127.0.0.1"):
        self.lock = threading.RLock()
        self.on_trace = lambda handler, body: Answer(404)
        self.came = []          # seq of every POST, with repeats
        self.stored = {}        # (node, boot_id, seq) -> report
        self.headers = []       # of every POST
        self.packed = []
        self.asked = []         # (path, headers) of every GET
        self.sent = []          # (path, headers, body) of every POST and PUT, in order
        self.script = []        # Answers to the next POSTs; then the usual ones
        self.store_first = True  # store before giving a scripted answer
        self.takes_lines = False  # accepts several reports in one call
        self.lines = []         # number of reports in each such call
        self.topologies = {}    # digest -> topology
        self.wants_topologies = False
        self.orders_answer = None
        self.orders = []
        self.held = 0
        self.times_held = 0
        self.connections = 0
        self.peers = []         # common name of the client certificate of each connection
        self.tls = tls
        self.host = host
        self.port = 0
        self.server = None
        self.thread = None
        self.start()

    def start(self):
        self.server = Server(self, self.host, self.port, self.tls)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self):
        """Stops as if killed: cuts all connections."""
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.server.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def seqs(self):
        with self.lock:
            return [key[2] for key in self.stored]

    def on_report(self, request, report, packed):
        self.came.append(report["seq"])
        self.headers.append(dict(request.headers))
        self.packed.append(packed)
        answer = self.script.pop(0) if self.script else None
        if answer and not self.store_first:
            return answer
        key = (report["node"], report["boot_id"], report["seq"])
        known = key in self.stored
        if answer is None or answer.status < 400:
            self.stored.setdefault(key, report)
        return answer or self.wanting(Answer(200, {"duplicate": 1}) if known else Answer(), report)

    def wanting(self, answer, *reports):
        wanted = [r["topology"] for r in reports if r["topology"] and r["topology"] not in self.topologies]
        if self.wants_topologies and wanted:
            answer.body["want_topologies"] = wanted
        return answer

    def on_lines(self, request, lines, packed):
        """Handles each report as if it came alone, up to the first that has to be retried."""
        self.lines.append(len(lines))
        results, reports, failed = [], [json.loads(line) for line in lines], None
        for report in reports:
            failed = answer = self.on_report(request, report, packed)
            if answer.raw is not None or answer.status not in (200, 202, 400, 413, 422):
                break
            results.append({"status": answer.status, **({"detail": answer.body["detail"]} if answer.status >= 400 else {})})
        if failed.raw is not None or not results:
            return failed
        return self.wanting(Answer(202, {"accepted": len(results), "duplicate": 0, "results": results}), *reports)

    def on_processes(self, _):
        return Answer(200, {"processes": 0})

    def on_hang(self, *_):
        return Answer(404)

    def on_topology(self, digest, body):
        self.topologies[digest] = body
        return Answer(201, {"digest": digest})

    def hold(self, connection, seconds):
        """The orders that arrive within `seconds`; None if the client disconnects."""
        deadline = time.monotonic() + seconds
        with self.lock:
            self.held += 1
            self.times_held += 1
        try:
            while time.monotonic() < deadline:
                with self.lock:
                    if self.orders:
                        orders, self.orders = self.orders, []
                        return orders
                if select.select([connection], [], [], 0.02)[0]:
                    return None
            return []
        finally:
            with self.lock:
                self.held -= 1


def server_tls(cert, key, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if client_ca:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def make_certificates(directory):
    """ca.pem; server.{pem,key} for localhost and 127.0.0.1; client.{pem,key} for node n1 and renewed.{pem,key}; other.pem, a CA that signed neither."""

    def openssl(*args):
        subprocess.run(["openssl", *map(str, args)], cwd=directory, check=True, capture_output=True)

    def make_ca(name):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.pem")

    make_ca("ca")
    make_ca("other")
    for name, subject in (("server", "localhost"), ("client", "n1"), ("renewed", "renewed")):
        (directory / f"{name}.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={subject}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", f"{name}.ext", "-out", f"{name}.pem")
