# SPDX-License-Identifier: Apache-2.0
"""A fake API server that sends exactly the bytes a test wants to kube_probe.

tests/kube tests with a real one; this is for what a real one does not do on demand.
"""
import base64
import contextlib
import json
import queue
import socket
import ssl
import subprocess
import threading

DEADLINE_S = 60  # for hangs; no passing test waits for it


def answer(status, body=b"", kind="application/json", **headers):
    """The bytes of a complete response."""
    if not isinstance(body, bytes):
        body = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


WATCH = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.body = method, target, body
        self.path, _, query = target.partition("?")
        self.query = query.split("&") if query else []
        self.headers = headers  # [(lower-case name, value)]: names may repeat

    def all(self, name):
        return [v for k, v in self.headers if k == name]

    def get(self, name):
        return next(iter(self.all(name)), None)


class FakeApi:
    """serve(request, connection) is called for each request and returns the response bytes, or None to cut the connection."""

    def __init__(self, serve, context=None):
        self.serve, self.context = serve, context
        self.requests, self.connections = [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.accepter = threading.Thread(target=self.accept, daemon=True)
        self.accepter.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.run, args=(connection, ), daemon=True).start()

    def run(self, connection):
        try:
            connection.settimeout(DEADLINE_S)
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as reader:
                while True:
                    request = self.read(reader)
                    reply = request and self.serve(request, connection)
                    if reply is None:
                        return
                    connection.sendall(reply)
        except (OSError, ValueError):
            pass

    def read(self, reader):
        first = reader.readline().split()
        if len(first) < 3:
            return None
        headers = []
        while (line := reader.readline().strip()):
            name, _, value = line.decode().partition(":")
            headers.append((name.lower(), value.strip()))
        length = next((int(v) for k, v in headers if k == "content-length"), 0)
        request = Request(first[0].decode(), first[1].decode(), headers, reader.read(length))
        self.requests.append(request)
        return request

    def stop(self):
        """Stops listening: the next connection is refused."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.accepter.join()
        self.listener.close()


class Probe:
    """kube_probe: ask() returns the answer; lines are those of a watch before it."""

    def __init__(self, build, kubeconfig, env):
        self.process = subprocess.Popen([str(build / "tests/kube/kube_probe"), str(kubeconfig)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.said = queue.Queue()
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said.put(json.loads(line))

    def send(self, method, path, **more):
        self.process.stdin.write(json.dumps({"method": method, "path": path, **more}) + "\n")
        self.process.stdin.flush()

    def answer(self):
        """The next answer."""
        while True:
            said = self.said.get(timeout=DEADLINE_S)
            if "line" not in said:
                return said
            self.lines.append(said["line"])

    def ask(self, method, path, **more):
        self.send(method, path, **more)
        return self.answer()

    def stop(self):
        """Its exit status and stderr."""
        self.process.stdin.close()
        status = self.process.wait(DEADLINE_S)
        self.reader.join(DEADLINE_S)
        with self.process.stderr, self.process.stdout:
            return status, self.process.stderr.read()


class Authority:
    """A CA in a directory: certificates by name."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
                     "-out", "ca.crt", "-days", "2", "-subj", "/CN=test")
        self.ca = directory / "ca.crt"

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.directory, check=True, capture_output=True)

    def make(self, name, alt=None):
        """(certificate, key) for a name; alt is "IP:127.0.0.1" or "DNS:x"."""
        (self.directory / "ext").write_text(f"subjectAltName={alt}\n" if alt else "")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                     f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                     "-out", f"{name}.crt", "-days", "2", "-extfile", "ext")
        return self.directory / f"{name}.crt", self.directory / f"{name}.key"

    def server(self, alt="IP:127.0.0.1", clients=False):
        """A TLS context for a server with a certificate of this CA."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.make("server", alt))
        if clients:
            context.load_verify_locations(self.ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def data(path):
    """A file in the form of *-data in a kubeconfig."""
    return base64.b64encode(path.read_bytes()).decode()


def kubeconfig(path, server, cluster=None, user=None):
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "test", "user": user or {}}]}))
    return path
