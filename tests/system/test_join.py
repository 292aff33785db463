# SPDX-License-Identifier: Apache-2.0
"""Hosts join on their own: join tokens, which names are free, and the files written on the host."""
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fixtures_controller import controller, report  # noqa: F401
from test_controller_access import certificates  # noqa: F401
from waiting import wait_for


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def tokens_file(path, *more):
    rows = [f"  - {{sha256: {sha('admin')}, role: admin, name: ann}}", f"  - {{sha256: {sha('operate')}, role: operate}}",
            f"  - {{sha256: {sha('read')}, role: read}}", f"  - {{sha256: {sha('listed')}, node: gpu-listed}}", *more]
    path.write_text("v: 1\ntokens:\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def site(controller, tmp_path):  # noqa: F811
    """A controller that requires tokens; the next one has the same store."""
    tokens = tokens_file(tmp_path / "tokens.yaml")
    return lambda: controller("--tokens", tokens)


def make(c, token="admin", **body):
    return c.call("POST", "/v1/join-tokens", json.dumps(body).encode(), token=token)


def join(c, node, ticket, own):
    return c.call("POST", "/v1/join", json.dumps({"node": node, "token": ticket, "sha256": sha(own)}).encode())


def test_a_host_that_joined_speaks_for_its_own_name_only(site):
    c = site()
    made = make(c, hosts=2, names="gpu-*")
    assert made.status == 200 and made.json["hosts"] == 2
    ticket = made.json["token"]
    assert c.post(report("gpu-1"), token="secret-1").status == 401
    assert join(c, "gpu-1", ticket, "secret-1").json == {"node": "gpu-1", "sentence": "gpu-1 has joined; it is unverified until it passes a quick or full run"}
    assert re.search(r"gpu-1 has joined from 127\.0\.0\.1:\d+, with join token 1\n", c.log())
    assert c.post(report("gpu-1"), token="secret-1").status == 202
    assert c.post(report("gpu-2"), token="secret-1").status == 403
    assert c.get("/v1/nodes", token="secret-1").status == 403
    assert c.post(report("gpu-1", seq=2), token=ticket).status == 401  # a join token is not an API token


def test_a_join_outlives_a_kill_and_is_answered_again(site):
    c = site()
    ticket = make(c).json["token"]
    assert join(c, "gpu-1", ticket, "secret-1").status == 200
    c.kill()
    c = site()
    assert c.post(report("gpu-1"), token="secret-1").status == 202
    assert join(c, "gpu-1", ticket, "secret-1").json["sentence"] == "gpu-1 had already joined"
    assert c.get("/v1/join-tokens", token="operate").json["items"][0]["used"] == 1


def test_a_stolen_join_token_speaks_for_no_host_that_is_there(site):
    c = site()
    ticket = make(c, hosts=100).json["token"]
    assert c.post(report("gpu-old"), token="admin").status == 202
    assert join(c, "gpu-1", ticket, "secret-1").status == 200
    for node in ("gpu-old", "gpu-1", "gpu-listed"):
        answer = join(c, node, ticket, "thief")
        assert answer.status == 409 and answer.json["detail"].startswith(node), node
    assert c.post(report("gpu-1"), token="thief").status == 401
    assert join(c, "gpu-2", ticket, "secret-1").status == 409  # one token, one name


def test_a_reset_voids_the_old_token_and_lets_the_name_join_again(site):
    c = site()
    ticket = make(c, hosts=9).json["token"]
    assert join(c, "gpu-1", ticket, "old").status == 200
    assert c.post(report("gpu-1"), token="old").status == 202
    reset = lambda who, node="gpu-1": c.call("POST", f"/v1/nodes/{node}/reset-token", b'{"reason": "new board"}', token=who)  # noqa: E731
    assert reset("operate").status == 403
    assert reset("admin", "gpu-listed").status == 409
    assert reset("admin").json["sentence"] == "gpu-1: its token was revoked, and it may join again"
    assert c.post(report("gpu-1", seq=2), token="old").status == 401
    assert join(c, "gpu-1", ticket, "new").status == 200
    assert c.post(report("gpu-1", seq=2), token="new").status == 202
    assert c.post(report("gpu-1", seq=3), token="old").status == 401


@pytest.mark.parametrize("body, words, status", [
    ({"for": "25h"}, "24h", 422), ({"for": "0s"}, "1s", 422), ({"hosts": 0}, "hosts", 422), ({"hosts": 50001}, "hosts", 422),
    ({"names": ""}, "pattern", 422), ({"names": "?" * 99}, "pattern", 422), ({"name": "x"}, "name", 422), ({"reason": " "}, "expected a reason", 422)])
def test_what_no_join_token_can_be(site, body, words, status):
    answer = make(site(), **body)
    assert answer.status == status and words in answer.json["detail"]


def test_only_an_admin_makes_join_tokens_and_nobody_reads_one(site):
    c = site()
    for who, status in (("operate", 403), ("read", 403), (None, 401)):
        assert make(c, token=who).status == status
    made = make(c).json
    listed = c.get("/v1/join-tokens", token="read")
    assert made["token"] not in listed.body.decode() and listed.json["items"][0]["made_by"] == "operator ann"
    assert c.stop()[0] == 0
    assert made["token"].encode() not in c.db.read_bytes()


def test_a_token_that_is_over_lets_nobody_in(site):
    c = site()
    first, second = make(c).json, make(c, names="gpu-*", hosts=5).json
    assert join(c, "gpu-1", first["token"], "a").status == 200
    over = join(c, "gpu-2", first["token"], "b")
    assert over.status == 403 and "used up" in over.json["detail"]
    assert join(c, "login-1", second["token"], "b").status == 403
    c.call("POST", f"/v1/join-tokens/{second['id']}/revoke", b"{}", token="admin")
    gone = join(c, "gpu-2", second["token"], "b")
    assert gone.status == 403 and "revoked" in gone.json["detail"]
    assert c.call("POST", "/v1/join-tokens/99/revoke", b"{}", token="admin").status == 404
    brief = make(c, **{"for": "1s"}).json
    assert wait_for(lambda: c.get("/v1/join-tokens", token="admin").json["items"][0]["state"] == "expired")
    assert "expired" in join(c, "gpu-3", brief["token"], "c").json["detail"]


def test_a_stranger_that_guesses_is_slowed_and_hosts_are_not(site):
    c = site()
    ticket = make(c, hosts=100).json["token"]
    for i in range(60):
        assert join(c, f"gpu-{i}", ticket, f"secret-{i}").status == 200
    said = [join(c, "gpu-x", "assay-join-" + "0" * 64, "x").status for i in range(50)]
    assert said[0] == 401 and said[-1] == 429


def test_who_asks_nobody_for_a_token_lets_nobody_join(controller):  # noqa: F811
    c = controller()
    assert make(c, token=None).status == 409 and join(c, "gpu-1", "x", "y").status == 409
    assert c.get("/v1/ca").status == 404


# --- on the host -------------------------------------------------------------------------------------


class Host:
    def __init__(self, run, directory, port):
        self.run, self.conf, self.port = run, directory, port

    def join(self, *args, ticket=None, url=None):
        more = {"input": ticket, "stdin": None} if ticket is not None else {}
        return self.run("assay", "join", "--controller", url or f"https://127.0.0.1:{self.port}", *args,
                        env={"ASSAY_CONF_DIR": str(self.conf)}, **more)


@pytest.fixture
def secured(controller, certificates, run, build, tmp_path):  # noqa: F811
    """A controller with TLS that publishes its CA, its tokens, and a host."""
    if not (build / "assay-join").exists():
        pytest.skip("assay-join is not built: libcurl or libsystemd is missing")
    (tmp_path / "admin").write_text("admin")
    config = tmp_path / "controller.yaml"
    config.write_text(f"v: 1\ntokens: {tokens_file(tmp_path / 'tokens.yaml')}\ntls-cert: {certificates / 'server.pem'}\n"
                      f"tls-key: {certificates / 'server.key'}\nca: {certificates / 'ca.pem'}\n")
    c = controller("--config", config, tls=str(certificates / "ca.pem"))
    ctl = lambda *args: run("assayctl", *args, "--controller", f"https://127.0.0.1:{c.port}", "--token-file", tmp_path / "admin",  # noqa: E731
                            "--cacert", certificates / "ca.pem")
    return c, ctl, Host(run, tmp_path / "etc", c.port)


def test_the_printed_line_joins_a_host_whose_daemon_is_then_believed(secured, run, environ, build, tmp_path):
    c, ctl, host = secured
    line = ctl("join-command", "--names", "gpu-*")
    assert line.returncode == 0 and line.stdout.count("\n") == 1, line.stderr
    words = line.stdout.strip().replace("sudo assay", f"{build}/assay") + " --node gpu-7"
    env = {**environ, "ASSAY_CONF_DIR": str(host.conf)}
    done = subprocess.run(["bash", "-c", words], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "gpu-7 has joined" in done.stdout and "assayd.yaml is written\n" in done.stdout, done.stderr
    assert (host.conf / "token").stat().st_mode & 0o777 == 0o600
    checked = run("assayd", "--check", env={"ASSAY_CONF_DIR": str(host.conf), "ASSAY_STATE_DIR": str(tmp_path / "s"), "ASSAY_RUN_DIR": str(tmp_path / "r")})
    assert checked.returncode == 0 and "accepts reports from 'gpu-7'" in checked.stdout + checked.stderr
    again = subprocess.run(["bash", "-c", words], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0 and "had already joined" in again.stdout and "assayd.yaml is unchanged\n" in again.stdout
    listed = ctl("token", "list")
    assert "1 of 1" in listed.stdout and "used up" in listed.stdout
    assert ctl("token", "revoke", "1").returncode == 0
    assert "may join again" in ctl("token", "reset", "gpu-7").stdout


def test_without_a_controller_it_says_where_the_line_comes_from(run):
    done = run("assay", "join")
    assert done.returncode == 2 and done.stderr == "assay join: give --controller, --ca-hash and --token-file: `assayctl join-command` prints the whole line\n"


def test_another_controller_is_sent_nothing(secured):
    c, ctl, host = secured
    ticket = json.loads(ctl("token", "create", "-o", "json").stdout)
    wrong = host.join("--ca-hash", "0" * 64, "--token-file", "-", "--node", "gpu-7", ticket=ticket["token"])
    assert wrong.returncode == 1 and "nothing was sent" in wrong.stderr
    assert not (host.conf / "token").exists() and not (host.conf / "assayd.yaml").exists()
    assert c.get("/v1/join-tokens", token="admin").json["items"][0]["used"] == 0
    right = host.join("--ca-hash", "sha256:" + ticket["ca_sha256"].upper(), "--token-file", "-", "--node", "gpu-7", ticket=ticket["token"])
    assert right.returncode == 0, right.stderr


def test_what_a_person_wrote_is_not_written_over(secured, certificates):  # noqa: F811
    c, ctl, host = secured
    ticket = json.loads(ctl("token", "create", "-o", "json").stdout)["token"]
    host.conf.mkdir()
    (host.conf / "assayd.yaml").write_text("v: 1\ncontroller: https://other:1\n")
    refused = host.join("--ca", certificates / "ca.pem", "--token-file", "-", "--node", "gpu-7", ticket=ticket)
    assert refused.returncode == 2 and "already exists with other settings" in refused.stderr
    assert os.listdir(host.conf) == ["assayd.yaml"]
    assert c.get("/v1/join-tokens", token="admin").json["items"][0]["used"] == 0
    (host.conf / "assayd.yaml").unlink()
    assert host.join("--ca", certificates / "ca.pem", "--token-file", "-", "--node", "gpu-7", ticket=ticket).returncode == 0


@pytest.mark.parametrize("args, words", [
    (("--ca-hash", "0" * 64), "--token-file"), (("--token-file", "-"), "--ca-hash"), (("--token-file", "-", "--ca-hash", "12"), "64 hexadecimal"),
    (("--token-file", "-", "--ca-hash", "0" * 64, "--node", "a b"), "cannot be the name"), (("--token-file", "/nonexistent", "--ca-hash", "0" * 64), "/nonexistent"),
    (("--token-file", "-", "--token", "x", "--ca-hash", "0" * 64), "--token-file")])
def test_what_cannot_join(run, tmp_path, build, args, words):
    if not (build / "assay-join").exists():
        pytest.skip("assay-join is not built: libcurl or libsystemd is missing")
    done = Host(run, tmp_path / "etc", 9).join(*args, ticket="assay-join-1")
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


def test_a_join_over_plain_http_is_refused_but_on_this_host(run, tmp_path, build):
    if not (build / "assay-join").exists():
        pytest.skip("assay-join is not built: libcurl or libsystemd is missing")
    host = Host(run, tmp_path / "etc", 9)
    far = host.join("--token-file", "-", url="http://assay:9470", ticket="assay-join-1")
    assert far.returncode == 2 and "https" in far.stderr
    nobody = host.join("--token-file", "-", url="http://127.0.0.1:9", ticket="assay-join-1")
    assert nobody.returncode == 3 and not (host.conf / "assayd.yaml").exists()


# --- a whole site --------------------------------------------------------------------------------------

JOINS, JOINS_S, AT_ONCE = 2000, 300, 16


@pytest.mark.alone
@pytest.mark.once
def test_two_thousand_hosts_join_in_five_minutes(secured):
    """Each over its own TLS connection, 16 at once; a host retries if the controller is busy."""
    c, ctl, _ = secured
    ticket = json.loads(ctl("token", "create", "--hosts", JOINS, "--names", "gpu-*", "-o", "json").stdout)["token"]

    def host(i):
        busy = 0
        while (answer := join(c, f"gpu-{i:04}", ticket, f"secret-{i}")).status == 503:
            busy += 1
            time.sleep(int(answer.headers["Retry-After"]))
        return answer.status, busy

    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = list(pool.map(host, range(JOINS)))
    took = time.monotonic() - began
    print(f"{JOINS} joins in {took:.1f} s, {sum(busy for _, busy in said)} asked again")
    assert {status for status, _ in said} == {200} and took < JOINS_S
    assert join(c, "gpu-9999", ticket, "one too many").status == 403
    assert c.get("/v1/join-tokens", token="admin").json["items"][0]["used"] == JOINS
    assert all(c.post(report(f"gpu-{i:04}"), token=f"secret-{i}").status == 202 for i in (0, 999, 1999))


# --- the controller's side of it ------------------------------------------------------------------------


@pytest.fixture
def can_sign(run, tmp_path):
    done = run("assayctl", "setup", "controller", "--dir", tmp_path / "try")
    if "without GnuTLS" in done.stderr:
        pytest.skip("assayctl is built without GnuTLS")
    assert done.returncode == 0, done.stderr


def test_from_nothing_to_three_hosts_in_five_lines(can_sign, controller, run, environ, build, tmp_path):  # noqa: F811
    if not (build / "assay-join").exists():
        pytest.skip("assay-join is not built: libcurl or libsystemd is missing")
    site = tmp_path / "etc"
    done = run("assayctl", "setup", "controller", "--dir", site, "--names", "localhost,127.0.0.1,assay.example.com")
    assert done.returncode == 0 and "join-command" in done.stdout, done.stderr
    modes = {name: (site / name).stat().st_mode & 0o777 for name in os.listdir(site)}
    assert modes["ca.pem"] == modes["controller.pem"] == modes["controller.yaml"] == 0o644
    assert modes["ca.key"] == modes["admin.token"] == 0o600 and modes["controller.key"] & 0o007 == 0 and len(modes) == 7
    c = controller("--config", site / "controller.yaml", "--listen", "127.0.0.1:0", tls=str(site / "ca.pem"))
    assert c.log() == ""
    env = {"ASSAY_CONTROLLER": f"https://localhost:{c.port}", "ASSAY_CACERT": str(site / "ca.pem"), "ASSAY_TOKEN_FILE": str(site / "admin.token")}
    line = run("assayctl", "join-command", "--hosts", 3, env=env)
    assert line.returncode == 0, line.stderr
    for i in (1, 2, 3):
        words = line.stdout.strip().replace("sudo assay", f"{build}/assay") + f" --node gpu-{i}"
        joined = subprocess.run(["bash", "-c", words], env={**environ, "ASSAY_CONF_DIR": str(tmp_path / f"host-{i}")}, capture_output=True,
                                text=True, timeout=60, check=False)
        assert joined.returncode == 0, joined.stderr
        assert c.post(report(f"gpu-{i}"), token=(tmp_path / f"host-{i}" / "token").read_text()).status == 202
    assert "3 hosts" in run("assayctl", "nodes", env=env).stdout


def test_setup_writes_over_nothing_and_a_certificate_can_be_renewed(can_sign, controller, run, tmp_path):  # noqa: F811
    site = tmp_path / "etc"
    site.mkdir()
    (site / "tokens.yaml").write_text("mine")
    refused = run("assayctl", "setup", "controller", "--dir", site)
    assert refused.returncode == 2 and "tokens.yaml: already exists" in refused.stderr and os.listdir(site) == ["tokens.yaml"]
    (site / "tokens.yaml").unlink()
    assert run("assayctl", "setup", "controller", "--dir", site, "--names", "nobody.example.com").returncode == 0
    c = controller("--config", site / "controller.yaml", "--listen", "127.0.0.1:0", tls=str(site / "ca.pem"))
    env = {"ASSAY_CONTROLLER": f"https://127.0.0.1:{c.port}", "ASSAY_CACERT": str(site / "ca.pem"), "ASSAY_TOKEN_FILE": str(site / "admin.token")}
    assert run("assayctl", "nodes", env=env).returncode == 3  # a name that is not in the certificate
    assert run("assayctl", "setup", "certificate", "--dir", site, "--names", "assay.example.com,127.0.0.1").returncode == 0
    c.process.send_signal(signal.SIGHUP)
    assert wait_for(lambda: run("assayctl", "nodes", env=env).returncode == 0)


@pytest.mark.parametrize("args, words", [(("--names", "a b"), "neither a host's name"), (("--names", ","), "--names"),
                                         (("--names", ",".join(f"h{i}" for i in range(33))), "more than 32")])
def test_names_that_no_certificate_can_have(can_sign, run, tmp_path, args, words):
    done = run("assayctl", "setup", "controller", "--dir", tmp_path / "etc", *args)
    assert done.returncode == 2 and words in done.stderr and not (tmp_path / "etc" / "ca.key").exists()
