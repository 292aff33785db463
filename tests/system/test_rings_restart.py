# SPDX-License-Identifier: Apache-2.0
"""assayd stops or is killed, and is restarted: it has the rings of running jobs again, and of jobs that ended meanwhile."""
import concurrent.futures
import fcntl
import gzip
import json
import os
import signal
import struct
import time
import urllib.parse

import pytest
import ring_job
from assayd_fixtures import assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Answer
from service_manager import ServiceManager
from test_hang_look import JOB, order, told  # noqa: F401
from test_processes import tree  # noqa: F401
from test_rings import KERNELS, is_well, job, keeper, path  # noqa: F401
from test_rings_plugin import player, said  # noqa: F401
from waiting import wait_for

OFFERS = 10_000
ASKED = 94
WANTS_AT = ring_job.HEAD.size
MASK_AT = ring_job.HEAD.size - 8


@pytest.fixture
def manager():
    one = ServiceManager()
    yield one
    one.stop()


def end(daemon, number=signal.SIGKILL):
    os.kill(daemon.pid, number)
    daemon.wait()


def rings_of(daemon):
    return (daemon.told() or {}).get("rings", 0)


def next_of(fd):
    """The number of operations started in the ring."""
    return struct.unpack("<Q", os.pread(fd, 8, ring_job.NEXT_AT))[0]


def mask_of(fd):
    """The mask that the plug-in requests from NCCL, according to its log."""
    return struct.unpack("<I", os.pread(fd, 4, MASK_AT))[0]


def until_of(fd):
    return struct.unpack("<Q", os.pread(fd, 8, WANTS_AT + 16))[0]


@pytest.mark.once  # the plug-in is made for a program without sanitizers
def test_a_job_is_recorded_on_over_a_restart_that_it_does_not_notice(keeper, manager, player, told, stub, config):  # noqa: F811
    daemon = keeper(mode="on", **manager.start())
    process = player(3)
    assert wait_for(lambda: rings_of(daemon) == 1), daemon.log()
    assert wait_for(lambda: len(manager.names("rank.")) == 1 and len(manager.names("ring.")) == 1), manager.names()
    ring = manager.get("ring.")
    assert wait_for(lambda: mask_of(ring) == KERNELS)
    end(daemon)
    daemon = keeper(mode="on", **manager.start())
    assert wait_for(lambda: rings_of(daemon) == 1 and daemon.told().get("returned_taken") == 1), (daemon.log(), daemon.told())
    assert "rings from before the restart: rings=1 processes=1" in daemon.log()
    assert until_of(ring) > time.monotonic_ns()
    # More is requested from it, and it reports its position, as before.
    before = next_of(ring)
    order(stub, 1)
    assert wait_for(lambda: told() and said(told()[-1], 3)[0]), (daemon.log(), told())
    places, of = said(told()[-1], 3)
    assert of["pid"] == process.pid and any(name.endswith(" AllReduce") and p["enqueued"] > 0 for name, p in places.items()), places
    assert wait_for(lambda: mask_of(ring) == ASKED), mask_of(ring)
    assert wait_for(lambda: next_of(ring) > before)
    # The service manager knows only what it was sent: a reload drops everything.
    config(rings={"mode": "off"})
    daemon.send_signal(signal.SIGHUP)
    assert wait_for(lambda: manager.names() == []), manager.names()
    assert wait_for(lambda: mask_of(ring_of(process)) == 0)


def ring_of(process):
    """The ring, by the descriptor that the plug-in has in its process."""
    folder = f"/proc/{process.pid}/fd"
    for name in os.listdir(folder):
        if "memfd:assay-ring" in os.readlink(f"{folder}/{name}"):
            return os.open(f"{folder}/{name}", os.O_RDONLY)
    raise AssertionError(f"{process.pid} has no ring")


@pytest.mark.once
def test_a_job_that_is_killed_while_assayd_is_down_leaves_its_last_record(keeper, manager, player, told, stub):  # noqa: F811
    daemon = keeper(mode="on", **manager.start())
    process = player(3)
    assert wait_for(lambda: len(manager.names("ring.")) == 1), daemon.log()
    ring = manager.get("ring.")
    assert wait_for(lambda: next_of(ring) > 100)
    end(daemon)
    process.kill()
    process.wait()
    last = next_of(ring)
    daemon = keeper(mode="on", **manager.start())
    assert wait_for(lambda: rings_of(daemon) == 1), (daemon.log(), daemon.told())
    order(stub, 1)
    assert wait_for(lambda: told() and said(told()[-1], 3)[0]), (daemon.log(), told())
    places, of = said(told()[-1], 3)
    assert "ring" in of["sources"], of
    # Killed at any moment: the last operation is there, or the one before if it was being written.
    (place,) = [p for name, p in places.items() if name.endswith(" AllReduce")] or [None]
    ops = [o["seq"] for o in of["ops"]]
    assert ops and last - 2 <= max(ops) <= last, (last, place, of["ops"])


def test_what_ended_meanwhile_is_held_for_its_time_and_then_forgotten(keeper, manager, job):  # noqa: F811
    daemon = keeper(mode="on", hold="2s", **manager.start())
    process, other = job(rank=0), job(rank=1)
    assert process.offer()["taken"] == 1 and other.offer()["taken"] == 1
    assert wait_for(lambda: len(manager.names()) == 4), manager.names()
    end(daemon, signal.SIGTERM)
    assert len(manager.names()) == 4, manager.names()
    process.kill()
    daemon = keeper(mode="on", hold="2s", **manager.start())
    assert wait_for(lambda: daemon.told().get("returned_taken") == 2), daemon.told()
    assert wait_for(lambda: rings_of(daemon) == 1 and len(manager.names()) == 2), (daemon.told(), manager.names())
    # A live process is recognized: its further rings count as its own.
    assert other.offer(name="b", comm=2)["taken"] == 1
    assert wait_for(lambda: daemon.told().get("rings") == 2 and daemon.told().get("rings_processes") == 1), daemon.told()
    assert other.wants()["mask"] == KERNELS and other.wants()["magic"] and other.wants(name="b")["until"] == 0


@pytest.mark.once
def test_samples_go_on_after_a_restart(keeper, manager, job, stub):  # noqa: F811
    came = []

    def on_trace(call, body):
        came.append((urllib.parse.parse_qs(urllib.parse.urlsplit(call.path).query), body))
        return Answer(202, {})

    stub.on_trace = on_trace
    daemon = keeper(sample={"steps": 3, "every": "1m"}, **manager.start())
    ranks = [job(rank=0), job(rank=1)]
    for number, process in enumerate(ranks):
        assert process.offer(rank=number)["taken"] == 1
    assert wait_for(lambda: len(manager.names("ring.")) == 2), manager.names()
    end(daemon)
    came.clear()
    daemon = keeper(sample={"steps": 3, "every": "1m"}, **manager.start())
    assert wait_for(lambda: rings_of(daemon) == 2), daemon.log()

    def both():
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda process: process.train(steps=2), ranks))
        return {p["part"][0] for p, _ in came} == {"1", "2"}

    assert wait_for(both, 200), daemon.log()
    for words, body in came:
        assert (words["job"], words["run"], words["of"]) == (["research/llm-7"], ["1"], ["2"])
        assert len({json.loads(line)["step"] for line in gzip.decompress(body).splitlines()[1:]}) == 3


@pytest.mark.once
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_where_nobody_keeps_them_the_plug_in_hands_its_rings_over_again(keeper, player, told, stub, number):  # noqa: F811
    daemon = keeper(mode="on")
    process = player(3)
    assert wait_for(lambda: rings_of(daemon) == 1), daemon.log()
    ring = ring_of(process)
    try:
        assert wait_for(lambda: mask_of(ring) == KERNELS)
        end(daemon, number)
        daemon = keeper(mode="on")
        assert wait_for(lambda: rings_of(daemon) == 1, 120), (daemon.log(), daemon.told())
        assert daemon.told().get("taken") == 1 and not daemon.told().get("returned_taken")
        assert wait_for(lambda: mask_of(ring) == KERNELS)
        order(stub, 1)
        assert wait_for(lambda: told() and said(told()[-1], 3)[0]), (daemon.log(), told())
        assert said(told()[-1], 3)[1]["pid"] == process.pid
        assert wait_for(lambda: mask_of(ring) == ASKED)
        offers, longest_ns = struct.unpack("<QQ", os.pread(ring, 16, WANTS_AT + 32))
        assert offers >= 1 and longest_ns > 0
        print(f"{offers} times, {longest_ns} ns at most")
    finally:
        os.close(ring)


def rank_text(**more):
    words = {"v": 1, "pid": 1, "uid": 0, "start": 1, "placed": "all", "job": "research/llm-7", "run": 1, "rank": 0, "dp": 2, "pp": 1, "tp": 1,
             **more}
    return json.dumps({k: v for k, v in words.items() if v is not None}).encode()


def sealed(text, seals=ring_job.SEALS | ring_job.WRITE):
    fd = os.memfd_create("rank", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, text)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def inode(fd):
    return os.fstat(fd).st_ino


BAD_RANKS = [
    (b"", None), (b"{}", None), (b"[" * 4000, None), (b"x" * 4097, None), (rank_text(pid=0), None), (rank_text(v=2), None),
    (rank_text(job="x" * 160), None), (rank_text(job=None), None), (rank_text(placed="some"), None), (rank_text(dp=-1), None),
    (rank_text(), 0), (rank_text(), ring_job.SEALS), (rank_text(pid=77), None),
]
BAD_RINGS = [
    ({"seals": 0}, "kind"), ({"seals": ring_job.SHRINK | ring_job.GROW}, "kind"), ({"size": 0}, "size"), ({"size": ring_job.SIZE - 1}, "size"),
    ({"size": 1 << 40}, "size"), ({"magic": 7}, "head"), ({"slots": 1 << 31}, "head"), ({"ranks": 2, "rank": 2}, "head"),
]


def test_what_comes_back_is_trusted_no_more_than_a_stranger(keeper, manager, job):  # noqa: F811
    for i, (text, seals) in enumerate(BAD_RANKS):
        manager.put("rank.1.1" if i % 2 else "rank.%d.1" % (i + 1), sealed(text, ring_job.SEALS | ring_job.WRITE if seals is None else seals))
    good = 4_000_000  # no process has this PID
    manager.put("rank.%d.1" % good, sealed(rank_text(pid=good)))
    reasons = {}
    for words, why in BAD_RINGS:
        fd = ring_job.memory(**words)
        manager.put("ring.%d.1.%d" % (good, inode(fd)), fd)
        reasons[why] = reasons.get(why, 0) + 1
    whole = ring_job.memory()
    strangers = [("ring.%d.1.%d" % (good, inode(whole) + 1), os.dup(whole)), ("ring.%d.2.%d" % (good, inode(whole)), os.dup(whole)),
                 ("ring.1.1.%d" % inode(whole), os.dup(whole)), ("ring.", os.dup(whole)), ("stored", os.dup(whole)), ("x" * 255, os.dup(whole)),
                 *(("ring.%d.1.1" % good, ring_job.others(kind)) for kind in ("pipe", "directory", "file", "device", "socket", "eventfd"))]
    for name, fd in strangers:
        manager.put(name, fd)
    reasons["stranger"] = len(strangers)
    manager.put("ring.%d.1.%d" % (good, inode(whole)), whole)
    manager.put("ring.%d.1.%d" % (good, inode(whole)), os.dup(whole))
    reasons.update(taken=1, twice=1)
    daemon = keeper(mode="on", **manager.start())
    assert wait_for(lambda: {k.removeprefix("returned_"): v for k, v in daemon.told().items() if k.startswith("returned_")} == reasons), \
        (daemon.told(), reasons)
    assert rings_of(daemon) == 1
    assert wait_for(lambda: manager.names() == ["rank.%d.1" % good] + 2 * ["ring.%d.1.%d" % (good, inode(whole))]), manager.names()
    assert is_well(daemon, job())


def test_what_comes_back_is_bounded_as_what_is_offered(keeper, manager, job):  # noqa: F811
    daemon = keeper(mode="on", **manager.start())
    process = job()
    assert process.many(n=6) == [1] * 6
    assert wait_for(lambda: len(manager.names("ring.")) == 6), manager.names()
    end(daemon)
    daemon = keeper(mode="on", limits={"process": 4}, **manager.start())
    assert wait_for(lambda: rings_of(daemon) == 4 and daemon.told().get("returned_process_full") == 2), daemon.told()
    assert wait_for(lambda: len(manager.names("ring.")) == 4), manager.names()


def test_communicators_that_come_and_go_leave_nothing_with_the_service_manager(keeper, manager, job):  # noqa: F811
    daemon = keeper(mode="on", limits={"process": 1}, **manager.start())
    process = job()
    for number in range(20):
        assert process.offer(name=str(number), comm=number)["taken"] == 1, daemon.log()
        process.give_up(name=str(number))
    assert wait_for(lambda: len(manager.names()) == 2), manager.names()
    assert [name.partition(".")[0] for name in manager.names()] == ["rank", "ring"]


@pytest.mark.once
def test_who_offers_rings_again_and_again_gets_no_more_than_others(keeper, manager, job):  # noqa: F811
    daemon = keeper(mode="on", limits={"process": 8}, **manager.start())
    process = job()
    assert process.offer()["taken"] == 1
    assert process.once_more()["taken"] == 0
    before = len(os.listdir(f"/proc/{daemon.pid}/fd"))
    taken, refused, unanswered = process.offers_again(n=OFFERS)
    assert taken == 7 and refused + unanswered == OFFERS - 7, (taken, refused, unanswered)
    assert wait_for(lambda: daemon.told().get("taken") == 8 and daemon.told().get("rings") == 8), daemon.told()
    assert wait_for(lambda: sum(daemon.told().get(why, 0) for why in ("process_full", "rate", "late")) == OFFERS - 7), daemon.told()
    assert wait_for(lambda: len(manager.names("ring.")) == 8), manager.names()
    assert wait_for(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) <= before + 3)
    assert process.wants()["until"] == 0  # a ring accepted the first time has its page
    assert daemon.poll() is None, daemon.log()
