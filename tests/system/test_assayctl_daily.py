# SPDX-License-Identifier: Apache-2.0
"""assayctl in daily use: hosts out of service, the end of a silence, and the same options before every command."""
import shutil
import subprocess

import pytest
from controller_stub import make_certificates
from fixtures_controller import controller, report  # noqa: F401
from test_assayctl_act import NODES, acting, dead, out_of, policy  # noqa: F401
from waiting import wait_for


def listed(a, *words):
    done = a.ctl("nodes", *words, token="read")
    assert done.returncode == 0, done.stderr
    return {line.split()[1]: line for line in done.stdout.splitlines() if " gpu-" in line and line.split()[1].startswith("gpu-")}


def service(a, node):
    return next(n for n in a.get("nodes?limit=1000")["items"] if n["node"] == node)["service"]


# --- who is out of service -----------------------------------------------------------------


def test_nodes_says_who_is_out_of_service_and_by_whom(acting):
    a = acting()
    assert a.ctl("cordon", "gpu-03", "--reason", "fan 3").returncode == 0
    a.report("gpu-05", dead())
    assert wait_for(lambda: out_of(a) == ["gpu-03", "gpu-05"])
    assert a.ctl("silence", "gpu-06", "--for", "4h", "--reason", "firmware").returncode == 0
    rows = listed(a)
    assert "cordoned by ann" in rows["gpu-03"] and "cordoned by Assay" in rows["gpu-05"]
    assert "silenced until " in rows["gpu-06"] and "in service" in rows["gpu-07"]
    assert sorted(listed(a, "--cordoned")) == ["gpu-03", "gpu-05"]
    assert listed(a, "--cordoned", "--verdict", "fail").keys() == {"gpu-05"}
    one = service(a, "gpu-03")
    assert (one["state"], one["by"], one["reason"]) == ("cordoned", "operator ann", "fan 3") and one["since"]
    assert (service(a, "gpu-05")["by"], service(a, "gpu-07")["state"], service(a, "gpu-07")["by"]) == ("assay", "in-service", None)
    assert service(a, "gpu-06")["state"] == "in-service" and service(a, "gpu-06")["silence_until"]
    assert a.get("nodes/gpu-03")["service"] == one
    assert a.ctl("uncordon", "gpu-03", "-r", "fan replaced").returncode == 0
    assert "override until " in listed(a)["gpu-03"] and service(a, "gpu-03")["override_until"]


def test_nobody_out_of_service_is_said_so(acting):
    a = acting()
    done = a.ctl("nodes", "--cordoned", token="read")
    assert done.returncode == 0 and "none of 8 hosts" in done.stdout + done.stderr


# --- the end of a silence and of an override ----------------------------------------------------


def test_zero_ends_a_silence_by_the_api_and_by_the_command(acting):
    a = acting()
    for end in (lambda: a.post("nodes/gpu-02/silence", {"reason": "done", "for": "0s"}).json["sentence"],
                lambda: a.ctl("silence", "gpu-02", "--for", "0s", "--reason", "done").stdout):
        done = a.ctl("silence", "gpu-02", "--for", "4h", "--reason", "firmware")
        assert done.returncode == 0 and "gpu-02: silenced until " in done.stdout and a.life("gpu-02")["silence_until"]
        assert "gpu-02: silence ended" in end()
        assert a.life("gpu-02")["silence_until"] is None
    a.report("gpu-02", dead())
    assert wait_for(lambda: out_of(a) == ["gpu-02"])


def test_zero_ends_an_override_and_the_host_is_decided_on_again(acting):
    a = acting()
    a.report("gpu-04", dead())
    assert wait_for(lambda: out_of(a) == ["gpu-04"])
    assert a.ctl("uncordon", "gpu-04", "-r", "we need it").returncode == 0
    assert out_of(a) == []
    done = a.ctl("override", "gpu-04", "--for", "12h", "-r", "benchmark")
    assert done.returncode == 0 and "gpu-04: kept in service until " in done.stdout
    done = a.ctl("override", "gpu-04", "--for", "0s")
    assert done.returncode == 0 and "gpu-04: override ended" in done.stdout
    assert a.life("gpu-04")["override_until"] is None
    a.report("gpu-04", dead())
    assert wait_for(lambda: out_of(a) == ["gpu-04"])
    answer = a.post("nodes/gpu-04/override", {"reason": "x", "for": "0s"})
    assert answer.status == 200 and "override ended" in answer.json["sentence"]


def test_an_override_wants_an_end_and_a_silence_a_time(acting):
    a = acting()
    done = a.ctl("override", "gpu-00", "-r", "x")
    assert done.returncode == 2 and "--until" in done.stderr and "--for" in done.stderr
    assert a.ctl("override", "gpu-00", "--until", "1h", "--for", "1h").returncode == 2
    assert a.post("nodes/gpu-00/override", {"until": "1h", "for": "1h"}).status == 422
    assert a.post("nodes/gpu-00/override", {"reason": "x"}).status == 422
    assert a.ctl("silence", "gpu-00", "-r", "x").returncode == 2
    assert a.ctl("policy", "replay", "x", "--since", "0s").returncode == 2


# --- the message about a cordon without a scheduler ------------------------------------------------


def test_a_cordon_of_the_embedded_cluster_says_that_no_scheduler_is_told(acting):
    a = acting()
    said = " ".join(a.ctl("cordon", "gpu-01", "-r", "x").stdout.split())
    assert said.startswith("gpu-01: cordoned") and "no scheduler learns of it" in said and "assay admit" in said


# --- the same words before every command -----------------------------------------------------------


@pytest.mark.parametrize("words", [("policy", "check"), ("completion", "bash")])
def test_where_the_controller_is_may_be_said_to_every_command(run, tmp_path, top, words):
    words += (str(top / "policies/default.yaml"),) if words[0] == "policy" else ()
    where = ("--controller", "https://c:9470", "--cacert", tmp_path / "ca.pem", "--token-file", tmp_path / "t", "--timeout", "5s")
    for line in ((*where, *words), (*words, *where)):
        assert run("assayctl", *line).returncode == 0
    done = run("assayctl", *words, "--verdict", "fail")
    assert done.returncode == 2 and "has no --verdict" in done.stderr


def test_the_environment_may_say_whom_to_trust(controller, run, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt-get install openssl")
    make_certificates(tmp_path)
    c = controller("--tls-cert", tmp_path / "server.pem", "--tls-key", tmp_path / "server.key", tls=str(tmp_path / "ca.pem"))
    where = {"ASSAY_CONTROLLER": f"https://127.0.0.1:{c.port}"}
    assert run("assayctl", "nodes", env=where).returncode == 3
    assert run("assayctl", "nodes", env={**where, "ASSAY_CACERT": str(tmp_path / "ca.pem")}).returncode == 0
    assert run("assayctl", "nodes", "--cacert", tmp_path / "other.pem", env={**where, "ASSAY_CACERT": str(tmp_path / "ca.pem")}).returncode == 3


# --- small stops -------------------------------------------------------------------------------------


def test_a_reader_that_has_seen_enough_is_no_failure(acting, environ, build, tmp_path):
    """More output than fits in a pipe, and a reader that exits after one line, like `| head -1`."""
    a = acting()
    for i in range(200):
        a.report(f"a-host-with-a-rather-long-name-so-that-many-of-them-fill-a-pipe-{i:03d}.example.com")
    line = f"set -o pipefail; {build}/assayctl nodes --controller http://127.0.0.1:{a.c.port} --token-file {tmp_path / 'read'} {{}} | head -1"
    for output in ("", "-o json", "-o kv"):
        done = subprocess.run(["bash", "-c", line.format(output)], env=environ, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, ""), output
        assert done.stdout


def test_help_says_it_of_the_command_that_is_named(run):
    for command in ("run", "admit", "list", "topology"):
        assert run("assay", "help", command).stdout == run("assay", command, "--help").stdout != ""
    done = run("assay", "help", "rnu")
    assert done.returncode == 2 and "no command 'rnu'" in done.stderr
    assert run("assay", "version").stdout == run("assay", "--version").stdout


def test_why_there_is_no_baseline_is_said(controller, run):
    c = controller()
    assert c.post(report(samples=[])).status == 202
    said = run("assayctl", "baselines", "--controller", f"http://127.0.0.1:{c.port}").stdout
    assert said == "no baselines yet: no report so far has a value that hosts are compared by\n"


@pytest.mark.parametrize("settings,rules,mode,words", [
    ("enforce", "observe", "observe", "the policy says observe, the settings say enforce: the more cautious one applies"),
    ("dry-run", "enforce", "dry-run", "the policy says enforce, the settings say dry-run: the more cautious one applies"),
    ("enforce", "enforce", "enforce", None)])
def test_the_start_says_what_runs_and_why_it_is_so_careful(controller, tmp_path, settings, rules, mode, words):
    (tmp_path / "policies" / "sku").mkdir(parents=True)
    (tmp_path / "policies" / "default.yaml").write_text(policy().replace("mode: enforce", f"mode: {rules}"))
    c = controller("--mode", settings, env={"ASSAY_POLICY_DIR": str(tmp_path / "policies")})
    line = c.process.stdout.readline()  # the one after "listening on"
    assert line.startswith("version=")
    assert f"mode={mode} " in line and "cluster=embedded" in line and "policy=" in line
    assert (words in line) if words else ("cautious" not in line)


# --- several hosts in one line -------------------------------------------------------------------------


def test_several_hosts_are_named_in_one_line(acting):
    a = acting()
    done = a.ctl("cordon", "gpu-01", "gpu-02", "-r", "rack 3", "gpu-03")
    assert done.returncode == 0 and out_of(a) == ["gpu-01", "gpu-02", "gpu-03"]
    assert [line.split(":")[0] for line in done.stdout.splitlines() if line.startswith("gpu-")] == ["gpu-01", "gpu-02", "gpu-03"]
    done = a.ctl("uncordon", "gpu-02", "gpu-05", "gpu-03", "-r", "replaced")
    assert done.returncode == 0 and out_of(a) == ["gpu-01"]
    done = a.ctl("silence", "gpu-06", "gpu-66", "gpu-07", "--for", "1h", "-r", "x")
    assert done.returncode == 1 and "gpu-66" in done.stderr
    assert a.life("gpu-06")["silence_until"] and a.life("gpu-07")["silence_until"]
    done = a.ctl("cordon", "gpu-04", "gpu-05", "-r", "x", token="read")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    done = a.ctl("why", "gpu-01", "gpu-02", token="read")
    assert done.returncode == 2 and "unexpected argument 'gpu-02'" in done.stderr
