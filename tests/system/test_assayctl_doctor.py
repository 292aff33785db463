# SPDX-License-Identifier: Apache-2.0
"""assayctl doctor: each broken setup is found, with one line that says what to do."""
import pytest
from fixtures_controller import controller, report  # noqa: F401
from stub_lists import stub  # noqa: F401
from test_controller_access import certificates  # noqa: F401
from test_join import join, make, tokens_file  # noqa: F401


def lines(done):
    """{item: [line, ...]}"""
    found = {}
    for line in done.stdout.splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and words[0] in ("ok", "-", "warn", "bad"):
            found.setdefault(words[1], []).append(f"{words[0]} {words[2]}")
    return found


@pytest.fixture
def site(controller, certificates, run, tmp_path):  # noqa: F811
    """A controller with TLS; doctor(token, **environment) runs assayctl doctor on it."""
    for role in ("admin", "operate", "read", "listed", "nobody"):
        (tmp_path / role).write_text(role)
        (tmp_path / role).chmod(0o600)
    (tmp_path / "controller.yaml").write_text(
        f"v: 1\ntokens: {tokens_file(tmp_path / 'tokens.yaml')}\ntls-cert: {certificates / 'server.pem'}\n"
        f"tls-key: {certificates / 'server.key'}\nca: {certificates / 'ca.pem'}\n")
    c = controller("--config", tmp_path / "controller.yaml", tls=str(certificates / "ca.pem"))

    def doctor(token="operate", *args, **more):
        env = {"ASSAY_CONTROLLER": f"https://127.0.0.1:{c.port}", "ASSAY_TOKEN_FILE": str(tmp_path / token), "ASSAY_CACERT": str(certificates / "ca.pem")}
        return run("assayctl", "doctor", *args, env={**env, **more})
    return c, doctor


def one_bad(done):
    """The only bad line."""
    bad = [line for line in done.stdout.splitlines() if line.startswith("bad")]
    assert done.returncode == 1 and len(bad) == 1, done.stdout + done.stderr
    return bad[0]


def test_a_good_set_up_says_where_each_value_came_from(site, certificates):  # noqa: F811
    c, doctor = site
    assert c.post(report("gpu-1"), token="admin").status == 202
    done = doctor()
    found = lines(done)
    assert done.returncode == 0 and "bad" not in [line.split()[0] for lines_ in found.values() for line in lines_], done.stdout
    assert found["controller"] == [f"ok https://127.0.0.1:{c.port} (ASSAY_CONTROLLER in the environment)"]
    assert "ASSAY_TOKEN_FILE in the environment" in found["token"][0] and "ASSAY_CACERT in the environment" in found["authority"][0]
    assert found["rights"] == ["ok role operate: can look, cordon and uncordon"]
    assert found["clock"] == ["ok as the controller's"] and found["certificate"][0].split()[1] in ("until", "ends")
    assert found["mode"][0].startswith("warn observe") and "no host is touched" in found["mode"][0]
    assert done.stdout.splitlines()[-1].startswith("0 bad, ")
    given = doctor("operate", "--cacert", str(certificates / "ca.pem"), ASSAY_CACERT="/nonexistent")
    assert "(--cacert)" in lines(given)["authority"][0]


@pytest.mark.parametrize("token, more, item, words", [
    ("operate", {"ASSAY_CONTROLLER": "assay:9470"}, "controller", "is not a URL"),
    ("operate", {"ASSAY_CONTROLLER": "https://127.0.0.1:1"}, "reach", "start assay-controller there"),
    ("operate", {"ASSAY_CONTROLLER": "https://nowhere.invalid:9470"}, "reach", "fix the name"),
    ("operate", {"ASSAY_CACERT": "/nonexistent"}, "authority", "ASSAY_CACERT in the environment"),
    ("operate", {"ASSAY_CACERT": "{tmp}/operate"}, "authority", "is not a PEM certificate"),
    ("operate", {"ASSAY_CACERT": ""}, "certificate", "set ASSAY_CACERT to"),
    ("missing", {}, "token", "missing"),
    ("nobody", {}, "rights", "does not know the token of ASSAY_TOKEN_FILE in the environment"),
    ("listed", {}, "rights", "lacks the role read"),
])
def test_what_is_broken_here_is_one_line(site, tmp_path, token, more, item, words):
    c, doctor = site
    done = doctor(token, **{k: v.replace("{tmp}", str(tmp_path)) for k, v in more.items()})
    line = one_bad(done)
    assert line.split()[1] == item and words in line, line


def test_a_token_that_others_can_read_and_a_url_that_others_can_read_along(site, tmp_path, run):
    c, doctor = site
    (tmp_path / "operate").chmod(0o644)
    assert lines(doctor())["token"][0].startswith("warn") and "chmod 600" in lines(doctor())["token"][0]
    plain = run("assayctl", "doctor", "--controller", "http://assay.invalid:9470", "--token-file", tmp_path / "admin")
    assert "unencrypted" in lines(plain)["controller"][0]


def test_a_certificate_for_another_name_is_told_with_the_names_it_has(controller, run, tmp_path):  # noqa: F811
    site = tmp_path / "etc"
    made = run("assayctl", "setup", "controller", "--dir", site, "--names", "assay.example.com")
    if "without GnuTLS" in made.stderr:
        pytest.skip("assayctl is built without GnuTLS")
    c = controller("--config", site / "controller.yaml", "--listen", "127.0.0.1:0", tls=str(site / "ca.pem"))
    line = one_bad(run("assayctl", "doctor", "--controller", f"https://127.0.0.1:{c.port}", "--cacert", site / "ca.pem", "--token-file", site / "admin.token"))
    assert line.split()[1] == "certificate" and "DNS:assay.example.com" in line and "setup certificate --names" in line


def test_a_refused_token_is_told_to_be_the_one_of_the_environment(site, run, certificates, tmp_path):  # noqa: F811
    c, doctor = site
    where = {"ASSAY_CONTROLLER": f"https://127.0.0.1:{c.port}", "ASSAY_CACERT": str(certificates / "ca.pem")}
    done = run("assayctl", "nodes", env={**where, "ASSAY_TOKEN_FILE": str(tmp_path / "nobody")})
    assert done.returncode == 2 and f"the token sent is {tmp_path / 'nobody'}, from ASSAY_TOKEN_FILE in the environment" in done.stderr
    done = run("assayctl", "nodes", "--token-file", tmp_path / "nobody", env={**where, "ASSAY_TOKEN_FILE": str(tmp_path / "admin")})
    assert done.returncode == 2 and "in the environment" not in done.stderr


def test_hosts_that_stopped_or_have_not_passed_are_counted(site, tmp_path):
    c, doctor = site
    ticket = make(c, hosts=2).json["token"]
    assert join(c, "gpu-new", ticket, "s1").status == 200
    assert c.post(report("gpu-new", profile="passive"), token="s1").status == 202
    found = lines(doctor())["hosts"]
    assert any("1 host, first gpu-new: joined and unverified" in line for line in found), found
    assert "ok 1 reporting" in found, found


STUB = {"/v1/whoami": (200, {"role": "operate", "name": None, "open": False, "version": "9.9", "cluster": "kubernetes"}),
        "/v1/policy": (200, {"mode": "observe", "mode_of_option": "enforce", "mode_of_policy": "observe", "mode_of_jobs": "observe", "version": "p1", "policy": {}}),
        "/v1/breaker": (200, {"open": False, "reason": "", "opened": None, "reset": None, "mode": "enforce", "fenced": False, "stale": None, "stopped": None, "budget": []}),
        "/v1/nodes": (200, {"items": [], "next": None}), "/v1/coverage": (200, {"items": [], "next": None}), "/v1/actions": (200, {"items": [], "next": None})}


@pytest.mark.parametrize("path, change, item, words", [
    ("/v1/breaker", {"open": True, "opened": "2026-11-20T10:00:00Z", "reason": "31 % of the agents are silent"}, "bad breaker", "assayctl breaker reset"),
    ("/v1/breaker", {"fenced": True}, "bad acting", "another controller has taken over"),
    ("/v1/breaker", {"stopped": "drill"}, "bad acting", "take the annotation off"),
    ("/v1/breaker", {"stale": "the API server is away"}, "bad acting", "check the API server"),
    ("/v1/breaker", {"budget": [{"rule": "budget.total", "used": 2, "limit": 2}]}, "warn budget", "2 of 2 used"),
    ("/v1/coverage", {"items": [{"node": "gpu-7", "tested": None, "ordered": None}]}, "warn hosts", "first gpu-7: without a full run"),
    ("/v1/actions", {"items": [{"state": "failed", "action": "cordon", "result": "PATCH /api/v1/nodes/gpu-1: 403: forbidden"}]}, "bad cluster", "ClusterRole"),
    ("/v1/policy", {}, "warn mode", "the policy says observe, controller.yaml or --mode says enforce"),
    ("/v1/whoami", {}, "warn version", "update the older one"),
    ("/v1/nodes", {"items": [{"node": "gpu-1", "stale": True, "in_cluster": False}]}, "warn hosts", "stopped reporting"),
])
def test_what_keeps_the_controller_from_acting_is_one_line(stub, run, path, change, item, words):  # noqa: F811
    stub.answers.update({**STUB, path: (200, {**STUB[path][1], **change})})
    done = run("assayctl", "doctor", "--controller", stub.url)
    found = [line for line in done.stdout.splitlines() if " ".join(line.split()[:2]) == item]
    assert any(words in line for line in found), done.stdout + done.stderr
    assert done.returncode == (1 if item.startswith("bad") else 0)
