# SPDX-License-Identifier: Apache-2.0
"""Damage of the store is reported: each kind at the next start, and never at a start without damage."""
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess

import pytest

from fixtures_controller import controller, report  # noqa: F401
from waiting import wait_for

PAGE = 4096
FRAME = 24 + PAGE  # of the WAL; its header has 32 bytes
HOSTS, REPORTS = 6, 12
ENDS = ("", "-wal", "-sums")


def fill(c, first, reports=REPORTS):
    for seq in range(first, first + reports):
        for host in range(HOSTS):
            assert c.post(report(f"gpu-{host}", seq=seq)).status == 202


def copy(files, where, to):
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for end in files:
        if os.path.exists(f"{where}{end}"):
            shutil.copy(f"{where}{end}", f"{to}/assay.db{end}")
    return to / "assay.db"


@pytest.fixture
def left(controller, tmp_path):
    """left(): (db after a clean stop, db after kill -9, an older copy of it)."""
    c = controller()
    fill(c, 1)
    assert c.stop()[0] == 0
    old = copy(ENDS, c.db, tmp_path / "old")
    c = controller()
    fill(c, 1 + REPORTS)
    assert c.stop()[0] == 0
    clean = copy(ENDS, c.db, tmp_path / "clean")
    c = controller()
    fill(c, 1 + 2 * REPORTS)
    c.kill()
    return clean, copy(ENDS, c.db, tmp_path / "killed"), old


def change(path, at, with_):
    with open(path, "r+b") as f:
        f.seek(at)
        before = f.read(len(with_))
        assert before != with_
        f.seek(at)
        f.write(with_)


def flip(path, at):
    with open(path, "rb") as f:
        f.seek(at)
        change(path, at, bytes([f.read(1)[0] ^ 1 << at % 8]))


def zero(path, at, size):
    change(path, at, bytes(size))


def swap(path, a, b):
    with open(path, "rb") as f:
        pages = [(f.seek(n * PAGE), f.read(PAGE))[1] for n in (a, b)]
    change(path, a * PAGE, pages[1])
    change(path, b * PAGE, pages[0])


def damages(rng, clean, killed, old):
    """(name, files, damage): 32 for the file after a clean stop, 24 for the files after kill -9."""
    size, log = os.path.getsize(clean), os.path.getsize(f"{killed}-wal")
    pages, frames = size // PAGE, (log - 32) // FRAME
    assert pages > 40 and frames > 40
    some = rng.sample(range(pages), 16)
    for n in some[:14]:
        yield f"bit of page {n}", clean, lambda db, n=n: flip(db, n * PAGE + rng.randrange(PAGE))
    with open(clean, "rb") as f:
        full = [n for n in range(pages) if f.seek(n * PAGE) is not None and f.read(PAGE).strip(b"\0")]
        f.seek(0)
        content = [f.read(PAGE) for _ in range(pages)]
    for n in rng.sample(full, 10):
        yield f"zeroed page {n}", clean, lambda db, n=n: zero(db, n * PAGE, PAGE)
    for part in (0.3, 0.9):
        yield f"cut to {part}", clean, lambda db, part=part: os.truncate(db, int(pages * part) * PAGE)
    yield "last page gone", clean, lambda db: os.truncate(db, size - PAGE)
    a, b = rng.sample([n for n in full if n > 0], 2)
    assert content[a] != content[b]
    yield "swapped pages", clean, lambda db: swap(db, a, b)
    yield "older file", clean, lambda db: shutil.copy(old, db)
    yield "no sums", clean, lambda db: os.remove(f"{db}-sums")
    yield "half of the sums", clean, lambda db: os.truncate(f"{db}-sums", 4096 + 4 * (pages // 2))
    yield "zeroed notes", clean, lambda db: zero(f"{db}-sums", 0, 1024)

    for n in rng.sample(range(frames), 6):
        yield f"zeroed frame {n}", killed, lambda db, n=n: zero(f"{db}-wal", 32 + n * FRAME, FRAME)
    for n in rng.sample(range(frames), 6):
        yield f"bit of frame {n}", killed, lambda db, n=n: flip(f"{db}-wal", 32 + n * FRAME + rng.randrange(FRAME))
    for part in (0.1, 0.5, 0.99):
        yield f"log cut to {part}", killed, lambda db, part=part: os.truncate(f"{db}-wal", int(log * part))
    yield "last byte of the log gone", killed, lambda db: os.truncate(f"{db}-wal", log - 1)
    yield "no log", killed, lambda db: os.remove(f"{db}-wal")
    yield "empty log", killed, lambda db: os.truncate(f"{db}-wal", 0)
    yield "head of the log", killed, lambda db: zero(f"{db}-wal", 0, 32)
    yield "salt of the log", killed, lambda db: flip(f"{db}-wal", 17)
    yield "older file below the log", killed, lambda db: shutil.copy(old, db)
    for n in rng.sample(full, 3):
        yield f"page {n} below the log, which lacks it", killed, lambda db, n=n: below(db, n)


def below(db, n):
    """Zeroes the page of the file, and deletes the WAL: either is reported."""
    zero(db, n * PAGE, PAGE)
    os.remove(f"{db}-wal")


@pytest.mark.long
@pytest.mark.once
def test_a_store_damaged_in_fifty_ways_is_told_each_time(build, environ, left, tmp_path, full):
    told = silent = 0
    missed = []
    for seed in range(5 if full else 1):
        rng = random.Random(seed)
        for name, files, do in damages(rng, *left):
            db = copy(ENDS, files, tmp_path / "damaged")
            do(db)
            out = look(build, environ, db)
            told += out
            silent += not out
            if not out:
                missed.append((seed, name))
    print(f"{told} of {told + silent} told")
    assert told + silent >= 50 and missed == []


def look(build, environ, db):
    """Starts and stops it: does it refuse the file by name, or report that the store has changed since?"""
    log = db.parent / "log"
    with open(log, "w") as errors:
        process = subprocess.Popen([str(build / "assay-controller"), "--listen", "127.0.0.1:0", "--db", str(db)], env=environ,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = process.stdout.readline()
        if line:
            process.terminate()
        process.stdout.close()
        status = process.wait(60)
    text = log.read_text()
    if not line:
        assert status == 2 and str(db) in text.splitlines()[-1] and text.count("\n") <= 3, (status, text)
        return True
    assert status == 0, (status, text)
    return "differ from what was written" in text or "is missing" in text or "-sums:" in text


def test_a_store_that_is_as_it_was_left_says_nothing(controller, left, tmp_path):
    for files in left:
        c = controller(db=copy(ENDS, files, tmp_path / "good"))
        m = c.metrics()
        assert m["assay_store_damaged_pages"] == m["assay_store_lost_commits"] == m["assay_store_unsure"] == 0
        assert wait_for(lambda: c.metrics()["assay_store_looks_total"] > 0)
        assert c.log() == ""
        c.kill()


def test_what_is_missing_is_counted_and_the_rest_is_served(controller, left):
    db = left[1]
    os.remove(f"{db}-wal")
    c = controller(db=db)
    m = c.metrics()
    assert m["assay_store_lost_reports"] == HOSTS * REPORTS and m["assay_store_lost_commits"] >= HOSTS * REPORTS
    assert f"with {HOSTS * REPORTS} reports" in c.log()
    assert c.get("/healthz").status == 200 and c.get("/v1/nodes/gpu-1").json["seq"] == 2 * REPORTS
    assert c.post(report("gpu-1", seq=1 + 3 * REPORTS)).status == 202


def test_a_store_of_before_there_were_sums_says_nothing(controller, tmp_path):
    c = controller()
    fill(c, 1, 2)
    assert c.stop()[0] == 0
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        db.executescript("DROP TABLE investigations; DROP TABLE jobs; DROP TABLE trace_windows; DROP TABLE trace_parts; DROP TABLE placements; DROP TABLE placement_hosts;"
                         "DROP TABLE predictions; DROP TABLE advices; DROP TABLE join_tokens; DROP TABLE joined; DROP TABLE alerts; DROP TABLE part_names; DROP TABLE sessions; ALTER TABLE incidents DROP COLUMN parts;"
                         "DROP TABLE seal; DROP INDEX incidents_of_node; ALTER TABLE items DROP COLUMN facts;"
                         "UPDATE actions SET evidence = '{}'; PRAGMA user_version = 9")
    os.remove(f"{c.db}-sums")
    c = controller()
    assert c.log().count("\n") == 1 and "from version 9" in c.log() and c.metrics()["assay_store_unsure"] == 0
    assert c.stop()[0] == 0
    assert controller().log() == ""
