# SPDX-License-Identifier: Apache-2.0
"""Requests to Kubernetes (controller/cluster/kube/kube.h), with responses that a real API server does not give on demand."""
import errno
import json
import threading

import pytest
from kube_fake import DEADLINE_S, END, WATCH, Authority, FakeApi, Probe, answer, chunk, data, kubeconfig

NODE = {"kind": "Node", "metadata": {"name": "gpu-0", "resourceVersion": "205"}}
UNAUTHORIZED = answer(401, {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized", "code": 401})
NO_TOKEN = {"token": "t"}


@pytest.fixture
def fake(request):
    """fake(serve): a server; serve is as in FakeApi, or the bytes of every response."""
    made = []

    def start(serve, context=None):
        made.append(FakeApi(serve if callable(serve) else lambda *_: serve, context))
        return made[-1]

    yield start
    for api in made:
        api.stop()


@pytest.fixture
def probe(build, environ, tmp_path):
    """probe(api, user={...}, cluster={...}): kube_probe with a kubeconfig for that server."""
    if not (build / "tests/kube/kube_probe").exists():
        pytest.skip("this build has no kube_probe: libcurl, libsystemd, SQLite or libmicrohttpd is missing")
    made = []

    def start(api, user=None, cluster=None):
        scheme = "https" if api.context else "http"
        path = kubeconfig(tmp_path / "config", f"{scheme}://127.0.0.1:{api.port}", cluster, NO_TOKEN if user is None else user)
        made.append(Probe(build, path, environ))
        return made[-1]

    yield start
    for p in made:
        status, words = p.stop()
        # A sanitizer reports on stderr and in the status.
        assert status in (0, 2), words


def test_a_write_is_asked_as_kubernetes_wants_it(fake, probe):
    api = fake(answer(200, NODE, Audit_Id="audit-7"))
    p = probe(api, {"token": "secret"})
    said = p.ask("PATCH", "/api/v1/nodes/gpu-0", content="merge", body={"spec": {"unschedulable": True}}, query="pretty=0",
                 dry_run=True)
    assert (said["result"], said["status"], said["words"], said["audit"]) == ("done", 200, "", "audit-7")
    assert said["body"] == NODE
    asked = api.requests[0]
    assert (asked.method, asked.path) == ("PATCH", "/api/v1/nodes/gpu-0")
    assert asked.query == ["pretty=0", "fieldManager=assay", "dryRun=All"]
    assert json.loads(asked.body) == {"spec": {"unschedulable": True}}
    assert asked.all("content-type") == ["application/merge-patch+json"]
    assert asked.all("accept") == ["application/json"]
    assert asked.all("authorization") == ["Bearer secret"]
    assert asked.get("user-agent").startswith("assay/0.") and "(linux/" in asked.get("user-agent")
    assert asked.get("accept-encoding") is None and asked.get("expect") is None


@pytest.mark.parametrize("method, content, kind", [("POST", "json", "application/json"), ("PUT", "json", "application/json"),
                                                   ("PATCH", "strategic", "application/strategic-merge-patch+json"),
                                                   ("DELETE", "json", "application/json"), ("GET", None, None)])
def test_each_method_has_its_content_type(fake, probe, method, content, kind):
    api = fake(answer(200, NODE))
    more = {"content": content, "body": {"a": 1}} if content else {}
    assert probe(api).ask(method, "/api/v1/nodes/gpu-0", **more)["result"] == "done"
    asked = api.requests[0]
    assert asked.method == method
    assert asked.all("content-type") == ([kind] if kind else [])
    assert ("fieldManager=assay" in asked.query) == (method in ("POST", "PUT", "PATCH"))
    assert asked.body == (b'{"a":1}' if content else b"")


def test_requests_share_a_connection(fake, probe):
    api = fake(answer(200, NODE))
    p = probe(api)
    for _ in range(3):
        assert p.ask("GET", "/api/v1/nodes/gpu-0")["result"] == "done"
    assert (len(api.requests), api.connections) == (3, 1)


def test_a_server_behind_a_path_is_asked_there(build, environ, fake, tmp_path):
    api = fake(answer(200, NODE))
    p = Probe(build, kubeconfig(tmp_path / "config", f"http://127.0.0.1:{api.port}/k8s/clusters/c-1/"), environ)
    assert p.ask("GET", "/api/v1/nodes/gpu-0")["result"] == "done"
    assert api.requests[0].target == "/k8s/clusters/c-1/api/v1/nodes/gpu-0"
    p.stop()


def test_429_in_plain_text_says_when(fake, probe):
    api = fake(answer(429, "Too many requests, please try again later.\n", "text/plain; charset=utf-8", Retry_After="7"))
    said = probe(api).ask("GET", "/api/v1/nodes")
    assert (said["result"], said["status"], said["retry_us"], said["body"]) == ("again", 429, 7_000_000, None)
    assert said["words"] == "GET /api/v1/nodes: 429: Too many requests, please try again later."
    assert len(api.requests) == 1


def test_half_an_answer_is_none(fake, probe):
    whole = answer(200, NODE)

    def cut(_, connection):
        connection.sendall(whole[:-10])

    said = probe(fake(cut)).ask("GET", "/api/v1/nodes/gpu-0")
    assert (said["result"], said["r"], said["status"], said["body"]) == ("again", -errno.ECONNRESET, 0, None)


def test_a_connection_that_is_cut_at_once_is_no_answer(fake, probe):
    said = probe(fake(lambda *_: None)).ask("GET", "/api/v1/nodes/gpu-0")
    assert (said["result"], said["r"], said["status"]) == ("again", -errno.ECONNRESET, 0)


def test_nobody_there_is_to_be_tried_again(fake, probe):
    api = fake(answer(200, NODE))
    api.stop()
    said = probe(api).ask("GET", "/api/v1/nodes/gpu-0")
    assert (said["result"], said["r"], said["status"]) == ("again", -errno.ECONNREFUSED, 0)


def test_who_hangs_is_given_up_and_holds_up_nobody(fake, probe):
    hung = threading.Event()

    def serve(request, _):
        if request.path == "/api/v1/hangs":
            hung.wait(DEADLINE_S)
            return None
        return answer(200, NODE)

    p = probe(fake(serve))
    p.send("GET", "/api/v1/hangs", timeout_ms=1500, tag="hung", wait=False)
    p.send("GET", "/api/v1/nodes/gpu-0", tag="quick")
    first, second = p.answer(), p.answer()
    hung.set()
    assert (first["tag"], first["result"]) == ("quick", "done")
    assert (second["tag"], second["result"], second["r"]) == ("hung", "again", -errno.ETIMEDOUT)
    assert p.ask("GET", "/api/v1/nodes/gpu-0")["result"] == "done"


def test_a_login_page_is_no_node(fake, probe):
    said = probe(fake(answer(200, "<html>", "text/html"))).ask("GET", "/api/v1/nodes/gpu-0")
    assert (said["result"], said["r"], said["status"]) == ("again", -errno.EPROTO, 0)


def test_a_redirect_is_not_followed(fake, probe):
    api = fake(answer(302, "", "text/html", Location="/elsewhere"))
    assert probe(api).ask("GET", "/api/v1/nodes/gpu-0")["result"] == "refused"
    assert len(api.requests) == 1


# --- watches ---


def test_lines_are_told_whole_however_they_come(fake, probe):
    lines = [json.dumps({"type": "ADDED", "n": i, "text": "ä" * i}, ensure_ascii=False) for i in range(40)]
    stream = "\n".join(lines).encode() + b"\n\n"

    def serve(_, connection):
        connection.sendall(WATCH)
        for size in (1, 2, 7, 1000):
            part, rest = stream[:size * 50], stream[size * 50:]
            for i in range(0, len(part), size):
                connection.sendall(chunk(part[i:i + size]))
            connection.sendall(chunk(rest) if rest else b"")
        return END

    p = probe(fake(serve))
    said = p.ask("GET", "/api/v1/nodes", watch=True)
    assert (said["result"], said["status"], said["body"]) == ("done", 200, None)
    assert p.lines == lines * 4


def test_a_watch_that_is_cut_tells_what_was_whole(fake, probe):
    def serve(_, connection):
        connection.sendall(WATCH + chunk(b'{"a":1}\n{"b":2}\n{"c":'))

    p = probe(fake(serve))
    said = p.ask("GET", "/api/v1/nodes", watch=True)
    assert p.lines == ['{"a":1}', '{"b":2}']
    assert (said["result"], said["r"], said["status"]) == ("again", -errno.ECONNRESET, 0)


def test_a_watch_that_ends_within_a_line_tells_what_was_whole(fake, probe):
    p = probe(fake(WATCH + chunk(b'{"a":1}\n{"b":') + END))
    said = p.ask("GET", "/api/v1/nodes", watch=True)
    assert (p.lines, said["result"]) == (['{"a":1}'], "done")


def test_a_watch_that_is_refused_is_an_answer_as_any_other(fake, probe):
    body = {"kind": "Status", "reason": "Expired", "code": 410, "message": "too old resource version: 5 (254)"}
    p = probe(fake(answer(410, body)))
    said = p.ask("GET", "/api/v1/nodes", watch=True)
    assert (said["result"], said["status"], said["reason"], said["body"]) == ("again", 410, "Expired", body)
    assert p.lines == []


@pytest.mark.parametrize("size, told", [(4 * 1024 * 1024, True), (4 * 1024 * 1024 + 1, False)])
def test_a_line_has_a_limit(fake, probe, size, told):
    def serve(_, connection):
        connection.sendall(WATCH)
        left = size
        while left:
            connection.sendall(chunk(b"x" * min(left, 100_000)))
            left -= min(left, 100_000)
        connection.sendall(chunk(b"\n{}\n"))
        return END

    p = probe(fake(serve))
    said = p.ask("GET", "/api/v1/nodes", watch=True)
    if told:
        assert (said["result"], [len(line) for line in p.lines]) == ("done", [size, 2])
    else:
        assert (said["result"], said["r"], p.lines) == ("again", -errno.EFBIG, [])
        assert said["words"] == "GET /api/v1/nodes: a line of more than 4194304 bytes"
    assert p.ask("GET", "/api/v1/nodes", watch=True, cut=1)


def test_whoever_is_told_may_cut_cancel_and_send(fake, probe):
    def serve(request, _):
        return WATCH + chunk(b'{"a":1}\n{"b":2}\n{"c":3}\n') + END if "watch=1" in request.query else answer(200, NODE)

    p = probe(fake(serve))
    said = p.ask("GET", "/api/v1/nodes", query="watch=1", watch=True, cut=2)
    assert (said["result"], said["r"], p.lines) == ("again", -errno.ECANCELED, ['{"a":1}', '{"b":2}'])
    p.lines.clear()
    assert p.ask("GET", "/api/v1/nodes", query="watch=1", watch=True, cancel=2) == {"tag": None, "cancelled": True}
    assert p.lines == ['{"a":1}', '{"b":2}']
    then = {"method": "GET", "path": "/api/v1/nodes/gpu-0", "tag": "then"}
    p.send("GET", "/api/v1/nodes", query="watch=1", watch=True, then=then, tag="watch")
    assert {p.answer()["tag"], p.answer()["tag"]} == {"watch", "then"}
    p.send("GET", "/api/v1/nodes/gpu-0", then=then, tag="first")
    assert [p.answer()["tag"], p.answer()["tag"]] == ["first", "then"]


# --- many at once ---


class Hanging:
    """Requests whose path ends with the suffix hang until go() and are counted; others are answered."""

    def __init__(self, *ends):
        self.ends, self.lock, self.open, self.now, self.most = ends, threading.Lock(), threading.Event(), 0, 0

    def __call__(self, request, _):
        if request.path.endswith(self.ends):
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            self.open.wait(DEADLINE_S)
            with self.lock:
                self.now -= 1
        return answer(200, NODE)

    def go(self):
        self.open.set()


def test_a_burst_goes_over_a_few_connections(fake, probe, wait_until):
    hanging = Hanging("/gpu-0")
    api = fake(hanging)
    p = probe(api)
    for i in range(99):
        p.send("GET", "/api/v1/nodes/gpu-0", tag=i, wait=False)
    p.send("GET", "/api/v1/nodes/gpu-0", tag=99)
    wait_until(lambda: hanging.now == 16, what="16 requests under way")
    hanging.go()
    assert sorted(p.answer()["tag"] for _ in range(100)) == list(range(100))
    assert (hanging.most, api.connections, len(api.requests)) == (16, 16, 100)


def test_evictions_and_whatever_hangs_hold_up_no_lease_and_no_cordon(fake, probe, wait_until):
    hanging = Hanging("/eviction", "/gpu-9")
    p = probe(fake(hanging))
    lease = {"method": "PUT", "path": "/apis/coordination.k8s.io/v1/namespaces/assay/leases/l", "body": {}, "tag": "lease"}
    for _ in range(20):
        p.send("POST", "/api/v1/namespaces/a/pods/p/eviction", body={}, tag="eviction", wait=False)
    p.send("PATCH", "/api/v1/nodes/gpu-0", content="merge", body={}, tag="cordon", then=lease)
    assert [p.answer()["tag"] for _ in range(2)] == ["cordon", "lease"]
    wait_until(lambda: hanging.now == 8, what="8 evictions under way")
    hanging.go()
    assert [p.answer()["tag"] for _ in range(20)] == ["eviction"] * 20
    assert hanging.most == 8


def test_who_waits_longer_than_its_timeout_is_never_sent(fake, probe):
    hanging = Hanging("/gpu-9")
    api = fake(hanging)
    p = probe(api)
    for _ in range(16):
        p.send("GET", "/api/v1/nodes/gpu-9", tag="hangs", timeout_ms=DEADLINE_S * 1000, wait=False)
    p.send("PATCH", "/api/v1/nodes/late", content="merge", body={}, timeout_ms=300, tag="late", wait=False)
    p.send("PATCH", "/api/v1/nodes/late", content="merge", body={}, timeout_ms=200, tag="later")
    said = [p.answer(), p.answer()]
    hanging.go()
    # Which of them is first depends on how soon the program read the second.
    assert sorted((s["tag"], s["result"], s["r"]) for s in said) == [(t, "again", -errno.ETIMEDOUT) for t in ("late", "later")]
    assert {s["words"] for s in said} == {"PATCH /api/v1/nodes/late: waited too long for a free slot"}
    assert [p.answer()["tag"] for _ in range(16)] == ["hangs"] * 16
    assert {r.method for r in api.requests} == {"GET"}


# --- credentials ---


def test_a_rotated_token_is_used_at_once(fake, probe, tmp_path):
    api = fake(answer(200, NODE))
    token = tmp_path / "token"
    token.write_text("first\n")
    p = probe(api, {"tokenFile": "token"})
    p.ask("GET", "/api/v1/nodes/gpu-0")
    (tmp_path / "new").write_text("second\n")
    (tmp_path / "new").rename(token)
    p.ask("GET", "/api/v1/nodes/gpu-0")
    token.unlink()
    p.ask("GET", "/api/v1/nodes/gpu-0")
    assert [r.get("authorization") for r in api.requests] == ["Bearer first", "Bearer second", "Bearer second"]


def test_401_asks_again_once_with_the_token_that_is_there_now(fake, probe, tmp_path):
    (tmp_path / "token").write_text("old")

    def serve(request, _):
        if request.get("authorization") == "Bearer old":
            (tmp_path / "token").write_text("new")
            return UNAUTHORIZED
        return answer(200, NODE)

    api = fake(serve)
    said = probe(api, {"tokenFile": "token"}).ask("PATCH", "/api/v1/nodes/gpu-0", content="merge", body={"a": 1})
    assert (said["result"], said["status"]) == ("done", 200)
    assert [r.get("authorization") for r in api.requests] == ["Bearer old", "Bearer new"]
    assert [r.body for r in api.requests] == [b'{"a":1}'] * 2


def test_401_is_told_when_asking_again_does_not_help(fake, probe, tmp_path):
    (tmp_path / "token").write_text("old")
    api = fake(UNAUTHORIZED)
    said = probe(api, {"tokenFile": "token"}).ask("GET", "/api/v1/nodes", watch=True)
    assert (said["result"], said["status"], len(api.requests)) == ("refused", 401, 2)
    assert said["words"].startswith("GET /api/v1/nodes: 401 Unauthorized: Unauthorized (is the token")


def test_401_of_a_token_that_cannot_change_is_told_at_once(fake, probe):
    api = fake(UNAUTHORIZED)
    assert probe(api).ask("GET", "/api/v1/nodes")["status"] == 401
    assert len(api.requests) == 1


def test_a_token_of_any_length_is_sent(fake, probe, tmp_path):
    (tmp_path / "token").write_text("x" * 60_000)
    api = fake(answer(200, NODE))
    assert probe(api, {"tokenFile": "token"}).ask("GET", "/api/v1/nodes")["result"] == "done"
    assert api.requests[0].get("authorization") == "Bearer " + "x" * 60_000


# --- TLS ---


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="module")
def other_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "other")


def test_the_ca_and_our_certificate_come_from_data_and_files(fake, probe, authority):
    def who(_, connection):
        subject = dict(entry[0] for entry in connection.getpeercert()["subject"])
        return answer(200, {"who": subject["commonName"]})

    cert, key = authority.make("us")
    api = fake(who, authority.server(clients=True))
    said = probe(api, {"client-certificate-data": data(cert), "client-key-data": data(key)},
                 {"certificate-authority-data": data(authority.ca)}).ask("GET", "/api/v1/nodes")
    assert (said["result"], said["body"]) == ("done", {"who": "us"})
    said = probe(api, {"client-certificate": str(cert), "client-key": str(key)},
                 {"certificate-authority": str(authority.ca)}).ask("GET", "/api/v1/nodes")
    assert (said["result"], said["body"]) == ("done", {"who": "us"})


def test_a_server_of_another_ca_is_not_trusted(fake, probe, authority, other_authority):
    api = fake(answer(200, NODE), other_authority.server())
    said = probe(api, cluster={"certificate-authority-data": data(authority.ca)}).ask("GET", "/api/v1/nodes")
    assert (said["result"], said["r"], api.requests) == ("again", -errno.EKEYREJECTED, [])
    assert "the certificate of the server is not trusted" in said["words"]
    said = probe(api, cluster={"insecure-skip-tls-verify": True}).ask("GET", "/api/v1/nodes")
    assert said["result"] == "done"


def test_a_server_may_have_another_name(fake, probe, authority):
    api = fake(answer(200, NODE), authority.server("DNS:kubernetes.default"))
    ca = {"certificate-authority-data": data(authority.ca)}
    assert probe(api, cluster=ca).ask("GET", "/api/v1/nodes")["r"] == -errno.EKEYREJECTED
    assert probe(api, cluster={**ca, "tls-server-name": "kubernetes"}).ask("GET", "/api/v1/nodes")["r"] == -errno.EKEYREJECTED
    assert probe(api, cluster={**ca, "tls-server-name": "kubernetes.default"}).ask("GET", "/api/v1/nodes")["result"] == "done"


def test_a_rotated_ca_is_trusted_without_a_restart(fake, probe, authority, other_authority, tmp_path):
    ca = tmp_path / "ca.crt"
    ca.write_bytes(authority.ca.read_bytes())
    reply = answer(200, NODE, Connection="close")
    api = fake(lambda *_: reply, authority.server())
    p = probe(api, cluster={"certificate-authority": "ca.crt"})
    assert p.ask("GET", "/api/v1/nodes")["result"] == "done"
    api.context = other_authority.server()
    assert p.ask("GET", "/api/v1/nodes")["r"] == -errno.EKEYREJECTED
    ca.write_bytes(other_authority.ca.read_bytes())
    assert p.ask("GET", "/api/v1/nodes")["result"] == "done"


# --- kubeconfig ---


def test_a_program_that_gets_tokens_is_refused_with_the_way_out(build, environ, tmp_path):
    path = kubeconfig(tmp_path / "config", "https://127.0.0.1:1", user={"exec": {"command": "aws"}})
    status, words = Probe(build, path, environ).stop()
    assert status == 2
    assert words.strip() == (f"{path}: users[0].user.exec: is not supported; put the token of a service account into token "
                             "or tokenFile (kubectl create token NAME)")


def test_a_token_that_is_not_there_is_named(build, environ, tmp_path):
    path = kubeconfig(tmp_path / "config", "https://127.0.0.1:1", user={"tokenFile": "nowhere"})
    status, words = Probe(build, path, environ).stop()
    assert status == 2
    assert str(tmp_path / "nowhere") in words
