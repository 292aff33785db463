# SPDX-License-Identifier: Apache-2.0
"""A faulty path to the API server: a proxy with TLS on both sides that injects faults of networks and servers.

    with chaos.Chaos(kube) as way:
        start_controller(kube.kubeconfig("ctl", url=way.url))
        way.set("busy", retry_after=1)
        ...
        way.set("pass")

Clients are identified by their token, because client certificates end at the proxy.
"""
import collections
import contextlib
import http.client
import http.server
import json
import re
import socket
import ssl
import threading

from apiserver import make_certificate

UPSTREAM_S = 120
HELD_S = 120
CHUNK = 65536
HOPS = ("connection", "transfer-encoding", "content-length", "host", "keep-alive")
NODES = re.compile(r"/api/v1/nodes(\?|$)")  # lists and watches of all
NODE = re.compile(r"/api/v1/nodes/[^/?]+(/status)?(\?|$)")
WATCH = re.compile(r"[?&]watch=(1|true)(&|$)")


def status(code, reason, message):
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": code,
                       "message": message}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    """One client connection, with sequential requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        self.way, self.upstream = self.server.way, None
        self.request = self.way.greet(self.request)
        super().setup()

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()
        self.way.forget(self.request)
        self.hang_up()
        self.request.close()

    def log_message(self, *_):
        pass

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        self.mode, options = self.way.mode
        self.way.note(self.mode, self.command, self.path)
        MODES[self.mode](self, body, **options)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

    def counts(self):
        """Counts an injected fault, before the client can see it."""
        self.way.count(self.mode)

    def cut(self):
        """Closes this connection."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, code, kind, body, **headers):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def ask(self, body, **more):
        """The server's response to this request, with `more` headers; None if there is none. A write is sent only once, so the client
        sees its loss."""
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOPS} | more
        for _ in range(2):
            fresh = self.upstream is None
            try:
                if fresh:
                    self.upstream = self.way.connect()
                self.upstream.request(self.command, self.path, body, headers)
                return self.upstream.getresponse()
            except (OSError, http.client.HTTPException):
                self.hang_up()
                if fresh or self.command != "GET":
                    return None
        return None

    def hang_up(self):
        if self.upstream:
            self.upstream.close()
        self.upstream = None

    def begin(self, answer):
        """Sends the response header. Returns true if the length is known."""
        length = answer.getheader("Content-Length")
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in (*HOPS, "server", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", length) if length else self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        return bool(length)

    def piece(self, data, whole):
        self.wfile.write(data if whole else b"%x\r\n%s\r\n" % (len(data), data))


# Each handles a request; those that inject a fault count it first.


def passes(handler, body, **more):
    hand_on(handler, handler.ask(body, **more))


def hand_on(handler, answer):
    if answer is None:
        handler.cut()
        return
    try:
        whole = handler.begin(answer)
        while data := answer.read1(CHUNK):
            if WATCH.search(handler.path):
                handler.way.let_hear()
            handler.piece(data, whole)
        if not whole:
            handler.wfile.write(b"0\r\n\r\n")
        answer.close()  # read1() does not close it, and a connection with an unread response cannot be reused
    except (OSError, ValueError, http.client.HTTPException):
        handler.cut()


def slow(handler, body, seconds):
    """Delays each response, until the mode changes."""
    handler.counts()
    if not handler.way.changed.wait(seconds):
        handler.way.count("slowed")
    passes(handler, body)


def busy(handler, body, retry_after):
    """The response of an overloaded server before it processes anything: text, not JSON."""
    handler.counts()
    handler.answer(429, "text/plain; charset=utf-8", b"Too many requests, please try again later.\n", Retry_After=retry_after)


def conflict(handler, body, every=2):
    """Every `every`-th change of a node conflicts with a concurrent change."""
    if handler.command != "PATCH" or not NODE.match(handler.path) or handler.way.next_patch() % every:
        return passes(handler, body)
    handler.counts()
    return handler.answer(409, "application/json", status(409, "Conflict", "Operation cannot be fulfilled: the object has been modified; "
                                                   "please apply your changes to the latest version and try again"))


def cut(handler, body):
    """The server executes it, and only half of its response arrives."""
    answer = handler.ask(body)
    handler.counts()
    if answer is not None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            whole = handler.begin(answer)
            data = answer.read1(CHUNK)
            handler.piece(data[:len(data) // 2], whole)
    handler.cut()
    handler.hang_up()


def gone(handler, body):
    """A watch from a compacted version: an ERROR event in a response with status 200."""
    if not WATCH.search(handler.path):
        return passes(handler, body)
    line = {"type": "ERROR", "object": json.loads(status(410, "Expired", "too old resource version: 5 (254)"))}
    handler.counts()
    return handler.answer(200, "application/json", json.dumps(line).encode() + b"\n")


def blind(handler, body):
    """Listing and watching nodes fails; single nodes can be read."""
    if not NODES.match(handler.path):
        return passes(handler, body)
    handler.counts()
    return handler.cut()


def expired(handler, body, old, token):
    """The client's token `old` is replaced by the expired `token`, which the server rejects."""
    if handler.headers.get("Authorization") != "Bearer " + old:
        return passes(handler, body)
    handler.counts()
    return passes(handler, body, Authorization="Bearer " + token)


def drop(handler, body):
    handler.counts()
    handler.cut()


def hold(handler, body, which, after, lost, until):
    """Requests for which which(method, path, body) is true wait until the mode changes: before they reach the server, or with its
    response (after=). The client may have given up meanwhile; a request not sent yet arrives anyway, as in a network, unless
    lost= is set."""
    if not which(handler.command, handler.path, body or b""):
        return passes(handler, body)
    answer = handler.ask(body) if after else None
    handler.way.held.append(handler.path.partition("?")[0])
    handler.counts()
    until.wait(HELD_S)
    if lost:
        return handler.cut()
    return hand_on(handler, answer if after else handler.ask(body))


MODES = {"pass": passes, "hold": hold, "slow": slow, "busy": busy, "conflict": conflict, "cut": cut, "gone": gone, "blind": blind,
         "deaf": passes, "expired": expired, "drop": drop}
CUTTING = ("drop", "cut", "gone", "blind", "expired")  # also close running watches


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Ignores clients that disconnect, and failed handshakes."""


class Chaos:
    """`set()` sets the mode. `did` counts injected faults by mode."""

    def __init__(self, server):
        self.server, self.mode, self.did, self.seen = server, ("pass", {}), collections.Counter(), []
        self.lock, self.changed, self.live, self.patches = threading.Lock(), threading.Event(), set(), 0
        self.held = []  # paths of the requests that waited in `hold`
        self.renew()
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.way = self
        self.url = "https://127.0.0.1:%d" % self.listener.server_address[1]
        self.thread = threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True)

    def renew(self):
        """Creates a certificate of the server's current CA."""
        make_certificate(self.server.directory, "ca", "chaos", "/CN=chaos", "serverAuth")

    def set(self, mode, **options):
        """pass | slow seconds= | hold which= after= lost= | busy retry_after= | conflict every= | cut | gone | blind | deaf (watch
        events are delayed) | expired old= token= | drop. Requests that wait in `slow`, `hold` or `deaf` continue."""
        with self.lock:
            before, self.changed = self.changed, threading.Event()
            if mode == "hold":
                options, self.held = {"after": False, "lost": False, **options, "until": self.changed}, []
            self.mode = (mode, options)
            live = list(self.live) if mode in CUTTING else []
        before.set()
        for connection in live:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def greet(self, connection):
        """The TLS handshake of a new connection."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server.directory / "chaos.crt", self.server.directory / "chaos.key")
        with self.lock:
            if self.mode[0] == "drop":
                self.did["drop"] += 1
                raise ConnectionAbortedError
        connection = context.wrap_socket(connection, server_side=True)
        with self.lock:
            self.live.add(connection)
        return connection

    def forget(self, connection):
        with self.lock:
            self.live.discard(connection)

    def connect(self):
        context = ssl.create_default_context(cafile=self.server.ca)
        return http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=UPSTREAM_S, context=context)

    def let_hear(self):
        """Called before a watch event is sent: returns at once, unless the mode is deaf."""
        while True:
            with self.lock:
                mode, changed = self.mode[0], self.changed
                if mode != "deaf":
                    return
                self.did["deaf"] += 1
            changed.wait(UPSTREAM_S)

    def note(self, mode, method, path):
        with self.lock:
            self.seen.append((mode, method, path))

    def count(self, mode):
        with self.lock:
            self.did[mode] += 1

    def next_patch(self):
        with self.lock:
            self.patches += 1
            return self.patches

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.set("drop")
        self.listener.shutdown()
        self.listener.server_close()
        self.thread.join(UPSTREAM_S)
