# SPDX-License-Identifier: Apache-2.0
"""assayd: orders for tests with other hosts are executed; and what happens when a process dies."""
import fcntl
import os
import signal
from pathlib import Path

import pytest
from assayd_fixtures import SOON_S
from collective_fixtures import TOKEN, fake_probes, free_port, host, order, stamp  # noqa: F401
from processes import gone


def text_of(peers):
    return "".join([TOKEN + "\n", *(f"passed {p}\n" for p in peers)])


def test_an_all_reduce_of_two_hosts_brings_the_reports_of_both(host, wait_until):
    port, hosts = free_port(), [host("a"), host("b")]
    for rank, h in enumerate(hosts):
        h.stub.orders = [order(rank=rank, port=port)]
    for rank, h in enumerate(hosts):
        wait_until(lambda h=h: h.reports("r1"))
        (report,) = h.reports("r1")
        assert report["order"] == {"id": "r1", "kind": "allreduce"} and report["node"] == h.name and not report["problems"]
        assert [(s["check"], s["state"], s["value"]) for s in report["samples"]] == [("all_reduce.busbw", "measured", 1e9 + rank)]
        wait_until(lambda h=h: "allreduce done: exit status" in h.log())
        # The controller decides which host is slow: the host's own verdict covers only its own tests.
        assert not (h.root / "state" / "verdict.json").exists() and not (h.root / "state" / "last").exists()


def test_what_the_probe_is_given(host, wait_until):
    a, port = host("a"), free_port()
    peers = [f"127.0.0.1:{port}", "[::1]:7412", "gpu-3.rack_1:7413"]
    a.stub.orders = [order(rank=0, port=port, peers=peers, passed=[*peers, "other:1"], seconds=20)]
    wait_until(a.saw)
    saw = a.saw()
    argv = saw["argv"]
    assert argv[:6] == ["--peers", ",".join(peers), "--rank", "0", "--token-file", str(a.permit)]
    assert argv[6] == "--budget" and argv[8:] == ["--busy", "skip"] and saw["locked"] == "1"
    assert saw["text"] == text_of([*peers, "other:1"]) and (saw["mode"], saw["dir_mode"]) == (0o600, 0o700)
    assert TOKEN not in a.log()


@pytest.mark.parametrize("kind, memory, engine", [("allreduce", "gpu", "nccl"), ("allreduce", "gpu", "verbs"), ("pair", "gpu", None)])
def test_the_probe_is_told_which_memory_and_engine(host, wait_until, kind, memory, engine):
    a = host("a")
    a.stub.orders = [order(kind, memory=memory, engine=engine, seconds=20)]
    probe = {"allreduce": "all-reduce", "pair": "rnic-pair"}[kind]
    wait_until(lambda: a.saw(probe))
    argv = a.saw(probe)["argv"]
    told = {name: argv[argv.index(name) + 1] for name in ("--memory", "--engine") if name in argv}
    assert told == {"--memory": memory, **({"--engine": "nccl"} if engine == "nccl" else {})}, argv
    assert argv[argv.index("--token-file") + 1] == str(a.permit)


def test_a_pair_meets_and_is_measured_in_full(host, wait_until):
    port, hosts = free_port(), [host("a"), host("b")]
    for rank, h in enumerate(hosts):
        # One of a pair is suspected, so neither needs to have passed.
        h.stub.orders = [order("pair", rank, ids="p1", port=port, passed=None)]
    for rank, h in enumerate(hosts):
        wait_until(lambda h=h: h.reports("p1"))
        (report,) = h.reports("p1")
        assert report["order"] == {"id": "p1", "kind": "pair"} and not report["problems"]
        assert [(s["check"], s["state"]) for s in report["samples"]] == [("rnic_pair.write_bw", "measured")]
        saw = h.saw("rnic-pair")
        assert saw["argv"][:4] == [["--listen", "--peer"][rank], f"127.0.0.1:{port}", "--token-file", str(h.permit)]
        assert "--connect-only" not in saw["argv"] and saw["text"] == text_of([])


def test_who_never_comes_is_named_before_the_deadline_and_the_permit_is_gone(host, wait_until):
    a = host("a")
    a.stub.orders = [order(seconds=16)]
    wait_until(a.saw)
    assert a.permit.exists()
    wait_until(lambda: a.reports("r1"))
    (report,) = a.reports("r1")
    assert [(s["check"], s["state"], s["note"]) for s in report["samples"]] == [
        ("all_reduce.busbw", "set-up", "rank 1 (127.0.0.1:7411) did not come")]
    assert [p["code"] for p in report["problems"]] == ["exit"]
    # By then all hosts of the order have stopped, without an explicit end.
    assert "its deadline has passed" not in a.log() and "ended by signal" not in a.log()
    wait_until(lambda: not a.permit.exists())
    assert gone(a.saw()["pid"])


def test_a_second_order_is_busy_and_the_first_goes_on(host, wait_until):
    a, b = host("a"), host("b")
    first = order(ids="r1")
    port = int(first["peers"][0].rpartition(":")[2])
    a.stub.orders = [first]
    wait_until(a.saw)
    text = a.permit.read_text()
    a.stub.orders = [order(ids="r2", token=TOKEN[::-1]), order("pair", ids="p2")]
    for ids in ("r2", "p2"):
        wait_until(lambda ids=ids: a.problem(ids))
        assert a.problem(ids) == ("busy", "another test with other hosts is running: order r1")
    assert a.permit.read_text() == text and not a.reports("r1") and not a.saw("rnic-pair")
    b.stub.orders = [order(ids="r1", rank=1, port=port)]
    wait_until(lambda: a.reports("r1") and b.reports("r1"))
    assert [s["state"] for h in (a, b) for s in h.reports("r1")[0]["samples"]] == ["measured"] * 2


def test_an_order_waits_a_little_for_another_run_and_is_busy_then(host, wait_until):
    a = host("a")
    with open(a.root / "run" / "active.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        a.stub.orders = [order(seconds=12)]
        wait_until(lambda: a.problem("r1"))
        assert a.problem("r1")[0] == "busy" and not a.saw()
    a.stub.orders = [order(ids="r2", seconds=12)]
    wait_until(a.saw)


def test_the_next_order_may_come_as_soon_as_the_report_has(host, wait_until):
    """Even before the run that made the report has ended: it does not count as another run."""
    hosts = [host("a"), host("b")]
    for i in range(8):
        port = free_port()
        for rank, h in enumerate(hosts):
            h.stub.orders = [order(rank=rank, port=port, ids=f"r{i}")]
        for h in hosts:
            wait_until(lambda h=h, i=i: h.reports(f"r{i}"))
            (report,) = h.reports(f"r{i}")
            assert [s["state"] for s in report["samples"]] == ["measured"] and not report["problems"], report["problems"]


@pytest.mark.once
def test_a_run_that_hangs_is_over_by_the_deadline_and_answered(host, wait_until):
    a = host("a", env={"FAKE_HANGS": "1"})
    a.stub.orders = [order(seconds=12)]
    wait_until(lambda: a.problem("r1"))
    assert a.problem("r1")[0] == "timeout" and gone(a.saw()["pid"])
    assert "its deadline has passed" not in a.log()


def runs_of(pid):
    """The `assay run` that assayd has started."""
    children = [int(p) for task in Path(f"/proc/{pid}/task").iterdir() for p in (task / "children").read_text().split()]
    return [p for p in children if Path(f"/proc/{p}/cmdline").read_bytes().startswith(b"assay\0run\0")]


@pytest.mark.once
def test_a_run_that_does_not_keep_its_time_is_killed_at_the_deadline_and_answered(host, wait_until):
    a = host("a", env={"FAKE_HANGS": "1"})
    a.stub.orders = [order(seconds=10)]
    wait_until(a.saw)
    (run,) = runs_of(a.daemons[0].pid)
    os.kill(run, signal.SIGSTOP)
    wait_until(lambda: a.problem("r1"))
    assert a.problem("r1") == ("timeout", "ended by signal 9 before there was a report")
    assert "stopping a test with other hosts: its deadline has passed" in a.log()
    wait_until(lambda: gone(a.saw()["pid"]))
    assert not a.permit.exists()


@pytest.mark.parametrize("how", ["stop", "disabled", "kill"])
def test_with_assayd_goes_what_it_ordered_and_the_permit(host, wait_until, how):
    a = host("a")
    a.stub.orders = [order()]
    wait_until(a.saw)
    (daemon,) = a.daemons
    if how == "disabled":
        (a.root / "conf" / "disabled").touch()
    else:
        daemon.send_signal(signal.SIGTERM if how == "stop" else signal.SIGKILL)
        daemon.wait(timeout=SOON_S)
    wait_until(lambda: gone(a.saw()["pid"]))
    if how == "kill":
        # No process is left to remove it; the next one does.
        assert a.permit.exists()
        a.start()
    wait_until(lambda: not a.permit.exists())
    assert not a.reports()


def test_where_the_probe_does_not_apply_the_controller_learns_it(host, wait_until):
    if Path("/sys/class/infiniband").exists():
        pytest.skip("this host has RDMA")
    a = host("a", probes=None)
    a.stub.orders = [order(), order("pair", ids="p1")]
    wait_until(lambda: a.problem("r1") and a.problem("p1"))
    assert a.problem("r1")[0] == "not-applicable"
    a.stub.orders = [order("pair", ids="p2")]
    wait_until(lambda: a.problem("p2"))
    assert a.problem("p2")[0] == "not-applicable"


def test_a_deep_run_and_a_test_with_others_are_each_one_at_a_time(host, wait_until):
    a = host("a")
    a.stub.orders = [order()]
    wait_until(a.saw)
    a.stub.orders = [{"id": "d1", "kind": "deep", "deadline": stamp(60)}]
    wait_until(lambda: "deep run started" in a.log())
    wait_until(lambda: a.reports("d1"))
    assert {p["probe"]: p["code"] for p in a.reports("d1")[0]["problems"]}["rnic-pair"] == "busy" and not a.reports("r1")
