# SPDX-License-Identifier: Apache-2.0
"""Many hosts at once: excess reports are told when to retry, and none is lost."""
import contextlib
import gzip
import json
import pathlib
import select
import selectors
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

BENCH = pathlib.Path(__file__).parents[1] / "bench" / "bench_controller.py"
HOSTS = 2000
SAMPLES = 200  # more work than fits into one batch
ANSWER_S = 60
SO_TIMESTAMPNS = 35  # of asm-generic/socket.h; Python has no name for it


@pytest.mark.long
@pytest.mark.once
def test_a_fleet_that_comes_back_at_once_is_acknowledged_to_the_last_host(build):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    out = subprocess.run([sys.executable, BENCH, build, "--burst", str(HOSTS), "--samples", str(SAMPLES),
                          "--hold-up", "1"], text=True, capture_output=True, timeout=180)
    assert out.returncode == 0, out.stdout + out.stderr
    told = json.loads(out.stdout.splitlines()[0])
    assert (told["hosts"], told["acknowledged"]) == (HOSTS, HOSTS)
    assert (told["kept"], told["kept_hosts"]) == (HOSTS, HOSTS), "lost, or kept twice"
    assert told["not_accepted"] == 0, "an answer that is neither acceptance nor 503 with Retry-After"
    assert told["told_to_come_again"] > 0, "nobody was too many: the test asks for too little"


def body_of(number):
    """A report whose length grows with its number."""
    return json.dumps(report(f"gpu-{number}", samples=[sample(subject=f"cpu:{i}") for i in range(4 * number + 1)])).encode()


def status_of(peer):
    """The status of the response; 0 if the connection was closed without one."""
    try:
        return int(peer.recv(4096)[9:12] or 0)
    except ConnectionError:
        return 0


def test_a_stop_amid_reports_is_clean(controller):
    """Some of them complete only after the controller has begun to stop."""
    c = controller()
    bodies = [body_of(i) for i in range(80)]
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(c.connect()) for _ in bodies]
        c.process.send_signal(signal.SIGSTOP)
        for peer, body in zip(peers, bodies):
            peer.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        c.process.send_signal(signal.SIGTERM)
        c.process.send_signal(signal.SIGCONT)
        assert c.process.wait(timeout=60) == 0, c.log()
        accepted = [body for peer, body in zip(peers, bodies) if status_of(peer) == 202]
    assert c.log() == ""
    again = controller()
    assert [again.post(body).status for body in accepted] == [200] * len(accepted), "acknowledged, and gone"


@pytest.mark.alone
def test_one_sender_of_plain_reports_is_read_as_fast_as_of_packed_ones(controller, tmp_path):
    """Plain bodies used to be read at 3.6 KB per millisecond, ten times slower than compressed ones."""
    (tmp_path / "controller.yaml").write_text("v: 1\nreport-burst: 100000\n")
    c = controller("--config", tmp_path / "controller.yaml")
    took = {"plain": [], "packed": []}
    with contextlib.closing(c.connection(timeout=60)) as connection:
        for round_ in range(10):
            kind = ("plain", "packed")[round_ % 2]
            samples = [sample(subject=f"cpu:{i}", value=7e10 + i, w=[7e10 + i + k for k in range(20)], note="x" * 200) for i in range(48)]
            text = "\n".join(json.dumps(report(f"gpu-{i}", round_ + 1, samples=samples)) for i in range(64)).encode()
            body = text if kind == "plain" else gzip.compress(text, 1)
            began = time.monotonic()
            connection.request("POST", "/v1/reports/batch", body, {"Content-Encoding": "gzip"} if kind == "packed" else {})
            answer = connection.getresponse()
            told = json.loads(answer.read())
            took[kind].append(time.monotonic() - began)
            assert (answer.status, told["accepted"]) == (202, 64), told
    assert len(text) > 64 * 20000
    assert statistics.median(took["plain"]) < 3 * statistics.median(took["packed"]), took


@pytest.mark.alone
def test_a_replay_of_many_rules_holds_up_nobody(controller):
    """The number of rules is limited before they are compared pairwise, and the comparison with items is split into steps."""
    c = controller()
    for seq in range(1, 4):
        failing = [sample("a" * 180 + str(i), better="none", unit="1", ok=False) for i in range(4096)]
        assert c.post(report("gpu-1", seq, samples=failing)).status == 202
    rules = [{"name": f"r{i}", "match": {"check": "*" + "a" * 55 + f"b{i}"}, "action": "alert"} for i in range(250)]
    told, waits = [], []

    def replay():
        told.append(c.call("POST", "/v1/policy/replay?since=30d", json.dumps({"v": 1, "rules": rules}), timeout=120))

    thread = threading.Thread(target=replay)
    thread.start()
    while thread.is_alive():
        began = time.monotonic()
        c.get("/healthz", timeout=120)
        waits.append(time.monotonic() - began)
    assert (told[0].status, told[0].json["reports"]) == (200, 3)
    assert max(waits) < 2, "all of it was 14 s before"


def test_a_pattern_that_takes_too_long_is_refused(controller):
    c = controller()
    for pattern in ("*" + "a" * 3500 + "b", "a" * 3500, "*" + "[ab]" * 9):
        answer = c.call("POST", "/v1/policy/replay?since=1d", json.dumps(
            {"v": 1, "rules": [{"name": "r", "match": {"check": pattern}, "action": "alert"}]}))
        assert answer.status == 422 and "rules[0].match.check: expected at most 63 characters besides *, 8 [...] and 255 bytes" in answer.json["detail"]


class Readers:
    """Many concurrent requests for the largest page, each on its own connection."""

    def __init__(self, c, n, path):
        self.sockets, self.request = [c.connect(timeout=60) for _ in range(n)], b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path

    def ask(self):
        for s in self.sockets:
            s.sendall(self.request)

    def statuses(self):
        """Reads all responses in parallel, because a response left unread for half a minute is cut."""
        texts = {s: b"" for s in self.sockets}
        with selectors.DefaultSelector() as waiting:
            for s in self.sockets:
                waiting.register(s, selectors.EVENT_READ)
            while waiting.get_map():
                ready = waiting.select(ANSWER_S)
                assert ready, "nobody is answered any more"
                for key, _ in ready:
                    more = key.fileobj.recv(1 << 20)
                    texts[key.fileobj] += more
                    if not more:
                        waiting.unregister(key.fileobj)
                        key.fileobj.close()
        answers = list(texts.values())
        assert all(b"\r\nRetry-After: " in text for text in answers if text[9:12] == b"503")
        return [int(text[9:12]) for text in answers]


def arrival(peer):
    """When the response began to arrive, by the kernel's timestamp, because we may read it later."""
    _, told, _, _ = peer.recvmsg(1, 256, socket.MSG_PEEK)
    stamps = [struct.unpack("qq", value) for level, kind, value in told if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)]
    if not stamps:
        pytest.skip("this kernel does not stamp what arrives on a TCP socket")
    return stamps[0]


def heavy(c):
    assert c.post(report("gpu-1", samples=[sample(subject=f"cpu:{i}") for i in range(4096)])).status == 202
    return b"/v1/nodes/gpu-1/samples?limit=1000"


def test_a_report_does_not_wait_for_those_who_ask(controller):
    """At most a few of the 60 requests that were there first are answered before it."""
    c = controller()
    readers = Readers(c, 60, heavy(c))
    c.process.send_signal(signal.SIGSTOP)  # so that all requests are pending at the same moment
    readers.ask()
    with contextlib.closing(c.connect(timeout=60)) as peer:
        for s in (peer, *readers.sockets):
            s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        body = json.dumps(report("gpu-2")).encode()
        peer.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        c.process.send_signal(signal.SIGCONT)
        acknowledged = arrival(peer)
        assert status_of(peer) == 202
        asked = sum(arrival(s) < acknowledged for s in select.select(readers.sockets, [], [], 0)[0])
    assert asked <= 30, "the report came after those who asked"
    assert set(readers.statuses()) == {200}


def test_who_asks_too_much_at_once_is_told_to_come_again(controller):
    c = controller()
    readers = Readers(c, 200, heavy(c))
    c.process.send_signal(signal.SIGSTOP)
    readers.ask()
    c.process.send_signal(signal.SIGCONT)
    statuses = readers.statuses()
    assert set(statuses) == {200, 503} and statuses.count(200) >= 64
    assert c.get("/v1/nodes").status == 200


def test_those_who_ask_and_go_away_cost_nothing_and_leave_a_controller_that_answers(controller):
    c = controller()
    readers = Readers(c, 60, heavy(c))
    c.process.send_signal(signal.SIGSTOP)
    readers.ask()
    for s in readers.sockets[10:]:
        s.close()
    c.process.send_signal(signal.SIGCONT)
    readers.sockets = readers.sockets[:10]
    assert set(readers.statuses()) == {200}
    assert wait_for(lambda: c.metrics()["assay_http_held"] == 0)
    assert c.get("/v1/nodes").status == 200
    assert c.stop()[0] == 0


def test_a_stop_amid_questions_is_clean(controller):
    c = controller()
    readers = Readers(c, 60, heavy(c))
    c.process.send_signal(signal.SIGSTOP)
    readers.ask()
    c.process.send_signal(signal.SIGTERM)
    c.process.send_signal(signal.SIGCONT)
    assert c.process.wait(timeout=60) == 0, c.log()
