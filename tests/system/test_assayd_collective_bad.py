# SPDX-License-Identifier: Apache-2.0
"""assayd: orders for tests with other hosts that are invalid, too late or not allowed here; and the same manually."""
import json
import re

import pytest
from assayd_fixtures import assayd_path, config, stub  # noqa: F401
from collective_fixtures import TOKEN, fake_probes, free_port, host, order  # noqa: F401
from conftest import sample

BAD = {
    "a program": ({"peers": ["$(reboot):1", "b:1"]}, "peers[0]: '$(reboot):1': expected HOST:PORT"),
    "an option": ({"peers": ["--force:1", "b:1"]}, "peers[0]: '--force:1': expected HOST:PORT"),
    "a path": ({"peers": ["../../etc/passwd:1", "b:1"]}, "expected HOST:PORT"),
    "no port": ({"peers": ["a", "b:1"]}, "peers[0]: 'a': expected HOST:PORT"),
    "a port too many": ({"peers": ["a:65536", "b:1"]}, "peers[0]: 'a:65536': expected HOST:PORT"),
    "a host twice": ({"peers": ["a:1", "a:1"]}, "peers[1]: 'a:1' appears twice"),
    "alone": ({"peers": ["a:1"]}, "peers: expected 2 to 64 hosts, not 1"),
    "a crowd": ({"peers": [f"n{i}:1" for i in range(65)]}, "peers: 65 items, more than 64"),
    "no rank": ({"rank": None}, "rank: missing"),
    "another's rank": ({"rank": 2}, "rank: expected 0 to 1"),
    "one who did not pass": ({"passed": ["127.0.0.1:7411"]}, "which takes part"),
    "a short token": ({"token": "secret"}, "token: expected 32 to 128 letters"),
    "two lines": ({"token": TOKEN + "\npassed x:1"}, "token: expected 32 to 128 letters"),
    "three in a pair": ({"kind": "pair", "peers": ["a:1", "b:1", "c:1"]}, "peers: expected two hosts, not 3"),
}


def test_bad_orders_are_refused_once_with_the_reason_and_the_good_one_is_obeyed(host, wait_until):
    a, orders = host("a"), []
    for i, (more, _) in enumerate(BAD.values()):
        orders.append(order(**{**more, "ids": f"bad{i}"}))
    assert len(orders) <= 16
    a.stub.orders = list(orders)
    for i, (_, words) in enumerate(BAD.values()):
        wait_until(lambda i=i: a.problem(f"bad{i}"))
        code, detail = a.problem(f"bad{i}")
        assert code == "set-up" and words in detail, (orders[i], detail)
        assert f"id=bad{i}" in a.log() and words in a.log()
    assert not a.saw() and not a.saw("rnic-pair") and TOKEN not in a.log() and "secret" not in a.log()
    # Sent again, they are neither executed nor answered; later orders are.
    a.stub.orders = [*orders, order(ids="late", seconds=-5)]
    wait_until(lambda: a.problem("late"))
    assert a.problem("late") == ("set-up", "the deadline of order late has passed")
    assert sorted(r["order"]["id"] for r in a.reports()) == sorted(["late", *(o["id"] for o in orders)])
    assert a.log().count("id=bad0") == 1


def test_an_order_with_too_little_time_is_not_begun(host, wait_until):
    a = host("a")
    a.stub.orders = [order(seconds=3)]
    wait_until(lambda: a.problem("r1"))
    code, words = a.problem("r1")
    assert code == "set-up" and ("too little time" in words or "has passed" in words) and not a.saw()


@pytest.mark.parametrize("settings, port, words", [
    ({"enabled": False}, 7500, "tests with other hosts are disabled here (collectives.enabled in assayd.yaml)"),
    ({}, 7399, "port 7399 is not one of 7400 to 7599 (collectives.ports in assayd.yaml)"),
    ({"ports": 7500}, 7501, "port 7501 is not one of 7500 to 7500 (collectives.ports in assayd.yaml)"),
])
def test_what_this_host_does_not_allow_is_not_done(host, wait_until, settings, port, words):
    a = host("a", collectives=settings)
    a.stub.orders = [order(port=port), order(ids="r2", rank=1, port=port)]
    for ids in ("r1", "r2"):
        wait_until(lambda ids=ids: a.problem(ids))
        assert a.problem(ids) == ("set-up", words)
    assert not a.saw() and not a.permit.exists()


def test_as_many_orders_as_one_answer_has_are_all_answered(host, wait_until):
    a = host("a", collectives={"enabled": False})
    a.stub.orders = [order(ids=f"x{i}") for i in range(16)]
    wait_until(lambda: len(a.reports()) >= 16)
    assert {r["order"]["id"] for r in a.reports()} == {f"x{i}" for i in range(16)}


@pytest.mark.parametrize("collectives, words", [
    ({"on": True}, "assayd.yaml: collectives.on: unknown key"), ({"enabled": "yes"}, "collectives.enabled: expected true or false"),
    ({"ports": "7400"}, "collectives.ports: expected a range of ports such as 7400-7599, or one port"), ({"ports": "7400-"}, "collectives.ports: expected"),
    ({"ports": "7500-7400"}, "collectives.ports: expected"), ({"ports": "1-65536"}, "collectives.ports: expected"),
    ({"ports": "-7400"}, "collectives.ports: expected"), ({"ports": 0}, "collectives.ports: expected"), ({"ports": [1, 2]}, "collectives.ports: expected"),
    ({"ports": "0-10"}, "collectives.ports: expected"), ({"ports": "1-10x"}, "collectives.ports: expected"),
    ({"max": "2h"}, "collectives.max: 2h is outside 10s to 1h"), (7, "assayd.yaml: collectives: expected an object")])
def test_settings_that_cannot_be_are_refused(run, assayd_path, config, collectives, words):
    config(collectives=collectives)
    out = run("assayd", "--check")
    assert out.returncode == 2 and words in out.stderr and out.stderr.count("\n") == 1


@pytest.mark.parametrize("collectives", [{}, {"enabled": False, "ports": "7500-7500", "max": "10s"}, {"ports": 7500}, {"ports": "1-65535"}])
def test_settings_that_can_be(run, assayd_path, config, collectives):
    config(collectives=collectives)
    assert run("assayd", "--check").returncode == 0


# --- by hand ---------------------------------------------------------------------------------


@pytest.fixture
def by_hand(run, fake_probes, tmp_path):
    """by_hand(options...) runs `assay run` with the fake collective probes; .saw() is the input they got."""
    out = tmp_path / "out"
    out.mkdir()

    def start(*words):
        return run("assay", "run", *words, env={"ASSAY_PROBE_DIR": str(fake_probes), "FAKE_OUT": str(out)})

    start.saw = lambda probe: json.loads((out / f"assay-probe-{probe}.json").read_text())
    return start


@pytest.fixture
def permit(tmp_path):
    path = tmp_path / "permit"
    path.write_text(f"{TOKEN}\n")
    return path


def test_by_hand_a_probe_is_given_what_stands_behind_two_dashes(by_hand, permit):
    done = by_hand("--probe", "rnic-pair", "--budget", "2s", "--order", "by-hand", "--order-kind", "pair", "-o", "json", "--",
                   "--listen", f"127.0.0.1:{free_port()}", "--token-file", permit)
    run = json.loads(done.stdout)
    assert run["report"]["order"] == {"id": "by-hand", "kind": "pair"}
    assert [s["note"] for s in run["report"]["samples"]] == ["rank 1 (the other) did not come"]
    argv = by_hand.saw("rnic-pair")["argv"]
    # In place of the profile's arguments and its 5 s.
    assert argv[0] == "--listen" and "--connect-only" not in argv and argv[4] == "--budget" and argv[6:] == ["--busy", "skip"]
    assert argv[5].endswith("ms") and 1500 < int(argv[5][:-2]) < 2000


def test_a_budget_by_hand_is_the_probe_s_even_when_it_is_longer_than_the_usual(run, says, tmp_path):
    probes = tmp_path / "others"
    probes.mkdir()
    says("said", sample(note="@")).rename(probes / "assay-probe-all-reduce")
    text = (probes / "assay-probe-all-reduce").read_text().replace("'EOF'", "EOF").replace("@", "$*")
    (probes / "assay-probe-all-reduce").write_text(text)
    # The runner reserves a little of the run's total time to end it.
    for words, args, seconds in ((["--budget", "90s", "--", "-x", "y"], "-x y ", (85, 90)), ([], "", (29, 30)), (["--", "y"], "y ", (29, 30)),
                                 (["--budget", "90s"], "", (29, 30))):
        done = run("assay", "run", "--probe", "all-reduce", "-o", "json", *words, env={"ASSAY_PROBE_DIR": str(probes)})
        (note,) = [s["note"] for s in json.loads(done.stdout)["report"]["samples"]]
        told = re.fullmatch(re.escape(args) + r"--budget (\d+)(m?s) --busy skip", note)
        assert told and seconds[0] <= int(told[1]) / (1000 if told[2] == "ms" else 1) <= seconds[1], note


@pytest.mark.parametrize("words, message", [
    (["--", "x"], "--: the arguments after it are passed to one probe: name it with --probe"),
    (["--probe", "gemm", "--probe", "memory", "--", "x"], "--: the arguments after it are passed to one probe"),
    (["--probe", "gemm", "--", *["x"] * 65], "--: more than 64 arguments for the probe"),
    (["--order", "a", "--order-kind", "opinion"], "--order-kind: 'opinion' is not one of deep, pair, allreduce"),
    (["--decline", "crashed:x"], "--decline: expected busy, set-up, not-applicable or timeout, a colon and the reason"),
    (["--decline", "busy:"], "--decline: expected"), (["--decline", "busy"], "--decline: expected"),
    (["--decline", "busy:" + "x" * 513], "--decline: expected"),
    (["x"], "'x': takes no arguments; see --help"),
])
def test_wrong_use_by_hand(run, words, message):
    out = run("assay", "run", *words)
    assert out.returncode == 2 and message in out.stderr and out.stderr.count("\n") == 1 and not out.stdout


def test_what_is_declined_is_not_run_and_says_why(run, says, profiles, tmp_path):
    probe = says("p", "x", end=f"touch {tmp_path}/ran")
    out = run("assay", "run", "--profiles", profiles(quick=[{"name": "p", "exec": probe}]), "--decline", "busy:a reason: with a colon",
              "-o", "json")
    (problem,) = json.loads(out.stdout)["report"]["problems"]
    assert (problem["probe"], problem["code"], problem["detail"]) == ("p", "busy", "a reason: with a colon")
    assert out.returncode == 3 and not (tmp_path / "ran").exists()
