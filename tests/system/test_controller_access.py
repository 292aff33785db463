# SPDX-License-Identifier: Apache-2.0
"""Who may do what with the controller, and how often."""
import hashlib
import json
import shutil
import ssl
import subprocess

import pytest

from fixtures_controller import controller, report  # noqa: F401
from waiting import wait_for


@pytest.fixture
def tokens(tmp_path):
    """tokens(secret={"role": "read"}, ...) writes tokens.yaml."""
    def write(**by_secret):
        lines = [f"- {{sha256: {hashlib.sha256(secret.encode()).hexdigest()}, "
                 + ", ".join(f"{k}: {v}" for k, v in what.items()) + "}\n" for secret, what in by_secret.items()]
        path = tmp_path / "tokens.yaml"
        path.write_text("v: 1\ntokens:\n" + "".join(lines))
        return path
    return write


@pytest.fixture
def guarded(controller, tokens):
    """A controller with one token per role, whose secret is the role; that of gpu-1 is "one"."""
    path = tokens(one={"node": "gpu-1"}, read={"role": "read"}, operate={"role": "operate"}, admin={"role": "admin"})
    return lambda *args: controller("--tokens", path, *args)


def test_a_node_reports_for_itself_only(guarded):
    c = guarded()
    assert c.post(report("gpu-1"), token="one").status == 202
    answer = c.post(report("gpu-2"), token="one")
    assert answer.status == 403
    assert "gpu-2" in answer.json["detail"]
    assert c.metrics()["assay_reports_refused_total"] == 1
    assert c.log().count("\n") == 1


def test_another_hosts_report_among_ones_own_is_told_in_the_log(guarded):
    c = guarded()
    lines = "\n".join(json.dumps(report(node, seq)) for node, seq in (("gpu-1", 1), ("gpu-1", 2), ("gpu-2", 3), ("gpu-1", 4)))
    answer = c.call("POST", "/v1/reports/batch", lines.encode(), token="one")
    assert (answer.status, answer.json["accepted"], len(answer.json["results"])) == (202, 2, 2)
    assert c.log().splitlines() == ["assay-controller: refused: this token may not report for 'gpu-2' status=403 line=3"]


def test_strangers_and_wrong_roles_are_refused(guarded):
    c = guarded()
    none, wrong = c.post(report()), c.post(report(), token="wrong")
    assert none.status == wrong.status == 401
    assert "no token and no client certificate" in none.json["detail"] and "add its SHA-256 to tokens.yaml" in wrong.json["detail"]
    assert none.headers["WWW-Authenticate"] == "Bearer"
    assert c.post(report(), headers={"Authorization": "Basic b25lOg=="}).status == 401
    assert c.post(report(), token="read").status == 403
    assert c.post(report(), token="operate").status == 403
    assert c.post(report(), token="admin").status == 202


def test_health_and_metrics_need_no_token(guarded):
    c = guarded()
    for path in ("/healthz", "/readyz", "/metrics"):
        assert c.get(path).status == 200


def test_a_node_that_reports_too_often_is_told_when_to_come_again(controller, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\nreport-rate: 1\nreport-burst: 3\n")
    c = controller("--config", path)
    answers = [c.post(report(seq=i)) for i in range(1, 12)]
    assert [a.status for a in answers[:3]] == [202] * 3
    refused = [a for a in answers if a.status == 429]
    assert refused and int(refused[0].headers["Retry-After"]) > 0
    assert c.post(report("gpu-2")).status == 202


def test_no_more_hosts_than_there_is_room_for(controller, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\nnodes-max: 2\n")
    c = controller("--config", path)
    assert [c.post(report(f"gpu-{i}")).status for i in range(3)] == [202, 202, 503]
    assert c.post(report("gpu-1", seq=2)).status == 202


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A directory with ca.pem; certificates of a server, a client and an expired client signed by it; and a self-signed one."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    d = tmp_path_factory.mktemp("pki")

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=d, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "60"]  # long enough to avoid expiry warnings
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test ca")
    openssl("req", "-x509", *key, "-keyout", "stranger.key", "-out", "stranger.pem", "-subj", "/CN=gpu-1")
    (d / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    for name, subject, days in (("server", "controller", "60"), ("one", "gpu-1", "60"), ("expired", "gpu-1", "-1")):
        openssl("req", *key[:-2], "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + subject)
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", days,
                "-out", name + ".pem", "-extfile", "san")
    return d


@pytest.fixture
def over_tls(controller, certificates):
    def start(*args):
        return controller("--tls-cert", certificates / "server.pem", "--tls-key", certificates / "server.key", *args,
                          tls=str(certificates / "ca.pem"))
    return start


def client(certificates, name):
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    context.load_cert_chain(certificates / (name + ".pem"), certificates / (name + ".key"))
    return context


def test_a_certificate_names_the_host(over_tls, certificates):
    c = over_tls("--client-ca", certificates / "ca.pem")
    assert c.post(report("gpu-1"), context=client(certificates, "one")).status == 202
    assert c.post(report("gpu-2"), context=client(certificates, "one")).status == 403
    assert c.post(report("gpu-1")).status == 401
    try:
        refused = c.post(report("gpu-1", seq=2), context=client(certificates, "stranger")).status == 401
    except OSError:
        refused = True
    assert refused


@pytest.mark.parametrize("usage,status", [("serverAuth", 401), ("codeSigning", 401), ("clientAuth", 202), ("serverAuth,clientAuth", 202),
                                          ("anyExtendedKeyUsage", 202)])
def test_a_certificate_of_a_host_is_one_for_clients(over_tls, certificates, tmp_path, usage, status):
    """The owner of a web server's certificate of the same authority is not a host."""
    (tmp_path / "usage").write_text(f"extendedKeyUsage={usage}\n")
    for args in (("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "x.key", "-out", "x.csr", "-subj", "/CN=gpu-1"),
                 ("x509", "-req", "-in", "x.csr", "-CA", certificates / "ca.pem", "-CAkey", certificates / "ca.key", "-CAcreateserial",
                  "-days", "2", "-out", "x.pem", "-extfile", "usage")):
        subprocess.run(["openssl", *args], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    context.load_cert_chain(tmp_path / "x.pem", tmp_path / "x.key")
    c = over_tls("--client-ca", certificates / "ca.pem")
    assert c.post(report("gpu-1"), context=context).status == status


@pytest.mark.parametrize("version,spoken", [("tls1", False), ("tls1_1", False), ("tls1_2", True), ("tls1_3", True)])
def test_no_tls_older_than_1_2_is_spoken(over_tls, version, spoken):
    c = over_tls()
    out = subprocess.run(["openssl", "s_client", "-connect", f"{c.host}:{c.port}", f"-{version}", "-cipher", "ALL:@SECLEVEL=0"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (out.returncode == 0) == spoken, out.stdout + out.stderr


def test_tokens_work_over_tls(over_tls, tokens):
    c = over_tls("--tokens", tokens(one={"node": "gpu-1"}))
    for seq in range(1, 4):
        assert c.post(report("gpu-1", seq=seq), token="one").status == 202
    assert c.post(report("gpu-1"), token="two").status == 401


def test_plain_http_to_a_tls_port_is_cut(over_tls):
    c = over_tls()
    with c.connect() as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            said = s.recv(4096)
        except ConnectionResetError:
            said = b""
        assert b"HTTP" not in said
    assert c.get("/healthz").status == 200


def test_bad_tokens_and_certificates_stop_it_at_once(run, build, tmp_path):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    bad = tmp_path / "bad"
    bad.write_text("v: 1\ntokens: [{sha256: x, role: read}]\n")
    out = run("assay-controller", "--tokens", bad, "--check")
    assert (out.returncode, out.stderr.count("\n")) == (2, 1)
    assert "tokens[0].sha256" in out.stderr
    out = run("assay-controller", "--listen", "127.0.0.1:0", "--db", tmp_path / "a.db", "--tls-cert", bad, "--tls-key", bad)
    assert out.returncode != 0
    assert "certificate" in out.stderr


@pytest.mark.parametrize("headers,status", [
    ({"Host": "evil.example"}, 403), ({"Host": "evil.example:9470"}, 403), ({"Host": "127.0.0.1.evil.example"}, 403),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "http://localhost:1"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Host": "localhost:9470"}, 200), ({"Host": "[::1]:9470"}, 200), ({"Host": "127.0.0.1"}, 200), ({"Host": "gpu-1"}, 200),
    ({"Host": "localhost.localdomain"}, 200), ({"Host": "a.localhost:80"}, 200),
    ({"Host": "localhost:9470", "Origin": "http://localhost:9470"}, 200), ({"Sec-Fetch-Site": "none"}, 200)])
def test_without_tokens_no_page_of_another_site_may_act(controller, headers, status):
    """Without tokens every local user may do everything, and so could every page in a local browser."""
    c = controller()
    assert c.post(report("gpu-1")).status == 202
    order = b'{"reason": "owned", "for": "1h"}'

    def told():
        return c.call("POST", "/v1/nodes/gpu-1/silence", order, headers={"Content-Type": "text/plain", **headers}).status
    assert wait_for(lambda: told() != 503)  # until it knows the cluster's nodes
    assert told() == status
    assert c.get("/v1/nodes", headers=headers).status == status


def test_with_tokens_a_controller_may_have_any_name(guarded):
    c = guarded()
    headers = {"Host": "assay.example.com", "Origin": "https://dash.example.com"}
    assert c.get("/v1/nodes", token="read", headers=headers).status == 200


def test_blanks_behind_a_token_are_not_part_of_it(guarded):
    c = guarded()
    for blank in (" ", "\t", "  \t "):
        assert c.get("/v1/nodes", headers={"Authorization": "Bearer read" + blank}).status == 200
    assert c.get("/v1/nodes", headers={"Authorization": "Bearer  read"}).status == 200
    assert c.get("/v1/nodes", headers={"Authorization": "Bearer re ad"}).status == 401
