# SPDX-License-Identifier: Apache-2.0
"""assayd: TLS, and networks that fail silently."""
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
from assayd_fixtures import SOON_S, assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Stub, make_certificates, server_tls


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt-get install openssl")
    directory = tmp_path_factory.mktemp("certificates")
    make_certificates(directory)
    return directory


@pytest.fixture
def secure(certificates):
    """A controller with TLS that requires a client certificate."""
    controller = Stub(server_tls(certificates / "server.pem", certificates / "server.key", certificates / "ca.pem"))
    yield controller
    controller.stop()


def files(certificates, **names):
    return {key: str(certificates / name) for key, name in names.items()}


def test_both_sides_show_their_certificates(assayd, secure, config, spool, certificates, wait_until):
    config(controller=secure.url, **files(certificates, ca="ca.pem", cert="client.pem", key="client.key"))
    for seq in range(1, 21):
        spool(seq)
    assayd()
    wait_until(lambda: not spool.left())
    wait_until(lambda: secure.held)
    assert secure.seqs() == list(range(1, 21))
    assert secure.connections <= 3  # for orders, reports, and the ranks running here: persistent, not one per report


def replace(path, source):
    """Replaces a file atomically, as a renewal does."""
    path.with_suffix(".new").write_bytes(source.read_bytes())
    path.with_suffix(".new").rename(path)


def test_a_renewed_certificate_is_used_without_a_restart(assayd, secure, config, spool, certificates, wait_until, tmp_path):
    cert, key = tmp_path / "host.pem", tmp_path / "host.key"
    for path, name in ((cert, "client.pem"), (key, "client.key")):
        replace(path, certificates / name)
    config(controller=secure.url, ca=str(certificates / "ca.pem"), cert=str(cert), key=str(key), traces={"logs": "/nowhere/*.log", "patterns": "/nowhere.yaml"})
    daemon = assayd()
    spool(1)
    wait_until(lambda: secure.held and not spool.left())
    assert set(secure.peers) == {"n1"}
    replace(cert, certificates / "renewed.pem")
    replace(key, certificates / "renewed.key")
    wait_until(lambda: "renewed" in secure.peers and secure.held, what="a connection with the renewed certificate")
    spool(2)
    wait_until(lambda: not spool.left())
    assert secure.seqs() == [1, 2] and daemon.log().count("certificates changed") >= 1


def test_a_renewed_authority_is_trusted_without_a_restart(assayd, secure, config, spool, certificates, wait_until, tmp_path):
    ca = tmp_path / "ca.pem"
    replace(ca, certificates / "other.pem")
    config(controller=secure.url, ca=str(ca), **files(certificates, cert="client.pem", key="client.key"))
    spool(1)
    daemon = assayd()
    wait_until(lambda: "is not trusted" in daemon.log())
    replace(ca, certificates / "ca.pem")
    wait_until(lambda: not spool.left() and secure.held)


def test_a_certificate_that_is_gone_leaves_the_connection(assayd, secure, config, spool, certificates, wait_until, tmp_path):
    cert = tmp_path / "host.pem"
    replace(cert, certificates / "client.pem")
    config(controller=secure.url, cert=str(cert), **files(certificates, ca="ca.pem", key="client.key"))
    daemon = assayd()
    spool(1)
    wait_until(lambda: secure.held and not spool.left())
    connections = secure.connections
    cert.unlink()
    wait_until(lambda: "keeping the current connections" in daemon.log())
    spool(2)
    wait_until(lambda: not spool.left())
    assert secure.connections == connections


@pytest.mark.parametrize("given,words", [
    ({"ca": "other.pem", "cert": "client.pem", "key": "client.key"}, "the certificate of the server is not trusted"),
    ({"ca": "ca.pem"}, "reports wait: POST"),
    ({"ca": "ca.pem", "cert": "client.pem", "key": "server.key"}, "the client certificate cannot be used"),
    ({"ca": "none.pem", "cert": "client.pem", "key": "client.key"}, "the CA file cannot be used")])
def test_who_is_not_trusted_gets_nothing(assayd, secure, config, spool, certificates, wait_until, given, words):
    config(controller=secure.url, **files(certificates, **given))
    spool(1)
    daemon = assayd()
    wait_until(lambda: words in daemon.log())
    assert spool.left() == [1] and not secure.came and not secure.asked


def test_a_server_of_another_name_is_not_trusted(assayd, secure, config, spool, certificates, wait_until):
    config(controller=secure.url.replace("127.0.0.1", "127.0.0.2"), **files(certificates, ca="ca.pem", cert="client.pem", key="client.key"))
    spool(1)
    daemon = assayd()
    wait_until(lambda: "reports wait" in daemon.log())
    assert not secure.came


def test_a_server_without_tls_is_told_apart(assayd, stub, config, spool, certificates, wait_until):
    config(controller=stub.url.replace("http:", "https:"), ca=str(certificates / "ca.pem"))
    spool(1)
    daemon = assayd()
    wait_until(lambda: "TLS cannot be set up" in daemon.log())
    assert spool.left() == [1]


def test_a_name_that_is_unknown_is_said(assayd, config, spool, wait_until):
    config(controller="http://no-such-host.invalid:1")
    spool(1)
    daemon = assayd()
    wait_until(lambda: "cannot resolve the host name" in daemon.log(), seconds=30)
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=SOON_S) == 0


def test_a_stop_does_not_wait_for_a_server_that_says_nothing(assayd, config, spool, wait_until):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config(controller="http://127.0.0.1:%d" % silent.getsockname()[1])
        spool(1)
        daemon = assayd()
        connections = [silent.accept()[0] for _ in range(2)]
        assert any(c.recv(5, socket.MSG_WAITALL) == b"POST " for c in connections)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(timeout=SOON_S) == 0
    assert spool.left() == [1]


@pytest.fixture
def cable():
    """A network of its own for assayd: .namespace, .here (our address), .cut()."""
    name = f"assay{os.getpid()}"
    net = 4 * (os.getpid() % 64)  # tests in parallel may have cables too
    here, there = f"198.51.100.{net + 1}", f"198.51.100.{net + 2}"

    def ip(*args):
        return subprocess.run(["ip", *args], capture_output=True, text=True, check=True)

    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("a network name space needs root and iproute2")
    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as e:
        pytest.skip(f"no network name space here: {e.stderr}")
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        ip("addr", "add", f"{here}/30", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        ip("-n", name, "addr", "add", f"{there}/30", "dev", f"{name}b")
        ip("-n", name, "link", "set", f"{name}b", "up")
        ip.namespace = name
        ip.here = here
        # Frames are dropped beyond assayd's link, which stays up.
        ip.cut = lambda: ip("addr", "del", f"{here}/30", "dev", f"{name}a")
        yield ip
    finally:
        subprocess.run(["ip", "link", "del", f"{name}a"], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.once
def test_a_cut_cable_is_noticed_in_seconds(assayd_path, assayd, cable, config, wait_until):
    stub = Stub(host=cable.here)
    config(controller=stub.url)
    daemon = assayd(prefix=["ip", "netns", "exec", cable.namespace])
    wait_until(lambda: stub.times_held >= 2)
    cable.cut()
    began = time.monotonic()
    wait_until(lambda: "cannot reach the controller: GET" in daemon.log().split("connected to the controller")[-1], seconds=30,
               what="the end of the held connection")
    print(f"noticed after {time.monotonic() - began:.1f} s")
    assert time.monotonic() - began < 29  # the request's own timeout is 40 s
    stub.stop()
