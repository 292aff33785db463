# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: tokens, policy and certificates are reloaded, all or none, while calls are in progress."""
import contextlib
import hashlib
import itertools
import json
import signal
import ssl
import subprocess

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from test_controller_access import certificates, client, over_tls  # noqa: F401
from waiting import wait_for

RULES = """v: 1
mode: observe
rules:
  - {name: %s, match: {}, floor: {ratio: 0.9, k: 3.5}, windows: {k: 1, n: 1}, action: alert}
"""


def write_tokens(path, **by_secret):
    lines = [f"  - {{sha256: {hashlib.sha256(secret.encode()).hexdigest()}, {what}}}\n" for secret, what in by_secret.items()]
    path.write_text("v: 1\ntokens:\n" + "".join(lines))


def reload(c):
    """Sends SIGHUP. Returns (reloads, refusals) since the start."""
    def counts():
        m = c.metrics()
        return m["assay_reloads_total"], m["assay_reload_failures_total"]

    before = counts()
    c.process.send_signal(signal.SIGHUP)
    assert wait_for(lambda: counts() != before)
    return counts()


@pytest.fixture
def guarded(controller, tmp_path):
    path = tmp_path / "tokens.yaml"
    write_tokens(path, one="node: gpu-1", admin="role: admin")
    return controller("--tokens", path), path


def test_new_tokens_count_and_old_ones_do_not(guarded):
    c, path = guarded
    assert c.get("/v1/nodes", token="two").status == 401
    write_tokens(path, two="role: read")
    assert c.get("/v1/nodes", token="two").status == 401  # not before SIGHUP
    assert reload(c) == (1, 0)
    assert c.get("/v1/nodes", token="two").status == 200
    assert c.get("/v1/nodes", token="admin").status == 401
    assert "reloaded" in c.log()


@pytest.mark.parametrize("text,place", [
    ("v: 1\ntokens: [{sha256: x, role: read}]\n", "tokens[0].sha256"),
    ("v: 1\ntokens: [\n", "line"),
    ("", "empty"),
    (None, "No such file"),
])
def test_a_bad_file_is_refused_with_one_line_and_the_old_stays(guarded, text, place):
    c, path = guarded
    path.unlink()
    if text is not None:
        path.write_text(text)
    assert reload(c) == (0, 1)
    assert c.get("/v1/nodes", token="admin").status == 200
    assert c.post(report("gpu-1"), token="one").status == 202
    lines = [line for line in c.log().splitlines() if "reload failed" in line]
    assert len(lines) == 1 and str(path) in lines[0] and place in lines[0]


def test_a_report_that_is_under_way_ends_as_whom_it_began(guarded):
    c, path = guarded
    body = json.dumps(report("gpu-1")).encode()
    with contextlib.closing(c.connection()) as connection:
        connection.putrequest("POST", "/v1/reports")
        connection.putheader("Authorization", "Bearer one")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:100])
        assert wait_for(lambda: c.metrics()["assay_http_body_bytes"] > 0)
        write_tokens(path, admin="role: admin", **{f"t{i}": f"node: n{i}" for i in range(100)})
        assert reload(c) == (1, 0)
        connection.send(body[100:])
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (202, b'{"accepted":1}')
    assert c.post(report("gpu-1", seq=2), token="one").status == 401


def test_a_new_policy_names_the_next_incident(controller, tmp_path):
    policy, conf = tmp_path / "policy.yaml", tmp_path / "controller.yaml"
    policy.write_text(RULES % "first")
    conf.write_text(f"v: 1\npolicy: {policy}\n")
    c = controller("--config", conf)
    sick = [sample(check="host.kernel_log", subject="pci:0000:1b:00.0", value=1, unit="1", better="none", ok=False,
                   severity="fatal", code="xid:79")]
    c.post(report("gpu-1", samples=sick))
    policy.write_text(RULES % "second")
    assert reload(c) == (1, 0)
    c.post(report("gpu-2", samples=sick))
    policy.write_text((RULES % "third").replace("action: alert", "action: explode"))
    assert reload(c) == (1, 1)
    c.post(report("gpu-3", samples=sick))
    rules = {i["node"]: i["rule"] for i in c.get("/v1/incidents").json["items"]}
    assert rules == {"gpu-1": "first", "gpu-2": "second", "gpu-3": "second"}


@pytest.fixture
def renewable(controller, certificates, tmp_path):
    """A controller with its own TLS files, and a function that replaces them."""
    cert, key, ca = (tmp_path / name for name in ("tls.pem", "tls.key", "clients.pem"))

    def put(cert_from="server.pem", key_from="server.key", ca_from="ca.pem"):
        for path, source in ((cert, cert_from), (key, key_from), (ca, ca_from)):
            path.write_bytes((certificates / source).read_bytes())

    put()
    c = controller("--tls-cert", cert, "--tls-key", key, "--client-ca", ca, tls=str(certificates / "ca.pem"))
    return c, put


def peer_certificate(c, trusted):
    context = ssl.create_default_context(cafile=str(trusted))
    context.check_hostname = False
    with context.wrap_socket(c.connect()) as s:
        return s.getpeercert(binary_form=True)


@pytest.fixture(scope="module")
def newer(certificates):
    """Creates newer.pem, another certificate of the same authority for the server."""
    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=certificates, check=True, capture_output=True)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "newer.key", "-out",
            "newer.csr", "-subj", "/CN=controller")
    openssl("x509", "-req", "-in", "newer.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out",
            "newer.pem", "-extfile", "san")


def test_a_new_certificate_is_shown_and_open_connections_stay(renewable, certificates, newer):
    c, put = renewable
    ca = certificates / "ca.pem"
    first = peer_certificate(c, ca)
    with contextlib.closing(c.connection(context=client(certificates, "one"))) as kept:
        def get_why():
            kept.request("GET", "/healthz")
            answer = kept.getresponse()
            return answer.status, answer.read()
        assert get_why()[0] == 200
        put("newer.pem", "newer.key")
        assert reload(c) == (1, 0)
        second = peer_certificate(c, ca)
        assert second != first and ssl.DER_cert_to_PEM_cert(second).split() == (certificates / "newer.pem").read_text().split()
        assert get_why()[0] == 200
    assert c.post(report("gpu-1"), context=client(certificates, "one")).status == 202


def test_a_key_of_another_certificate_is_refused(renewable, certificates, newer):
    c, put = renewable
    first = peer_certificate(c, certificates / "ca.pem")
    put("newer.pem", "server.key")
    assert reload(c) == (0, 1)
    assert peer_certificate(c, certificates / "ca.pem") == first
    assert "tls-key" in c.log()
    put("newer.pem", "newer.key", "server.key")  # no certificate in the file of authorities
    assert reload(c) == (0, 2)
    assert peer_certificate(c, certificates / "ca.pem") == first
    assert "client-ca" in c.log()


def test_other_authorities_count_for_the_next_connection(renewable, certificates):
    c, put = renewable
    assert c.post(report("gpu-1"), context=client(certificates, "one")).status == 202
    put(ca_from="stranger.pem")  # self-signed
    assert reload(c) == (1, 0)
    assert c.post(report("gpu-1", seq=2), context=client(certificates, "one")).status == 401
    assert c.post(report("gpu-1", seq=3), context=client(certificates, "stranger")).status == 202


def test_limits_of_the_settings_are_read_again(controller, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\nreport-rate: 1\nreport-burst: 2\nnodes-max: 1\ndb-max: 5000000\n")
    c = controller("--config", path)
    said = list(itertools.takewhile(lambda status: status != 429, (c.post(report("gpu-1", seq=i)).status for i in range(1, 60))))
    taken = len(said)  # two at once, and one more for each second that this took
    assert said == [202] * taken and 2 <= taken < 59
    assert c.post(report("gpu-2")).status == 503
    path.write_text("v: 1\nreport-rate: 1000\nreport-burst: 1000\nnodes-max: 2\ndb-max: 6000000\n")
    assert c.post(report("gpu-2")).status == 503  # not before SIGHUP
    assert reload(c) == (1, 0)
    assert c.metrics()["assay_store_max_bytes"] == 6000000
    assert c.post(report("gpu-2")).status == 202
    assert wait_for(lambda: c.post(report("gpu-1", seq=taken + 1)).status in (200, 202))
    assert [c.post(report("gpu-1", seq=taken + i)).status for i in range(2, 58)] == [202] * 56
    assert "need a restart" not in c.log()


def test_what_only_a_restart_changes_is_named(controller, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\n")
    c = controller("--config", path)
    path.write_text(f"v: 1\ndb: {tmp_path}/other.db\npolicy: {tmp_path}/none.yaml\nkubernetes: {{prefix: gpu.example.com}}\nconnections-max: 7\ndb-max: 7000000\n")
    assert reload(c) == (1, 0)
    line, = [line for line in c.log().splitlines() if "need a restart" in line]
    assert line.endswith("need a restart: kubernetes, policy, connections-max"), "--db of the command line counts more"
    assert c.metrics()["assay_store_max_bytes"] == 7000000


def test_bad_settings_leave_all_as_it_was(controller, tmp_path):
    path, tokens = tmp_path / "controller.yaml", tmp_path / "tokens.yaml"
    path.write_text(f"v: 1\ntokens: {tokens}\ndb-max: 5000000\n")
    write_tokens(tokens, one="role: read")
    c = controller("--config", path)
    write_tokens(tokens, two="role: read")
    for bad in ("v: 1\ndb-max: 1\n", "v: 1\nkeep: {pass: {all: 1s}}\n", "v: 2\n", "{"):
        path.write_text(bad)
        before = c.metrics()["assay_reload_failures_total"]
        assert reload(c) == (0, before + 1), bad
        assert f"{path}: " in c.log().splitlines()[-1]
    path.unlink()
    assert reload(c) == (0, 5)
    assert c.metrics()["assay_store_max_bytes"] == 5000000
    assert c.get("/v1/nodes", token="one").status == 200
