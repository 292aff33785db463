# SPDX-License-Identifier: Apache-2.0
"""Messages about certificates from --check and at the start."""
import re
import shutil
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from fixtures_controller import controller  # noqa: F401

AUTHORITY = """[ca]
default_ca=d
[d]
database=index.txt
serial=serial
new_certs_dir=.
default_md=sha256
policy=p
[p]
commonName=supplied
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """NAME.pem with different validity, all of the key `key`; other.key belongs to none of them."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt-get install openssl")
    where = tmp_path_factory.mktemp("certificates")
    now = datetime.now(timezone.utc)

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=where, check=True, capture_output=True)

    for name in ("key", "other.key"):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", name)
    openssl("req", "-new", "-key", "key", "-subj", "/CN=localhost", "-out", "csr")
    (where / "ca.cnf").write_text(AUTHORITY)
    for name, begin, end in (("good", -1, 300), ("soon", -1, 5), ("expired", -30, -1), ("early", 2, 300)):
        (where / "index.txt").write_text("")
        (where / "serial").write_text("01")
        openssl("ca", "-batch", "-config", "ca.cnf", "-selfsign", "-keyfile", "key", "-in", "csr", "-notext", "-out", f"{name}.pem",
                *(word for option, days in (("-startdate", begin), ("-enddate", end))
                  for word in (option, (now + timedelta(days=days)).strftime("%Y%m%d%H%M%SZ"))))
    (where / "noise.pem").write_text("v: 1\n")
    return where


@pytest.fixture
def settings(certificates, tmp_path):
    def write(cert="good.pem", key="key", ca=None):
        path = tmp_path / "controller.yaml"
        lines = ["v: 1", f"db: {tmp_path / 'assay.db'}", f"tls-cert: {certificates / cert}", f"tls-key: {certificates / key}"]
        path.write_text("\n".join(lines + ([f"client-ca: {certificates / ca}"] if ca else [])) + "\n")
        return path
    return write


@pytest.mark.parametrize("what,words", [
    ({"key": "other.key"}, "tls-cert and tls-key: not a certificate and its key"),
    ({"cert": "noise.pem"}, "tls-cert and tls-key: not a certificate and its key"),
    ({"key": "noise.pem"}, "tls-cert and tls-key: not a certificate and its key"),
    ({"cert": "expired.pem"}, "tls-cert: expired at 20"), ({"cert": "early.pem"}, "tls-cert: not valid before 20"),
    ({"ca": "noise.pem"}, "client-ca: "), ({"ca": "expired.pem"}, "client-ca: expired at 20")])
def test_check_looks_into_the_certificates(run, build, settings, what, words):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    path = settings(**what)
    out = run("assay-controller", "--check", "--config", path)
    assert out.returncode == 2 and out.stderr.startswith(f"{path}: {words}") and out.stderr.count("\n") == 1


def test_check_tells_one_that_ends_soon_and_is_content_with_good_ones(run, build, settings):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    out = run("assay-controller", "--check", "--config", settings(ca="good.pem"))
    assert (out.returncode, out.stderr) == (0, "")
    out = run("assay-controller", "--check", "--config", settings(cert="soon.pem"))
    assert out.returncode == 0 and re.fullmatch(r"tls-cert: expires at 20\S+: renew it\n", out.stderr)


@pytest.mark.parametrize("cert,words", [("expired.pem", "tls-cert: expired at 20"), ("early.pem", "tls-cert: not valid before 20"),
                                        ("soon.pem", "tls-cert: expires at 20"), ("good.pem", None)])
def test_a_start_says_it_and_serves(controller, settings, certificates, cert, words):
    c = controller("--config", settings(cert=cert))
    assert c.stop()[0] == 0
    assert (words in c.log()) if words else ("tls-cert" not in c.log())


def test_a_key_that_others_can_read_is_told(run, build, settings, certificates):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built")
    key = certificates / "key"
    mode = key.stat().st_mode
    try:
        key.chmod(0o644)
        out = run("assay-controller", "--check", "--config", settings())
        assert out.returncode == 0 and f"tls-key: {key}: readable by everyone on this host: chmod o-r" in out.stderr
        key.chmod(0o640)
        assert "readable by everyone" not in run("assay-controller", "--check", "--config", settings()).stderr
    finally:
        key.chmod(mode)
