# SPDX-License-Identifier: Apache-2.0
"""assayd: orders, its life under systemd, its configuration."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from assayd_fixtures import NODE, SOON_S, assayd, assayd_path, config, spool, stub  # noqa: F401
from conftest import sample
from controller_stub import Answer


# --- orders -------------------------------------------------------------------------


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def opinion(verdict="fail", seconds=600):
    return {"id": f"o{seconds}", "kind": "opinion",
            "opinion": {"verdict": verdict, "policy": "p1", "expires": stamp(seconds), "sentence": "two neighbours agree"}}


@pytest.fixture
def verdict(tmp_path):
    """verdict() writes the verdict.json of a host that has just passed."""

    def write():
        value = {"v": 1, "kind": "verdict", "node": NODE, "time": stamp(0), "seq": 1, "profile": "quick", "verdict": "pass",
                 "sentence": "well", "items": [{"check": "gemm.rate", "subject": "cpu:0", "verdict": "pass", "value": 1.0, "unit": "1",
                                                "expected": 1.0, "floor": 0.9, "source": "peers", "n": 3, "sentence": "good"}]}
        (tmp_path / "state" / "verdict.json").write_text(json.dumps(value))

    write.fleet = lambda: json.loads((tmp_path / "state" / "verdict.json").read_text()).get("fleet")
    return write


def test_the_request_for_orders_is_held_and_repeated(assayd, stub, config, wait_until):
    config(intervals={"orders_wait": "2s"})
    assayd()
    wait_until(lambda: stub.times_held >= 3)
    assert [path for path, _ in stub.asked[:3]] == [f"/v1/nodes/{NODE}/orders?wait={s}" for s in (1, 2, 2)]


def test_an_opinion_is_obeyed_by_admit_until_another_comes(assayd, stub, run, verdict, wait_until):
    verdict()
    assayd()
    wait_until(lambda: stub.held)
    assert run("assay", "admit", env={"ASSAY_NODE": NODE}).returncode == 0
    stub.orders = [opinion()]
    wait_until(verdict.fleet)
    out = run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE})
    assert out.returncode == 1 and json.loads(out.stdout)["source"] == "fleet" and "two neighbours agree" in out.stdout
    stub.orders = [opinion("pass", 500)]
    wait_until(lambda: verdict.fleet()["verdict"] == "pass")
    assert run("assay", "admit", env={"ASSAY_NODE": NODE}).returncode == 0


def test_an_expired_opinion_is_as_if_none_came(assayd, stub, verdict, wait_until):
    verdict()
    daemon = assayd()
    stub.orders = [opinion(seconds=-5)]
    wait_until(lambda: "order declined: the opinion expired" in daemon.log())
    assert verdict.fleet() is None


def test_an_opinion_before_the_first_run_outlives_assayd_and_is_obeyed(assayd, stub, run, verdict, says, profiles, wait_until, tmp_path):
    daemon = assayd()
    stub.orders = [opinion()]
    wait_until(lambda: (tmp_path / "state" / "verdict.json").exists() and verdict.fleet())
    daemon.kill()
    daemon.wait()
    out = run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE})
    answer = json.loads(out.stdout)
    assert out.returncode == 1 and answer["source"] == "fleet" and answer["age_s"] is None and answer["profile"] is None
    run("assay", "run", "--profiles", profiles(quick=[{"name": "p", "exec": says("p", sample())}]), env={"ASSAY_NODE": NODE})
    merged = json.loads((tmp_path / "state" / "verdict.json").read_text())
    assert merged["profile"] == "quick" and merged["items"] and merged["fleet"]["verdict"] == "fail"
    shown = run("assay", "admit", env={"ASSAY_NODE": NODE})
    assert shown.returncode == 1 and re.match(r"bad: refused by the controller(; the last run was \w+, \d+ s ago)?\n  two neighbours agree\n", shown.stdout), shown.stdout


def test_an_opinion_that_ran_out_before_the_first_run_is_none(assayd, stub, run, verdict, wait_until, tmp_path):
    def is_obeyed():
        if (tmp_path / "state" / "verdict.json").exists():
            return True
        stub.orders = [{**opinion(seconds=3), "id": f"o{time.monotonic()}"}]  # a new one, for a daemon that starts slowly
        return False

    assayd()
    wait_until(is_obeyed)
    wait_until(lambda: run("assay", "admit", env={"ASSAY_NODE": NODE}).returncode == 0)
    out = run("assay", "admit", "-o", "json", env={"ASSAY_NODE": NODE})
    assert json.loads(out.stdout)["answer"] == "unknown" and "no verdict yet" in out.stdout


def test_orders_that_are_none_are_refused_and_the_others_obeyed(assayd, stub, verdict, wait_until, tmp_path):
    verdict()
    daemon = assayd()
    stub.orders = [{"id": "1", "kind": "run", "argv": ["touch", str(tmp_path / "x")]}, {"id": "2", "kind": "pair", "peers": ["n2"]}, 7,
                   opinion()]
    wait_until(verdict.fleet)
    assert "'run' is not one of deep, pair, allreduce, opinion" in daemon.log()
    assert "orders: [1].peers[0]: 'n2': expected HOST:PORT id=2" in daemon.log() and not (tmp_path / "x").exists()


def test_answers_that_are_not_orders_are_survived(assayd, stub, wait_until):
    daemon = assayd()
    for answer in (Answer(200, {"items": []}), Answer(raw=b"HTTP/1.1 200 X\r\nContent-Length: 900000\r\n\r\n" + b"[" * 200000),
                   Answer(200, "x"), Answer(raw=b""), Answer(403)):
        asked = len(stub.asked)
        stub.orders_answer = answer
        wait_until(lambda: len(stub.asked) >= asked + 2)
    stub.orders_answer = None
    wait_until(lambda: stub.held)
    assert daemon.poll() is None and "cannot reach the controller: 403" in daemon.log()


@pytest.mark.once
def test_a_server_that_does_not_hold_is_not_asked_in_a_circle(assayd, stub, wait_until):
    stub.orders_answer = Answer(204)
    assayd()
    wait_until(lambda: len(stub.asked) >= 7)
    began, asked = time.monotonic(), len(stub.asked)
    wait_until(lambda: len(stub.asked) >= asked + 2)
    assert time.monotonic() - began >= 1


@pytest.fixture
def full_profile(tmp_path):
    """full_profile(program) makes it the only probe of the profile full. Returns the environment."""

    def write(program):
        policies = tmp_path / "policies"
        policies.mkdir()
        probe = {"name": "p", "exec": str(program), "budget": "60s", "active": False}
        (policies / "profiles.yaml").write_text(json.dumps({"v": 1, "profiles": {"full": {"budget": "90s", "probes": [probe]}}}))
        return {"ASSAY_POLICY_DIR": str(policies)}

    return write


def test_deep_runs_the_full_profile_once_and_its_report_arrives(assayd, stub, says, full_profile, wait_until):
    daemon = assayd(full_profile(says("p", sample())))
    order = {"id": "d1", "kind": "deep", "deadline": stamp(60), "argv": ["x"]}
    stub.orders = [order, order]
    wait_until(lambda: stub.stored)
    report = list(stub.stored.values())[0]
    assert report["order"] == {"id": "d1", "kind": "deep"}
    assert report["profile"] == "full" and report["samples"][0]["check"] == "test.rate"
    wait_until(lambda: "deep run done" in daemon.log())
    assert daemon.log().count("deep run started") == 1


@pytest.mark.parametrize("profile,there,ran", [("rung-gemm", True, "rung-gemm"), ("rung-gemm", False, "full"), ("rung-load", True, "rung-load"), ("burn", True, "burn"),
                                               ("quick", True, "full"), ("no such", False, "full"), (None, False, "full")])
def test_deep_runs_the_rung_that_is_asked_for_or_all(assayd, stub, says, full_profile, wait_until, tmp_path, profile, there, ran):
    env = full_profile(says("p", sample()))
    path = tmp_path / "policies/profiles.yaml"
    profiles = json.loads(path.read_text())
    if there:
        profiles["profiles"][profile] = profiles["profiles"]["full"]
        path.write_text(json.dumps(profiles))
    daemon = assayd(env)
    stub.orders = [{"id": "d1", "kind": "deep", "deadline": stamp(60), "profile": profile}]
    wait_until(lambda: stub.stored)
    (report,) = stub.stored.values()
    assert (report["profile"], report["order"]) == (ran, {"id": "d1", "kind": "deep"})
    wait_until(lambda: "deep run done" in daemon.log())
    assert (": running full instead" in daemon.log()) == (profile == "rung-gemm" and not there)


@pytest.mark.parametrize("profile", [7, ["rung-gemm"], "x" * 65])
def test_a_profile_that_is_no_name_makes_no_order(assayd, stub, says, full_profile, wait_until, profile):
    daemon = assayd(full_profile(says("p", sample())))
    stub.orders = [{"id": "d1", "kind": "deep", "profile": profile}]
    wait_until(lambda: "expected a profile name" in daemon.log())
    assert not stub.stored


@pytest.mark.parametrize("order", ["", "a b", "x" * 65, "\x1b[31m"])
def test_a_bad_order_id_is_refused(run, order):
    out = run("assay", "run", f"--order={order}")
    assert out.returncode == 2 and out.stderr == "assay run: --order: expected 1 to 64 printable characters\n"


@pytest.fixture
def slow_probe(script, tmp_path):
    """A probe that takes longer than any test; .runs() is true while it runs."""
    path = script("slow", f"echo $$ >{tmp_path}/slow.pid\nexec sleep 600\n")

    def runs():
        pid = tmp_path / "slow.pid"
        return pid.exists() and pid.read_text().strip() and (Path("/proc") / pid.read_text().strip()).exists()

    return SimpleNamespace(path=path, runs=runs)


def test_a_second_deep_waits_for_nothing_and_the_deadline_ends_the_first(assayd, stub, slow_probe, full_profile, wait_until):
    daemon = assayd(full_profile(slow_probe.path))
    wait_until(lambda: stub.held)  # so that the deadline below does not include the start of assayd
    stub.orders = [{"id": "d1", "kind": "deep", "deadline": stamp(6)}, {"id": "d2", "kind": "deep"}]
    wait_until(slow_probe.runs)
    wait_until(lambda: "order declined: a deep run is already in progress id=d2" in daemon.log())
    wait_until(lambda: "stopping a deep run: its deadline has passed" in daemon.log())
    wait_until(lambda: "deep run ended by signal" in daemon.log() and not slow_probe.runs())


@pytest.mark.parametrize("how", ["stop", "kill", "disabled"])
def test_a_deep_run_ends_with_what_ordered_it(assayd, stub, slow_probe, full_profile, wait_until, tmp_path, how):
    daemon = assayd(full_profile(slow_probe.path))
    stub.orders = [{"id": "d1", "kind": "deep"}]
    wait_until(slow_probe.runs)
    if how == "disabled":
        (tmp_path / "conf" / "disabled").touch()
    else:
        daemon.send_signal(signal.SIGTERM if how == "stop" else signal.SIGKILL)
        daemon.wait(timeout=SOON_S)
    wait_until(lambda: not slow_probe.runs())


# --- life ------------------------------------------------------------------------------


def test_disabled_stops_all_and_its_end_starts_all(assayd, stub, spool, wait_until, tmp_path):
    disabled = tmp_path / "conf" / "disabled"
    daemon = assayd()
    wait_until(lambda: stub.held)
    disabled.touch()
    wait_until(lambda: not stub.held)
    spool(1)
    wait_until(lambda: "nothing is sent and no order" in daemon.log())
    asked = len(stub.asked)
    spool(2)
    assert spool.left() == [1, 2] and len(stub.asked) == asked
    disabled.unlink()
    wait_until(lambda: not spool.left())
    wait_until(lambda: stub.held)
    assert stub.came == [1, 2]


def test_disabled_at_start_sends_nothing(assayd, stub, spool, wait_until, tmp_path):
    (tmp_path / "conf" / "disabled").touch()
    spool(1)
    daemon = assayd()
    wait_until(lambda: "nothing is sent and no order" in daemon.log())
    (tmp_path / "conf" / "disabled").unlink()
    wait_until(lambda: not spool.left())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_is_clean_and_soon(assayd, stub, wait_until, number):
    daemon = assayd()
    wait_until(lambda: stub.held)
    daemon.send_signal(number)
    assert daemon.wait(timeout=SOON_S) == 0
    wait_until(lambda: not stub.held)


def test_reload_takes_a_good_configuration_and_refuses_a_bad_one(assayd, stub, config, wait_until, tmp_path):
    daemon = assayd()
    wait_until(lambda: stub.times_held == 2)  # the first is short, the second is held for half a minute
    (tmp_path / "conf" / "assayd.yaml").write_text("v: 1\nserver: x\n")
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: "assayd.yaml: server: unknown key; keeping the current configuration" in daemon.log())
    assert (stub.held, stub.times_held) == (1, 2)
    config(node="n2")
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: any("/nodes/n2/" in path for path, _ in stub.asked))


def test_the_token_is_read_again_when_its_file_changes(assayd, stub, spool, config, wait_until, tmp_path):
    token = tmp_path / "token"
    token.write_text("first\n")
    config(token_file=str(token))
    assayd()
    spool(1)
    wait_until(lambda: not spool.left())
    (tmp_path / "new").write_text("second")
    (tmp_path / "new").rename(token)
    spool(2)
    wait_until(lambda: not spool.left())
    assert [h["Authorization"] for h in stub.headers] == ["Bearer first", "Bearer second"]


def project(volume, name, text):
    """Updates a projected volume like the kubelet: a new directory, to which ..data is switched atomically."""
    old = (volume / "..data").resolve() if (volume / "..data").exists() else None
    (volume / name).mkdir(parents=True)
    (volume / name / "token").write_text(text)
    (volume / "..data_tmp").symlink_to(name)
    (volume / "..data_tmp").rename(volume / "..data")
    if old:
        shutil.rmtree(old)
    else:
        (volume / "token").symlink_to("..data/token")


def test_a_projected_token_is_followed_as_the_kubelet_renews_it(assayd, stub, spool, config, wait_until, tmp_path):
    volume = tmp_path / "volume"
    project(volume, "..2026_11_20_1", "token-1")
    config(token_file=str(volume / "token"))
    assayd()
    for i in range(1, 4):
        spool(i)
        wait_until(lambda: not spool.left())
        project(volume, f"..2026_11_20_{i + 1}", f"token-{i + 1}")
    assert [h["Authorization"] for h in stub.headers] == ["Bearer token-1", "Bearer token-2", "Bearer token-3"]


def test_who_is_not_believed_reads_his_token_again(assayd, stub, spool, config, wait_until, tmp_path):
    token = tmp_path / "token"
    token.write_text("first")
    config(token_file=str(token))
    assayd()
    spool(1)
    wait_until(lambda: not spool.left())
    # Another token in a file with the same size and times.
    then = token.stat()
    with open(token, "r+") as f:
        f.write("later")
    os.utime(token, ns=(then.st_atime_ns, then.st_mtime_ns))
    stub.script = [Answer(401)]
    spool(2)
    wait_until(lambda: not spool.left())
    assert [h["Authorization"] for h in stub.headers] == ["Bearer first", "Bearer first", "Bearer later"]


def test_systemd_is_told_of_readiness_and_state(assayd, stub, spool, wait_until, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(tmp_path / "notify"))
        notify.settimeout(60)
        daemon = assayd({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"})
        said = []

        def heard(text):
            said.append(notify.recv(4096).decode())
            return any(text in words for words in said)

        for text in ("READY=1", "is connected; reports waiting: 0", "WATCHDOG=1"):
            wait_until(lambda text=text: heard(text), what=f"{text} in {said}")
        daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: heard("STOPPING=1"))


# --- files that people write ---------------------------------------------------------------


@pytest.mark.parametrize("text,words", [
    ("v: 1\nserver: x\n", "assayd.yaml: server: unknown key"), ("v: 1\n", "assayd.yaml: controller: missing"),
    ("v: 1\ncontroller: ftp://x\n", "assayd.yaml: controller: expected a URL"), ("v: [1\n", "assayd.yaml: line 2"),
    ("", "assayd.yaml: empty"), ("v: 1\ncontroller: http://c\ncert: /x\n", "assayd.yaml: key: missing"),
    ("v: 1\ncontroller: http://c\ntoken_file: /nowhere/t\n", "token_file: cannot read /nowhere/t")])
def test_check_names_the_place_of_what_is_wrong(run, assayd_path, tmp_path, text, words):
    path = tmp_path / "assayd.yaml"
    path.write_text(text)
    out = run("assayd", "--config", path, "--check")
    assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1 and not out.stdout


def test_check_of_a_good_file_and_the_environment(run, assayd_path, tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("v: 1\ncontroller: https://controller:9470/\n# as a person writes it\nintervals:\n  orders_wait: 10s\n")
    assert run("assayd", "--config", path, "--check").returncode == 0
    assert run("assayd", "--check").returncode == 2
    assert run("assayd", "--check", env={"ASSAY_CONTROLLER": "http://127.0.0.1:1"}).returncode == 0
    assert run("assayd", "--config", tmp_path / "none.yaml", "--check").returncode == 2
    assert run("assayd", "extra").returncode == 2


def test_assayd_links_no_heavy_library(assayd_path):
    out = subprocess.run(["ldd", assayd_path], capture_output=True, text=True, check=True).stdout
    assert "libcurl" in out
    for name in ("hwloc", "libyaml", "sqlite", "microhttpd", "cuda", "ibverbs"):
        assert name not in out
