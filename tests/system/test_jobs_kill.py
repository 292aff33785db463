# SPDX-License-Identifier: Apache-2.0
"""The controller is killed after each disk operation in the life of a window: each window ends once, with its reason."""
import contextlib
import http.client
import os
import random
import shutil
import sqlite3
import subprocess
import threading
from pathlib import Path

import disk
import pytest
from fixtures_controller import controller  # noqa: F401
from fixtures_programs import TOP
from test_jobs import END_S, ENDS, build, part_of, send, trace  # noqa: F401
from waiting import wait_for

JOB = "research/llm-7"
AGES = (130, 10)
QUEUED, ANALYSED, REJECTED, FAILED = range(4)
# The parts sent, how the window ends, and the states a kill may leave: (state, tries, traces, analyses); no row: state is None.
LIVES = {
    "analysed": ([{"body": trace(), "meta": "dp 4"}], "analysed", None,
                 {(None, 0, 0, 0), (None, 0, 1, 0), (None, 0, 2, 0), (QUEUED, 0, 2, 0), (QUEUED, 0, 2, 1), (ANALYSED, 0, 2, 1),
                  (ANALYSED, 0, 0, 1)}),
    "rejected": ([{"body": b"reject\n"}], "rejected", "line 2: rank 3 is there twice",
                 {(None, 0, 0, 0), (None, 0, 1, 0), (QUEUED, 0, 1, 0), (REJECTED, 0, 1, 0), (REJECTED, 0, 0, 0)}),
    "failed": ([{"body": b"fail\n"}], "failed", "out of luck",
               {(None, 0, 0, 0), (None, 0, 1, 0), (QUEUED, 0, 1, 0), (QUEUED, 1, 1, 0), (FAILED, 1, 1, 0), (FAILED, 1, 0, 0)}),
    "in parts": ([{"body": part_of(i), "part": i, "of": 2} for i in (2, 1)], "analysed", None,
                 {(None, 0, 1, 0), (QUEUED, 0, 1, 0), (QUEUED, 0, 2, 0), (QUEUED, 0, 2, 1), (ANALYSED, 0, 2, 1), (ANALYSED, 0, 0, 1)}),
}


@pytest.fixture
def disk_log(build):  # noqa: F811
    """The library that kills a program at its n-th operation on files."""
    made = Path(os.environ.get("ASSAY_BUILD", TOP / "build")).resolve()
    options = subprocess.run([made / "config.status", "--config"], capture_output=True, text=True, check=True).stdout
    if "--enable-sanitizers" in options:
        pytest.skip("the library that kills cannot be loaded before that of the sanitizers")
    subprocess.run(["make", "-s", "-C", made, "tests/fakes/disk_log.so"], check=True, capture_output=True)
    return made / "tests/fakes/disk_log.so"


class Mortal:
    """Controllers on copies of one empty store; each kills itself at a different operation."""

    def __init__(self, start, library, directory):
        self.start, self.library = start, library
        self.log, self.ready, self.state = directory / "operations", directory / "ready", directory / "disk"
        self.ready.mkdir()
        c = start(db=self.ready / "assay.db")
        assert c.stop()[0] == 0

    def born(self, kill=0):
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self.ready, self.state)
        self.log.write_bytes(b"")
        env = {"LD_PRELOAD": str(self.library), "ASSAY_DISK_ROOT": os.path.realpath(self.state), "ASSAY_DISK_LOG": str(self.log),
               "ASSAY_DISK_STDOUT": "/proc/self/fd/1", "ASSAY_DISK_KILL": str(kill)}
        return self.start(db=self.state / "assay.db", env=env)

    def again(self):
        return self.start(db=self.state / "assay.db")

    def done(self):
        return disk.read_record(self.log)


def deliver(c, parts):
    """Sends like a client that stops when it gets no answer. Returns True if everything was accepted."""
    try:
        for part in parts:
            more = dict(part)
            assert send(c, more.pop("body"), job=JOB, ages=AGES, **more).status in (200, 202)
    except (OSError, http.client.HTTPException):
        return False
    return True


def windows(c, job=JOB):
    jobs = c.get(f"/v1/jobs?name={job}").json["items"]
    return c.get(f"/v1/jobs/{jobs[0]['id']}/windows").json["items"] if jobs else []


def all_ended(c, job=JOB):
    found = windows(c, job)
    return found if found and all(w["state"] in ENDS for w in found) else None


def names(directory):
    return sorted(p.name for p in directory.iterdir())


def left(state, where):
    """The state after a kill, from a copy, because opening a store changes it."""
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(state, where)
    with contextlib.closing(sqlite3.connect(where / "assay.db")) as db:
        rows = db.execute("SELECT state, tries FROM trace_windows").fetchall() or [(None, 0)]
    (row,) = rows  # never two
    return (*row, len([n for n in names(where / "traces") if not n.endswith(".tmp")]),
            len([n for n in names(where / "analyses") if not n.endswith(".tmp")]))


def live(c, parts, mortal):
    """Runs to the end, or the kill. Returns True if everything was accepted."""
    taken = deliver(c, parts)

    def over():
        if c.process.poll() is not None:
            return True
        with contextlib.suppress(OSError, http.client.HTTPException):
            return all_ended(c) and names(mortal.state / "traces") == []
        return False
    assert wait_for(over, END_S), c.log()
    return taken


def moments(ops):
    """Numbers of the operations that create, remove or sync something."""
    pairs = zip(ops, [*ops[1:], ops[-1]])
    return [i + 1 for i, (op, then) in enumerate(pairs) if op[0] in "RUCS" or (op[0] == "W" and then[0] == "S")]


@pytest.mark.some(1)
@pytest.mark.once
@pytest.mark.parametrize("life", LIVES)
def test_killed_after_any_step_a_window_ends_once_and_leaves_no_file(controller, disk_log, tmp_path, full, life):  # noqa: F811
    parts, state, reason, leaves = LIVES[life]
    mortal = Mortal(controller, disk_log, tmp_path)
    c = mortal.born()
    before = len(mortal.done())
    assert live(c, parts, mortal)
    assert c.stop()[0] == 0
    ops, met = mortal.done(), set()
    first = [n for n in moments(ops) if n > before]
    others = [n for n in range(before + 1, len(ops) + 1) if n not in first]
    for number in first + others:
        if number in others and leaves <= met and not full:  # a tick in between shifts the numbers
            break
        c = mortal.born(kill=number)
        taken = live(c, parts, mortal)
        c.kill()
        met.add(left(mortal.state, tmp_path / "left"))
        c = mortal.again()
        assert taken or deliver(c, parts), f"killed after operation {number}"
        (window,) = wait_for(lambda c=c: all_ended(c), END_S)
        assert window["state"] == state and (reason or "") in (window["reason"] or ""), (number, window)
        assert wait_for(lambda: names(mortal.state / "traces") == [], END_S), number
        assert names(mortal.state / "analyses") == ([f"{window['id']}.json"] if state == "analysed" else []), number
        c.kill()
    assert leaves <= met, sorted(leaves - met, key=str)


class Window:
    """One of many windows, in parts: some parts are sent twice, some out of order, some never."""

    def __init__(self, number, dice):
        self.job, self.of = f"job-{number}", dice.choice((1, 2, 3))
        self.lost = dice.randrange(1, self.of + 1) if self.of > 1 and dice.random() < 0.25 else None
        parts = [n for n in range(1, self.of + 1) if n != self.lost]
        self.todo = [*parts, *(n for n in parts if dice.random() < 0.3)]
        dice.shuffle(self.todo)
        self.word = "join" if self.of > 1 else dice.choice(("answer", "reject", "fail"))
        self.state = "rejected" if self.lost or self.word == "reject" else "failed" if self.word == "fail" else "analysed"

    def send_next(self, c):
        """Returns True if the part was accepted, now or earlier."""
        n = self.todo[0]
        with contextlib.suppress(OSError, http.client.HTTPException):
            if self.of > 1:
                answer = send(c, part_of(n), job=self.job, part=n, of=self.of)
            else:
                answer = send(c, trace(self.word), job=self.job)
            assert answer.status in (200, 202, 429), answer.body  # 429: the queue is full
            if answer.status != 429:
                self.todo.pop(0)


@pytest.mark.once
def test_killed_at_random_with_parts_lost_sent_twice_and_out_of_order_each_window_ends(controller, tmp_path, full):  # noqa: F811
    kills = 200 if full else 10
    dice = random.Random(int(os.environ.get("ASSAY_SEED", "18")))
    all_of_them = [Window(i, dice) for i in range(120 if full else 12)]  # half-sent ones fill the queue
    c = controller()
    for _ in range(kills):
        killer = threading.Timer(dice.random() * 0.5, c.process.kill)
        killer.start()
        for _ in range(2):
            unsent = [w for w in all_of_them if w.todo]
            if unsent:
                dice.choice(unsent[:8]).send_next(c)
        c.process.wait()
        c = controller("--listen", f"127.0.0.1:{c.port}")

    def all_sent():
        for w in all_of_them:
            if w.todo:
                w.send_next(c)
        return not any(w.todo for w in all_of_them)
    assert wait_for(all_sent, END_S)
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:  # two minutes pass
        db.execute("UPDATE trace_windows SET received_us = received_us - 121000000")
        db.commit()
    c = controller("--listen", f"127.0.0.1:{c.port}")
    for w in all_of_them:
        (found,) = wait_for(lambda w=w: all_ended(c, w.job), END_S)
        assert found["state"] == w.state, (vars(w), found)
        assert (found["reason"] is None) == (w.state == "analysed")
        if w.lost:
            assert found["reason"] == f"of its {w.of} parts, these never arrived: {w.lost}"
    assert wait_for(lambda: names(tmp_path / "traces") == [], END_S)
