# SPDX-License-Identifier: Apache-2.0
"""Malicious clients: each gets the right status and at most one log line, and good reports are stored meanwhile."""
import contextlib
import json
import re
import resource
import socket
import sqlite3
import ssl
import threading
import time

import pytest

import abuse
import openapi
from fixtures_controller import controller, report  # noqa: F401
from test_controller_access import certificates, client, over_tls, tokens  # noqa: F401
from waiting import wait_for

ANSWER_S = 60        # deadline for an answer on a busy machine
NOTICE_LINES = 10    # of a kind in a minute (controller/http/notice.h)
FIRST_S = 10         # API_FIRST_US
CUT_S = 60           # generous: cut by then
# A quiet connection touches about half of the library's 8 KiB for it, not always the same half: memory grows over waves up to the
# whole, and then no more. A leak would continue.
WAVES, FLAT = 6, 1.05
ATTACK_KIB = 24 * 1024  # growth allowed after all attacks
BODIES_OF_ONE = 32 * 1024 * 1024  # API_BODIES_PEER_MAX
CONNECTION_KIB = 24  # of a silent one
TLS_CONNECTION_KIB = 64


@pytest.fixture(params=["plain", "tls"])
def guarded(request, controller, over_tls, tokens, tmp_path):
    """guarded("report-rate: 9", ...) starts one with a token of each kind and these settings."""
    path = tokens(one={"node": "gpu-1"}, two={"node": "gpu-2"}, read={"role": "read"}, admin={"role": "admin"})

    def start(*settings):
        config = tmp_path / "controller.yaml"
        config.write_text("v: 1\nreport-rate: 100000\nreport-burst: 100000\n" + "".join(s + "\n" for s in settings))
        return (over_tls if request.param == "tls" else controller)("--tokens", path, "--config", config)
    start.tls = request.param == "tls"
    return start


def rss_kib(c):
    with open(f"/proc/{c.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def lines(c):
    return c.log().splitlines()


def raw(c, source="127.0.0.1", tls=True):
    """A raw connection from any loopback address."""
    s = socket.create_connection((c.host, c.port), timeout=ANSWER_S, source_address=(source, 0))
    if c.tls and tls:
        s = ssl.create_default_context(cafile=c.tls).wrap_socket(s, server_hostname="127.0.0.1")
    return s


def answer(s):
    """Status and headers of the first response; (abuse.CLOSED, b"") if there is none."""
    text = b""
    try:
        while b"\r\n\r\n" not in text:
            more = s.recv(4096)
            if not more:
                break
            text += more
    except OSError:
        pass
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", text)
    return (int(found[1]), text) if found else (abuse.CLOSED, text)


def attack(c, data, source="127.0.0.1"):
    """Sends without reading."""
    with raw(c, source) as s:
        with contextlib.suppress(OSError):
            s.sendall(data)
        return answer(s)[0]


class Good(threading.Thread):
    """A host that reports continuously; records the statuses."""

    def __init__(self, c):
        super().__init__(daemon=True)
        self.c, self.statuses, self.ends = c, [], threading.Event()

    def run(self):
        with contextlib.closing(self.c.connection(timeout=ANSWER_S)) as connection:
            while not self.ends.is_set():
                body = json.dumps(report("gpu-2", len(self.statuses) + 1))
                connection.request("POST", "/v1/reports", body, {"Authorization": "Bearer two"})
                got = connection.getresponse()
                got.read()
                self.statuses.append(got.status)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join(ANSWER_S)

    def check(self, more_than):
        """Checks that it has continued beyond `more_than` reports."""
        assert wait_for(lambda: len(self.statuses) > more_than, ANSWER_S)
        assert set(self.statuses) == {202}


def stored(c):
    """Stops it. Returns how many reports of each host are in its store."""
    assert c.stop()[0] == 0
    with sqlite3.connect(c.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return dict(db.execute("SELECT n.node, count(*) FROM reports r JOIN nodes n ON n.id = r.node GROUP BY n.node"))


def test_every_attack_gets_its_status_and_at_most_a_line(guarded, configured, full):
    c = guarded()
    wrong = []
    with Good(c) as good:
        # Each has its own address, because a port may repeat.
        for i, (name, data, right) in enumerate(abuse.TABLE):
            status = attack(c, data, f"127.1.{i // 200}.{1 + i % 200}")
            if status not in right:
                wrong.append((name, status, right))
        good.check(len(good.statuses))
        first = rss_kib(c)
        if full or not configured("enable-sanitizers"):
            for i, (_, data, _) in enumerate(abuse.TABLE * (10 if full else 1)):
                attack(c, data, f"127.2.{i // 200}.{1 + i % 200}")
            good.check(len(good.statuses))
        if not configured("enable-sanitizers"):  # they keep freed memory
            assert rss_kib(c) <= first + ATTACK_KIB
    assert wrong == []
    said = [re.match(r"assay-controller: (refused|closed): [ -~]+ peer=(127\.[12]\.\d+\.\d+:\d+)$", line) for line in lines(c)
            if "not logged individually" not in line]  # the summary of suppressed lines, after a minute
    assert len(said) > 2 * NOTICE_LINES and None not in said, c.log()
    peers = [m[2] for m in said]
    assert [m[0] for m in said if peers.count(m[2]) > 1] == [], "two lines for one attack"
    assert wait_for(lambda: c.metrics()["assay_http_body_bytes"] == 0)
    assert stored(c) == {"gpu-2": len(good.statuses)}


def everything(s):
    """Reads until the peer closes. Returns the data, and whether it closed."""
    text = b""
    try:
        while more := s.recv(65536):
            text += more
    except TimeoutError:
        return text, False
    except OSError:
        pass
    return text, True


def test_what_can_be_read_two_ways_is_refused_and_ends_the_connection(guarded):
    """A proxy in front may have parsed it differently: a smuggled request is never executed."""
    c = guarded()
    for i, (name, data) in enumerate(abuse.FRAMES):
        with raw(c, f"127.3.0.{1 + i}") as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
            text, ended = everything(s)
        assert (set(re.findall(rb"HTTP/1\.[01] (\d+)", text)), ended) == ({b"400"}, True), name
    assert stored(c) == {}


def test_a_flood_does_not_fill_the_journal(guarded):
    c = guarded()
    for i in range(5 * NOTICE_LINES):
        assert c.get("/v1/nodes", token="wrong").status == 401
        assert c.post(report("gpu-1", i + 1), token="two").status == 403
    said = lines(c)
    assert len([s for s in said if "status=401" in s]) == NOTICE_LINES
    assert len([s for s in said if "status=403" in s and "gpu-1" in s]) == NOTICE_LINES
    assert len(said) == 2 * NOTICE_LINES


def operations():
    """(method, path, allowed without a token, for nodes, for readers) of each operation in the API's document."""
    for path, methods in openapi.document()["paths"].items():
        for method, what in methods.items():
            if method in ("get", "post", "put", "delete"):
                yield method.upper(), re.sub(r"\{[^}]*\}", "gpu-1", path), what.get("security") == [], "Role node" in what["summary"], (
                    method == "get" or "Role read" in what["summary"])


def test_nobody_does_what_his_role_does_not_allow(guarded):
    c = guarded("page: true")  # enables its routes
    rows = list(operations())
    assert len(rows) >= 14
    for method, path, anybody, node, read in rows:
        def status(token, method=method, path=path):
            body = None if method == "GET" else b"{}"
            return c.call(method, path + ("?wait=0" if "orders" in path else ""), body, token=token, timeout=ANSWER_S).status
        where = (method, path)
        refused = {token for token in (None, "wrong") if status(token) == 401}
        assert refused == (set() if anybody else {None, "wrong"}), where
        assert (status("read") == 403) == (not anybody and (node or not read)), where
        assert (status("one") == 403) == (not anybody and not node), where
        assert status("admin") not in (401, 403), where


def test_a_copy_is_the_first_one_whatever_it_says(guarded):
    c = guarded()
    first = report("gpu-1", 1)
    assert c.post(first, token="one").status == 202
    for copy in (first, report("gpu-1", 1, samples=[]), {**first, "time": "2030-01-01T00:00:00Z"}):
        assert (c.post(copy, token="one").status, c.post(copy, token="two").status) == (200, 403)
    assert c.get("/v1/nodes/gpu-1", token="read").json["time"] == first["time"]
    assert stored(c) == {"gpu-1": 1}


def test_garbage_behind_a_good_request_costs_only_the_connection(guarded):
    c = guarded()
    for garbage in (b"\1\2 nonsense\r\n\r\n", b"GET\r\n\r\n", abuse.request("GET", "/" + "x" * 9000)):
        with raw(c) as s:
            s.sendall(abuse.request("GET", "/healthz") * 3 + garbage)
            text = b""
            with contextlib.suppress(OSError):
                while more := s.recv(4096):
                    text += more
        assert text.count(b"HTTP/1.1 200 ") == 3
    assert c.get("/healthz").status == 200


def test_one_address_cannot_take_all_connections(guarded):
    c = guarded("connections-max: 20", "connections-per-peer: 8")

    def refused(source):
        """Is a new connection refused at once? An accepted one gets nothing before it sends. The close may be noticed late, so retry."""
        with raw(c, source, tls=False) as s:
            s.settimeout(1)
            if not c.tls:
                status, text = answer(s)
                return status == 503 and b"\r\nRetry-After: " in text
            try:
                return s.recv(1) == b""  # closed before a handshake
            except (TimeoutError, ConnectionResetError) as e:
                return isinstance(e, ConnectionResetError)

    def open_now():
        with contextlib.suppress(ValueError, OSError):  # this one was refused, with a response or a reset
            return c.metrics()["assay_http_connections"]

    def posted():
        with contextlib.suppress(OSError):  # the end of a refused connection may be a reset
            return c.post(report("gpu-1", 2), token="one").status in (200, 202)

    with contextlib.ExitStack() as stack:
        mine = [stack.enter_context(raw(c, "127.0.0.2", tls=False)) for _ in range(8)]
        assert wait_for(lambda: open_now() == 9)  # including the one that asks
        assert wait_for(lambda: refused("127.0.0.2"))
        assert c.post(report("gpu-1", 1), token="one").status == 202
        for i in range(11):
            stack.enter_context(raw(c, f"127.0.0.{3 + i // 8}", tls=False))
        assert wait_for(lambda: open_now() == 20)
        # The last slot is that of the metrics request until its close is noticed; a new connection before that is refused.
        last = []
        assert wait_for(lambda: last.append(stack.enter_context(raw(c, "127.0.1.1", tls=False))) or refused("127.0.1.2"))
        for s in (mine[0], *last):
            s.close()
        assert wait_for(posted)
        assert wait_for(lambda: c.metrics()["assay_http_refused_total"] >= 2)
        assert 1 <= len([s for s in lines(c) if "connection refused" in s]) <= NOTICE_LINES
    assert stored(c) == {"gpu-1": 2}


def test_one_address_cannot_take_all_memory_of_bodies(guarded):
    c = guarded()
    size = 2 * 1024 * 1024
    with contextlib.ExitStack() as stack, Good(c) as good:
        slow = [stack.enter_context(raw(c, "127.0.0.2")) for _ in range(20)]
        for s in slow:  # all but the last byte
            with contextlib.suppress(OSError):
                s.sendall(abuse.request(length=size) + b" " * (size - 1))
        assert wait_for(lambda: c.metrics()["assay_http_body_bytes"] > BODIES_OF_ONE - size, ANSWER_S)
        good.check(len(good.statuses))
        assert c.metrics()["assay_http_body_bytes"] <= BODIES_OF_ONE + len(json.dumps(report("gpu-2", 10**6)))  # the good one's
        statuses = []
        for s in slow:
            with contextlib.suppress(OSError):
                s.sendall(b" ")
            statuses.append(answer(s))
        assert [status for status, _ in statuses if status not in (400, 503)] == []
        late = [text for status, text in statuses if status == 503]
        assert late and all(b"\r\nRetry-After: " in text for text in late)
    assert wait_for(lambda: c.metrics()["assay_http_body_bytes"] == 0)


def test_wrong_certificates_are_refused(over_tls, certificates, controller):
    c = over_tls("--client-ca", certificates / "ca.pem")
    assert c.post(report("gpu-1", 1), context=client(certificates, "one")).status == 202
    before = len(lines(c))
    for name in ("stranger", "expired"):
        try:
            status = c.post(report("gpu-1", 2), context=client(certificates, name)).status
        except OSError:
            status = 401
        assert status == 401, name
    assert c.post(report("gpu-1", 2)).status == 401
    wrong_ca = ssl.create_default_context(cafile=str(certificates / "stranger.pem"))
    with pytest.raises(ssl.SSLError):
        c.get("/healthz", context=wrong_ca)
    with raw(c, tls=False) as s:
        s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xff" * 600)
        assert answer(s)[0] == abuse.CLOSED
    assert wait_for(lambda: len(lines(c)) - before == 5), lines(c)
    assert stored(c) == {"gpu-1": 1}


# --- many of them

def raise_descriptors(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"{wanted} connections want as many descriptors, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


HALVES = (b"", b"G", b"POST /v1/reports HTTP/1.1\r\nHost: x\r\n", b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nX: ")


def hello():
    """The first half of a TLS handshake."""
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    machine = ssl.create_default_context().wrap_bio(inside, outside, server_hostname="x")
    with contextlib.suppress(ssl.SSLWantReadError):
        machine.do_handshake()
    return outside.read()


def open_many(c, n, stack):
    """Opens silent connections, incomplete requests and incomplete handshakes from many addresses."""
    begin = [b"", hello()[:50], hello()] if c.tls else HALVES
    found = []
    for i in range(n):
        s = stack.enter_context(raw(c, f"127.1.{i % 16}.{1 + i // 16 % 200}", tls=False))
        s.setblocking(False)
        with contextlib.suppress(OSError):
            s.send(begin[i % len(begin)])
        found.append(s)
    return found


def drip(sockets):
    """Sends one more byte on each."""
    for s in sockets:
        with contextlib.suppress(OSError):
            s.send(b"x")


def wave(c, n, good):
    """Opens n and waits until they are closed. Returns the peak memory in KiB and the maximum of connections."""
    cut = c.metrics()["assay_http_cut_total"]
    most, peak = 0, 0

    def look():
        nonlocal most, peak
        m = c.metrics()
        most, peak = max(most, rss_kib(c)), max(peak, int(m["assay_http_connections"]))
        return m["assay_http_connections"], m["assay_http_cut_total"] - cut

    with contextlib.ExitStack() as stack:
        sockets = open_many(c, n, stack)
        # The first may be closed before the last is open.
        assert wait_for(lambda: sum(look()) >= n, CUT_S)
        good.check(len(good.statuses))

        def gone():
            drip(sockets[::50])
            return look()[0] < n // 10
        assert wait_for(gone, CUT_S)
        assert look()[1] >= n * 9 // 10
    return most, peak


@pytest.mark.parametrize("path, shown", [("/v1%c0%afnodes", "/v1??nodes"), ("/%1b%5b31m", "/?[31m"), ("/%e2%80%ae", "/???"),
                                         ("/x%0d%0aX-Evil", "/x??X-Evil")])
def test_a_path_cannot_drive_the_terminal_of_the_log(guarded, path, shown):
    c = guarded()
    assert attack(c, abuse.get(path)) == 404
    line, = [x for x in lines(c) if "refused: " in x]
    assert f" path={shown} status=404 " in line


@pytest.mark.some(1)
@pytest.mark.once
def test_connections_that_say_little_are_cut_and_memory_is_flat(guarded, configured, full):
    n = 10000 if full else 1000
    raise_descriptors(n + 200)
    c, begin = guarded(), time.monotonic()
    with Good(c) as good:
        good.check(5)
        idle = rss_kib(c)
        first, peak = wave(c, n, good)
        each = (first - idle) / peak
        print(f"{peak} connections at once: {idle} KiB, then {first} KiB: {each:.1f} KiB each")
        if not configured("enable-sanitizers"):
            assert each <= (TLS_CONNECTION_KIB if c.tls else CONNECTION_KIB)
        if full:
            later = [wave(c, n, good)[0] - idle for _ in range(WAVES)]
            assert later[-1] <= later[-2] * FLAT, f"KiB of each wave: {later}"
    said, minutes = lines(c), 1 + (time.monotonic() - begin) // 60  # begun
    assert 1 <= len(said) <= 2 * (minutes + 1) * NOTICE_LINES  # of two kinds
    assert stored(c) == {"gpu-2": len(good.statuses)}


@pytest.mark.once
def test_a_body_byte_by_byte_is_cut(guarded, full):
    if not full:
        pytest.skip("takes half a minute: ASSAY_FULL=1")
    c = guarded()
    with raw(c) as s, Good(c) as good:
        s.sendall(abuse.request(length=1000000))
        s.settimeout(0.5)

        def cut():
            try:
                s.sendall(b" ")
                return s.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True
        assert wait_for(cut, 2 * CUT_S)
        good.check(len(good.statuses))
    assert len([x for x in lines(c) if "cut: its body" in x]) == 1
