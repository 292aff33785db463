# SPDX-License-Identifier: Apache-2.0
"""A host has one name, and a report under another name does not block other reports."""
import hashlib
import json
import shutil
import signal
import socket
import subprocess

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from conftest import sample
from controller_stub import Answer
from fixtures_controller import controller, report  # noqa: F401

MINE = "gpu-17"
FOREIGN = Answer(403, {"title": "Not allowed", "detail": "this token may not report for 'vm'"})


@pytest.fixture
def one(says, profiles):
    """The arguments of `assay run` with one probe."""
    return ("run", "--profiles", profiles(quick=[{"name": "p", "exec": says("p", sample())}]), "-o", "json")


@pytest.fixture
def tokens(tmp_path):
    """A controller's tokens file, and a file with a token for the host MINE."""
    digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("mine", "read")}
    path = tmp_path / "tokens.yaml"
    path.write_text(f"v: 1\ntokens:\n  - {{sha256: {digest['mine']}, node: {MINE}}}\n  - {{sha256: {digest['read']}, role: read}}\n")
    for name in digest:
        (tmp_path / name).write_text(name)
    return path


# --- one name ------------------------------------------------------------------------------


def test_the_configuration_names_what_is_run_by_hand(run, one, config):
    config(node=MINE)
    value = json.loads(run("assay", *one).stdout)
    assert (value["report"]["node"], value["verdict"]["node"]) == (MINE, MINE)
    assert json.loads(run("assay", "admit", "-o", "json").stdout)["answer"] != "unknown"


def test_the_configuration_names_it_before_the_environment_of_whoever_starts_something(run, one, config, assayd, stub, wait_until):
    config(node=MINE)
    assert json.loads(run("assay", *one, env={"ASSAY_NODE": "other"}).stdout)["report"]["node"] == MINE
    daemon = assayd(env={"ASSAY_NODE": "other"})
    wait_until(lambda: stub.asked)
    assert stub.asked[0][0].startswith(f"/v1/nodes/{MINE}/orders")
    config(node=None)
    assert json.loads(run("assay", *one, env={"ASSAY_NODE": "other"}).stdout)["report"]["node"] == "other"
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: any(path.startswith("/v1/nodes/other/orders") for path, _ in stub.asked))


def test_without_either_it_is_the_name_of_the_host(run, one, config):
    assert json.loads(run("assay", *one).stdout)["report"]["node"] == NODE
    config(node=None)
    assert json.loads(run("assay", *one).stdout)["report"]["node"] == socket.gethostname()


@pytest.mark.long
def test_what_assayd_starts_and_watches_has_its_name(assayd_path, environ, config, stub, says, tmp_path, wait_until):
    """The configuration is where `assay` does not look, and another one is where it does."""
    config(node=MINE, schedule={"passive": "1m"}, watch={"links": False, "kernel_log": True})
    where = (tmp_path / "conf" / "assayd.yaml").rename(tmp_path / "elsewhere.yaml")
    config(node="another")
    policies = tmp_path / "policies"
    policies.mkdir()
    probe = {"name": "p", "exec": str(says("p", sample())), "budget": "5s", "active": False}
    (policies / "profiles.yaml").write_text(json.dumps({"v": 1, "profiles": {"passive": {"budget": "60s", "probes": [probe]}}}))
    daemon = subprocess.Popen([assayd_path, "--config", where], env={**environ, "ASSAY_POLICY_DIR": str(policies)}, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: any(r["profile"] == "passive" for r in stub.stored.values()), 150)
    finally:
        daemon.kill()
        daemon.wait()
    assert {key[0] for key in stub.stored} == {MINE}


@pytest.mark.parametrize("text,words", [("v: 1\nnode: a/b\n", "assayd.yaml: node: expected a host name"), ("v: [1\n", "assayd.yaml: line 2")])
def test_a_configuration_that_names_nothing_good_stops_a_run_but_refuses_no_job(run, one, tmp_path, text, words):
    (tmp_path / "conf" / "assayd.yaml").write_text(text)
    out = run("assay", *one)
    assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1
    assert run("assay", "admit").returncode == 0


# --- a name that is not ours ------------------------------------------------------------------


@pytest.mark.parametrize("lines", [False, True])
def test_a_report_of_another_host_is_set_aside_with_the_reason_and_the_others_arrive(assayd, stub, spool, wait_until, lines):
    stub.takes_lines, stub.store_first = lines, False
    stub.script = [FOREIGN] * (2 if lines else 1)  # the first of a batch is retried once, alone
    for seq in range(1, 8):
        spool(seq)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.seqs() == [2, 3, 4, 5, 6, 7]
    bad = spool.path / "bad"
    assert sorted(p.name for p in bad.iterdir()) == ["1.json", "1.why"]
    assert (bad / "1.why").read_text() == "403 not allowed for this node: this token may not report for 'vm'\n"
    assert "this token may not report for 'vm' seq=1" in daemon.log() and "reports wait" not in daemon.log()
    if lines:
        assert stub.lines == [7, 6]


def test_what_was_set_aside_is_sent_again_when_it_is_put_back(assayd, stub, spool, wait_until):
    stub.store_first = False
    stub.script = [FOREIGN] * 3
    for seq in range(1, 4):
        spool(seq)
    assayd()
    wait_until(lambda: not spool.left() and len(list((spool.path / "bad").glob("*.json"))) == 3)
    assert stub.seqs() == []
    for path in (spool.path / "bad").glob("*.json"):
        shutil.move(path, spool.path)
    wait_until(lambda: not spool.left() and len(stub.seqs()) == 3)
    assert sorted(stub.seqs()) == [1, 2, 3]


def test_a_host_that_was_named_too_late_is_not_held_up(controller, tokens, assayd_path, environ, config, run, one, tmp_path, wait_until):
    """Runs under the host's own name, until the configuration sets the name of its token."""
    c = controller("--tokens", tokens)
    config(node=None)
    assert run("assay", *one, "--report").returncode in (0, 1, 3)
    config(node=MINE, controller=f"http://{c.host}:{c.port}", token_file=str(tmp_path / "mine"))
    assert run("assay", *one, "--report").returncode in (0, 1, 3)
    with open(tmp_path / "log", "wb") as log:
        daemon = subprocess.Popen([assayd_path], env=environ, stderr=log)
    try:
        wait_until(lambda: not list((tmp_path / "state/spool").glob("*.json")))
    finally:
        daemon.kill()
        daemon.wait()
    assert [n["node"] for n in c.get("/v1/nodes", token="read").json["items"]] == [MINE]
    assert [p.name for p in (tmp_path / "state/spool/bad").glob("*.json")] == ["1.json"]


# --- said beforehand ---------------------------------------------------------------------------


def test_check_asks_the_controller_whether_the_token_may_report_for_the_name(controller, tokens, run, config, tmp_path):
    c = controller("--tokens", tokens)
    where = {"controller": f"http://{c.host}:{c.port}", "token_file": str(tmp_path / "mine")}
    config(node=MINE, **where)
    out = run("assayd", "--check")
    assert out.returncode == 0 and f"accepts reports from '{MINE}'" in out.stderr
    config(node="gpu-18", **where)
    out = run("assayd", "--check")
    assert out.returncode == 2 and "'gpu-18'" in out.stderr and "403" in out.stderr and out.stderr.count("\n") == 1
    config(node=MINE, **{**where, "token_file": str(tmp_path / "read")})
    assert run("assayd", "--check").returncode == 2
    (tmp_path / "stranger").write_text("stranger")
    config(node=MINE, **{**where, "token_file": str(tmp_path / "stranger")})
    out = run("assayd", "--check")
    assert out.returncode == 2 and "401" in out.stderr
    # It does not count as a report or as a sign of life, and only what was refused is logged.
    assert "wait: expected seconds" not in c.log() and c.metrics()["assay_http_held"] == 0
    assert c.get("/v1/nodes", token="read").json["items"] == []


def test_check_says_when_nobody_could_be_asked_and_finds_the_file_good(run, config, stub):
    stub.stop()
    out = run("assayd", "--check")
    assert out.returncode == 0 and "could not ask" in out.stderr and "Connection refused" in out.stderr
    stub.start()
    stub.orders_answer = Answer(503, {"title": "busy"})
    out = run("assayd", "--check")
    assert out.returncode == 0 and "503" in out.stderr


def test_check_waits_for_a_silent_controller_for_seconds_only(run, config):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config(controller=f"http://127.0.0.1:{silent.getsockname()[1]}")
        out = run("assayd", "--check")
    assert out.returncode == 0 and "could not ask" in out.stderr


# --- what else is said beforehand, and at the start ------------------------------------------------


def test_the_file_counts_more_than_a_persons_environment(run, config, stub, tmp_path, assayd_path, environ, wait_until):
    """assayctl's variables are set in the shell that starts assayd: an operator's token, another controller."""
    (tmp_path / "host").write_text("host")
    (tmp_path / "ann").write_text("ann")
    person = {"ASSAY_TOKEN_FILE": str(tmp_path / "ann"), "ASSAY_CONTROLLER": "http://127.0.0.1:1"}
    config(token_file=str(tmp_path / "host"))
    daemon = subprocess.Popen([assayd_path], env={**environ, **person}, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: stub.asked)
    finally:
        daemon.kill()
        daemon.wait()
    assert stub.asked[0][1]["Authorization"] == "Bearer host"
    config(token_file=str(tmp_path / "nowhere"))
    out = run("assayd", "--check", env=person)
    assert out.returncode == 2 and f"token_file: cannot read {tmp_path / 'nowhere'}" in out.stderr
    config(token_file=None)
    assert run("assayd", "--check", env=person).returncode == 0
    assert stub.asked[-1][1]["Authorization"] == "Bearer ann"


def test_without_a_file_it_is_said_that_there_is_none(run, assayd_path, tmp_path):
    out = run("assayd", "--check")
    assert out.returncode == 2 and out.stderr.count("\n") == 1
    assert "assayd.yaml: no such file, and ASSAY_CONTROLLER is not set" in out.stderr


def test_a_token_that_others_may_see_is_told(run, config, tmp_path, stub):
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o644)
    config(token_file=str(token), controller="http://gpu-controller.invalid:9470")
    out = run("assayd", "--check")
    assert out.returncode == 0 and f"{token}: readable by everyone on this host: chmod 640" in out.stderr
    assert "http://gpu-controller.invalid:9470: the token is sent unencrypted: use https" in out.stderr
    token.chmod(0o640)
    config(token_file=str(token))
    out = run("assayd", "--check")
    assert out.returncode == 0 and "readable by everyone" not in out.stderr and "unencrypted" not in out.stderr


def test_a_second_assayd_on_one_state_directory_is_refused(assayd, stub, assayd_path, environ, wait_until):
    daemon = assayd()
    wait_until(lambda: stub.held)
    second = subprocess.run([assayd_path], env={**environ, "ASSAY_NODE": NODE}, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert second.returncode == 1 and f"held by pid {daemon.pid} (assayd)" in second.stderr
    daemon.kill()
    daemon.wait()
    third = assayd()
    wait_until(lambda: stub.times_held > 1)
    assert third.poll() is None
