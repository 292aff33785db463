# SPDX-License-Identifier: Apache-2.0
"""The store's file: versions, files that are not a store, and write errors."""
import contextlib
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from waiting import wait_for

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/bench"))
import store_days  # noqa: E402

VERSION_1 = TREE / "tests/fixtures/store-1.sql"
NEWEST = len(list((TREE / "controller/store/sql").glob("schema-*.sql")))
SINCE_12 = "DROP TABLE investigations; DROP TABLE jobs; DROP TABLE trace_windows; DROP TABLE trace_parts; DROP TABLE placements; DROP TABLE placement_hosts; DROP TABLE predictions; DROP TABLE advices; DROP TABLE join_tokens; DROP TABLE joined; DROP TABLE alerts; DROP TABLE part_names; DROP TABLE sessions; ALTER TABLE incidents DROP COLUMN parts;"


@pytest.fixture
def refused(run, build, tmp_path):
    """refused(db): asserts that the controller does not start on it. Returns the exit status and its message."""
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")

    def start(db):
        out = run("assay-controller", "--listen", "127.0.0.1:0", "--db", db)
        assert out.stdout == "" and out.stderr.count("\n") == 1, out.stderr
        assert str(db) in out.stderr
        return out.returncode, out.stderr

    return start


def make(path, *scripts):
    with contextlib.closing(sqlite3.connect(path)) as db:
        for script in scripts:
            db.executescript(script)
    return path


def ask(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def tables(path):
    """The SQL of its schema, without comments and spaces."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        texts = [row[0] for row in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")]
    return ["".join("".join(line.split("--")[0] for line in text.splitlines()).split()) for text in texts]


def test_version_1_is_as_it_was(tmp_path):
    first = (TREE / "controller/store/sql/schema-1.sql").read_text()
    assert tables(make(tmp_path / "a.db", first)) == tables(make(tmp_path / "b.db", VERSION_1.read_text())), \
        "controller/store/sql/schema-1.sql may not change: write the next step"


def test_a_store_of_version_1_is_brought_to_the_newest(controller, tmp_path):
    db = make(tmp_path / "assay.db", VERSION_1.read_text())
    before = ask(db, "SELECT id, boot, seq, node, seen_us, verdict, body FROM reports")
    sick_since = ask(db, "SELECT min(since_us) FROM windows WHERE node = 'gpu-2'")[0][0]
    c = controller(db=db)
    assert [n["node"] for n in c.get("/v1/nodes").json["items"]] == ["gpu-1", "gpu-2"]
    assert c.get("/v1/incidents").json["items"][0]["node"] == "gpu-2"
    assert c.post(report("gpu-1", seq=3)).status == 200, "a report of version 1 is a duplicate in version 2"
    assert c.post(report("gpu-3")).status == 202
    assert c.stop()[0] == 0
    assert ask(db, "PRAGMA user_version") == [(NEWEST,)]
    assert ask(db, "SELECT id, boot, seq, node, seen_us, verdict, body FROM reports WHERE id <= 7") == before
    assert ask(db, "SELECT since_us FROM incidents") == [(sick_since,)]
    assert ask(db, "SELECT count(*) FROM boots b WHERE first_us != (SELECT min(seen_us) FROM reports"
                   " WHERE boot = b.id)") == [(0,)]


def test_an_old_store_and_a_new_one_end_up_the_same(controller, tmp_path):
    old = make(tmp_path / "old.db", VERSION_1.read_text())
    for db in (old, tmp_path / "new.db"):
        assert controller(db=db).stop()[0] == 0
    assert tables(old) == tables(tmp_path / "new.db")


def test_a_step_that_fails_leaves_the_version_before(controller, refused, tmp_path):
    # The last change of the step to version 2 exists already.
    db = make(tmp_path / "assay.db", VERSION_1.read_text(), "CREATE TABLE marks (x)")
    before = tables(db), ask(db, "SELECT * FROM incidents")
    status, line = refused(db)
    assert status == 1 and "to version 2" in line
    assert (tables(db), ask(db, "SELECT * FROM incidents")) == before
    assert ask(db, "PRAGMA user_version") == [(1,)]
    make(db, "DROP TABLE marks")
    assert controller(db=db).stop()[0] == 0
    assert ask(db, "PRAGMA user_version") == [(NEWEST,)]


def version_11(path, rows):
    """A store of version 11 with these (evidence, done) of actions."""
    steps = [(TREE / f"controller/store/sql/schema-{i}.sql").read_text() for i in range(1, 12)]
    make(path, *steps, "PRAGMA user_version = 11")
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for evidence, done in rows:
            db.execute("INSERT INTO actions (node, kind, state, who, rule, reason, evidence, break_glass, until_us, epoch, decided_us, done_us)"
                       " VALUES ('gpu-1', 0, ?, 'automatic', 'r', 'it is bad', ?, 0, 0, 1, 1000, ?)", (0 if done is None else 1, evidence, done))
    return path


def test_what_an_action_is_about_comes_over_into_columns(controller, tmp_path):
    whole = {"text": "incident 7", "check": "gemm.rate", "subject": "gpu:3", "partner": "gpu-2", "sticky": True, "decision": 7}
    person = {"sticky": False, "decision": 0}
    odd = {"text": 5, "check": ["x"], "sticky": "yes", "decision": "seven"}
    rows = [(json.dumps(whole), 2000), (json.dumps(person), 2000), ("{}", 2000), (json.dumps(odd), 2000), ("not { JSON", 2000)]
    db = version_11(tmp_path / "assay.db", rows)
    c = controller(db=db)
    items = c.get("/v1/actions").json["items"]
    assert [a["evidence"] for a in reversed(items)] == [whole, person, {}, {}, {"text": "not { JSON"}]
    assert [a["id"] for a in items] == ["5", "4", "3", "2", "1"]
    assert c.log().count("do not say which finding or decision") == 1 and "1 earlier actions" in c.log()
    assert c.stop()[0] == 0
    assert ask(db, "SELECT finding_check, finding_subject, partner, sticky, decision FROM actions WHERE id = 1") == [("gemm.rate", "gpu:3", "gpu-2", 1, 7)]
    assert not (tmp_path / f"assay.db.before-{NEWEST}").exists(), "a store without a report is nothing to go back to"


def test_what_a_store_was_is_kept_beside_it(controller, tmp_path):
    db, copy = make(tmp_path / "assay.db", VERSION_1.read_text()), tmp_path / f"assay.db.before-{NEWEST}"
    before = ask(db, "SELECT * FROM reports")
    c = controller(db=db)
    assert c.log().count(f"from version 1 to {NEWEST}") == 1 and f"{copy}" in c.log()
    assert c.stop()[0] == 0
    assert ask(copy, "PRAGMA user_version") == [(1,)] and ask(copy, "SELECT * FROM reports") == before
    assert not (tmp_path / f"assay.db.before-{NEWEST}.part").exists()
    # An interrupted upgrade continues, and the backup copy stays that of the start.
    make(db, SINCE_12, "PRAGMA user_version = 11; ALTER TABLE actions RENAME TO new; DROP INDEX actions_of_node; DROP INDEX actions_open;",
         "CREATE TABLE actions (id INTEGER PRIMARY KEY, node, kind, state, who, rule, incident, reason, evidence, undo, result, break_glass,"
         " until_us, epoch, decided_us, done_us); DROP TABLE new")
    assert controller(db=db).stop()[0] == 0
    assert ask(copy, "PRAGMA user_version") == [(1,)] and ask(db, "PRAGMA user_version") == [(NEWEST,)]


def spoiled(path, at, size):
    """Overwrites `size` bytes from `at` with zeros."""
    make(path, VERSION_1.read_text())
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(bytes(size))


BROKEN = {
    "newer": (lambda p: make(p, VERSION_1.read_text(), "PRAGMA user_version = 1000"), "version 1000"),
    "other": (lambda p: make(p, "CREATE TABLE bookmarks (url)"), "another program's database"),
    "numbered": (lambda p: make(p, "PRAGMA user_version = 1"), "another program's database"),
    "text": (lambda p: p.write_text("no store at all\n" * 100), "not a store"),
    "header": (lambda p: spoiled(p, 0, 100), "not a store"),
    "tables": (lambda p: spoiled(p, 100, 3000), "corrupt"),
    "cut": (lambda p: (make(p, VERSION_1.read_text()), os.truncate(p, 3 * 4096)), "corrupt"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_used_is_named_and_left_alone(refused, tmp_path, kind):
    spoil, words = BROKEN[kind]
    db = tmp_path / "assay.db"
    spoil(db)
    before = db.read_bytes()
    status, line = refused(db)
    assert status == 2 and words in line
    assert db.read_bytes() == before


def test_the_log_beside_a_file_that_cannot_be_used_is_left_alone(refused, tmp_path):
    db = make(tmp_path / "made.db", VERSION_1.read_text())
    with contextlib.closing(sqlite3.connect(db)) as crashing:
        crashing.execute("PRAGMA journal_mode = WAL")
        crashing.execute("PRAGMA user_version = 1000")
        for end in ("", "-wal"):  # as it is while somebody has it open
            shutil.copy(f"{db}{end}", tmp_path / f"assay.db{end}")
    left = [tmp_path / "assay.db", tmp_path / "assay.db-wal"]
    before = [f.read_bytes() for f in left]
    assert all(before)
    status, line = refused(left[0])
    assert status == 2 and "version 1000" in line
    assert [f.read_bytes() for f in left] == before


@pytest.fixture
def mounted(tmp_path):
    """mounted(options) mounts a tmpfs and unmounts it at the end."""
    places = []

    def mount(options):
        if os.geteuid() != 0:
            pytest.skip("mounting a file system of its own needs root")
        place = tmp_path / f"disk-{len(places)}"
        place.mkdir()
        out = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, text=True)
        if out.returncode != 0:
            pytest.skip(f"a tmpfs cannot be mounted here: {out.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # the controller may still use it


def remount(place, options):
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def test_a_disk_that_is_read_only_is_refused_by_name(refused, mounted):
    place = mounted("size=8m")
    db = make(place / "assay.db", VERSION_1.read_text())
    before = db.read_bytes()
    remount(place, "ro")
    try:
        status, line = refused(db)
        assert status == 2 and "cannot be written" in line
        status, line = refused(place / "new.db")
        assert status == 2 and "Read-only" in line
    finally:
        remount(place, "rw")
    assert db.read_bytes() == before
    assert not (place / "new.db").exists()


@pytest.mark.parametrize("text, words", [
    ("keep: 30d", "keep"),
    ("keep: {pass: {all: 1d, hourly: 12h}}", "keep.pass: expected all <= hourly"),
    ("keep: {pass: {all: 1m}}", "keep.pass: all: expected at least 1h"),
    ("keep: {pass: {weekly: 60d}}", "keep.pass.weekly"),
    ("keep: {pass: {daily: 100d}}", "keep: bad: expected each period to be at least that of pass"),
    ("keep: {nodes: 1h}", "keep: nodes: expected at least 1d"),
    ("keep: {incidents: 5}", "keep.incidents"),
    ("db-max: 12", "db-max"),
    ("db-max: 1GB", "db-max"),
])
def test_bad_times_name_the_place(run, build, tmp_path, text, words):
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    path = tmp_path / "controller.yaml"
    path.write_text(f"v: 1\n{text}\n")
    out = run("assay-controller", "--config", path, "--check")
    assert out.returncode == 2
    assert words in out.stderr and out.stderr.count("\n") == 1


def test_times_may_be_partly_given(run, build, tmp_path):
    path = tmp_path / "controller.yaml"
    path.write_text("v: 1\nkeep: {pass: {all: 2d}, nodes: 30d}\ndb-max: 20000000000\n")
    assert run("assay-controller", "--config", path, "--check").returncode == 0


FILL = 200  # more reports than fit on a small disk


def fill(c, first, samples):
    """Sends reports until one is refused. Returns how many were accepted, and the refusal or None."""
    for i in range(FILL):
        answer = c.post(report(seq=first + i, samples=samples))
        if answer.status != 202:
            return i, answer
    return FILL, None


def large():
    """Samples that compress badly."""
    chance = random.Random(1)
    return [sample("gemm.rate", f"cpu:{i}", chance.uniform(69e9, 71e9), w=[chance.uniform(69e9, 71e9) for _ in range(32)])
            for i in range(400)]


def test_a_full_disk_refuses_reports_and_loses_none(controller, mounted):
    place = mounted("size=2m")
    c = controller(db=place / "assay.db")
    samples = large()
    accepted, refusal = fill(c, 1, samples)
    assert refusal is not None, "the disk was not full after all"
    assert accepted > 3
    assert refusal.status == 503 and int(refusal.headers["Retry-After"]) > 0
    for _ in range(3):
        assert c.post(report(seq=accepted + 1, samples=samples)).status == 503
    # It stays up, logs it once, and everything can be read.
    m = c.metrics()
    assert m["assay_store_failing"] == 1 and m["assay_reports_total"] == accepted
    assert c.get("/readyz").status == 200
    assert c.get("/v1/nodes/gpu-1").json["seq"] == accepted
    assert len(c.get("/v1/nodes/gpu-1/verdicts?limit=1000").json["items"]) == accepted
    assert len(c.get("/v1/nodes/gpu-1/samples?limit=1000").json["items"]) == len(samples)
    assert c.log().count("reports are refused until it can be written") == 1
    # When there is space again it recovers by itself; the refused report is accepted as new.
    remount(place, "size=30m")
    assert c.post(report(seq=accepted + 1, samples=samples)).status == 202
    later = iter(range(accepted + 2, accepted + 10000))
    assert wait_for(lambda: c.post(report(seq=next(later))).status == 202 and "reports are accepted" in c.log(), 60)
    assert c.metrics()["assay_store_failing"] == 0
    assert c.log().count("\n") == 2, c.log()
    last = next(later)
    # After a crash exactly the acknowledged reports are there.
    c.kill()
    c = controller(db=place / "assay.db")
    assert [c.post(report(seq=seq)).status for seq in range(1, accepted + 2)] == [200] * (accepted + 1)
    assert c.post(report(seq=last, samples=samples)).status == 202


def test_a_crash_on_a_full_disk_keeps_what_was_acknowledged(controller, mounted):
    place = mounted("size=2m")
    c = controller(db=place / "assay.db")
    samples = large()
    accepted, refusal = fill(c, 1, samples)
    assert refusal is not None
    c.kill()
    # Still full: it starts, can be read, and refuses reports.
    c = controller(db=place / "assay.db")
    assert c.get("/v1/nodes/gpu-1").json["seq"] == accepted
    assert [c.post(report(seq=seq)).status for seq in range(1, accepted + 1)] == [200] * accepted
    remount(place, "size=30m")
    assert c.post(report(seq=accepted + 1, samples=samples)).status == 202


def test_a_limit_of_the_file_size_is_a_full_disk(controller, tmp_path):
    c = controller()
    resource.prlimit(c.process.pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    accepted, refusal = fill(c, 1, large())
    assert refusal is not None and refusal.status == 503
    resource.prlimit(c.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert c.post(report(seq=accepted + 1)).status == 202
    assert c.stop()[0] == 0
    assert ask(c.db, "SELECT count(*), max(seq) FROM reports") == [(accepted + 1, accepted + 1)]


@pytest.fixture
def breaking(tmp_path):
    """A file system that break_it() makes read-only while in use; again() remounts it as after a reboot."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system of its own needs root")
    image, place = tmp_path / "disk.img", tmp_path / "disk"
    place.mkdir()
    with open(image, "wb") as f:
        f.truncate(24 << 20)
    out = subprocess.run(f"mkfs.ext4 -q {image} && mount -o loop {image} {place}", shell=True, capture_output=True, text=True)
    if out.returncode != 0:
        pytest.skip(f"an ext4 of its own cannot be mounted here: {out.stderr.strip()}")

    class Disk:
        path = place

        @staticmethod
        def break_it():
            remount(place, "abort")

        @staticmethod
        def again():
            subprocess.run(["umount", str(place)], check=True)
            subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)

    yield Disk
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_disk_that_turns_read_only_is_survived(breaking, controller):
    db = breaking.path / "assay.db"
    c = controller(db=db)
    assert c.post(report(seq=1)).status == 202
    breaking.break_it()
    for _ in range(3):
        assert c.post(report(seq=2)).status == 503
    assert c.get("/v1/nodes/gpu-1").json["seq"] == 1
    assert c.log().count("reports are refused") == 1
    c.kill()
    breaking.again()
    c = controller(db=db)
    assert c.post(report(seq=1)).status == 200
    assert c.post(report(seq=2)).status == 202


def test_a_round_leaves_what_is_said_to_be_left(controller, tmp_path):
    """The restart bench generates its store by this rule; here the controller thins the same days itself."""
    fleet = store_days.Fleet(2, 31, sick=2)
    wanted = [(number, seq, left == store_days.WHOLE) for number, seq, _, left in fleet.reports()]
    db = tmp_path / "days.db"
    fleet.everything = True
    store_days.build(db, fleet, [b"body"])
    assert ask(db, "SELECT count(*) FROM reports") == [(2 * 31 * 96,)]
    c = controller(db=db)
    assert wait_for(lambda: c.metrics()["assay_thinning_rounds_total"] >= 1, 120)
    m = c.metrics()
    assert c.stop()[0] == 0
    left = ask(db, "SELECT node - 1, seq, body IS NOT NULL FROM reports ORDER BY id")
    assert [(number, seq, bool(body)) for number, seq, body in left] == wanted
    assert m["assay_reports_thinned_total"] == 2 * 31 * 96 - len(wanted)
    assert ask(db, "SELECT count(*) FROM items") == ask(db, "SELECT count(*) FROM reports WHERE verdict = 2")


def test_what_the_fleet_has_taught_survives_a_restart(controller):
    c = controller()
    for i in range(8):
        assert c.post(report(f"gpu-{i}", samples=[sample(subject=f"cpu:{j}", value=70e9 + i * 1e8) for j in range(4)])).status == 202
    taught = c.get("/v1/baselines").json
    assert [b["hosts"] for b in taught["items"]] == [8]
    assert c.stop()[0] == 0
    c = controller()
    assert c.get("/v1/baselines").json == taught
    # It recognizes a host born slow at the first report after the restart.
    assert c.post(report("gpu-9", samples=[sample(subject=f"cpu:{j}", value=50e9) for j in range(4)])).status == 202
    assert "8 other hosts" in c.get("/v1/nodes/gpu-9").json["sentence"]


def test_above_its_limit_the_store_keeps_less(controller, tmp_path):
    db = tmp_path / "days.db"
    store_days.build(db, store_days.Fleet(2, 31, sick=100), [bytes(3000)])
    config = tmp_path / "controller.yaml"
    config.write_text("v: 1\ndb-max: 1000000\n")  # 263 reports a host, 125 of them with 3 kB
    before = ask(db, "SELECT count(body) FROM reports")[0][0]
    c = controller("--config", config, db=db)
    assert wait_for(lambda: c.metrics()["assay_store_used_bytes"] < 1000000, 120)
    m = c.metrics()
    assert m["assay_store_max_bytes"] == 1000000
    assert "above db-max" in c.log()
    assert m["assay_reports_thinned_total"] > 0 and m["assay_store_failing"] == 0
    assert c.post(report("gpu-new")).status == 202
    assert c.stop()[0] == 0
    assert ask(db, "SELECT count(body) FROM reports")[0][0] < before
    assert ask(db, "SELECT count(*) FROM runs r JOIN reports p ON p.id = r.report WHERE p.body IS NOT NULL") == [(3,)]


@pytest.mark.once
def test_the_restart_bench_is_well(build, tmp_path):
    """A small one: the store has what it reports, and a controller starts on it."""
    if not (build / "assay-controller").exists():
        pytest.skip("assay-controller is not built: libsystemd, SQLite or libmicrohttpd is missing")
    out = subprocess.run([sys.executable, str(TREE / "tests/bench/bench_restart.py"), str(build), "--nodes", "20", "--days",
                          "2", "--runs", "1", "--limit", "60"], env={**os.environ, "ASSAY_BENCH_DIR": str(tmp_path)},
                         capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    said = json.loads(out.stdout)
    assert said["ok"] and said["cold"]["status"] == said["warm"]["status"] == 200
    assert 0 < said["cold"]["ready_s"] and said["bytes_per_node"] > 96 * 1000
    assert said["round"]["during"]["reports"] > 0
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"


def test_the_store_is_not_for_everybody_on_its_host(build, controller, tmp_path):
    """With any umask, and also for an existing store."""
    db = tmp_path / "assay.db"
    before = os.umask(0)
    try:
        c = controller()
        assert c.post(report("gpu-1")).status == 202
        files = sorted(path.name for path in tmp_path.glob("assay.db*"))
        assert len(files) > 1 and {oct((tmp_path / name).stat().st_mode & 0o777) for name in files} == {"0o640"}, files
        assert c.stop()[0] == 0
        db.chmod(0o644)
        c = controller()
        assert db.stat().st_mode & 0o777 == 0o640 and c.get("/v1/nodes").json["items"][0]["node"] == "gpu-1"
    finally:
        os.umask(before)
