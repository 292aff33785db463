# SPDX-License-Identifier: Apache-2.0
"""A host's report about a hung job: real processes that are stopped, spin or wait; the order `look`; which processes are left out."""
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from controller_stub import Answer
from waiting import wait_for

CANARY = "canary-51f0c6e2a9"
JOB = "research/llm-7"
HANG_CHILD_WALL_S = 20  # agents/assayd/hang_child.h
SLEEPS = "import time\ntime.sleep(600)\n"
SPINS = "while True: pass\n"
# The main thread waits for a lock held by another thread, which waits for ever.
LOCKED = """
import threading, time
lock = threading.Lock()
taken = threading.Event()
def hold():
    lock.acquire()
    taken.set()
    time.sleep(600)
threading.Thread(target=hold, daemon=True).start()
taken.wait()
lock.acquire()
"""


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "dev" / "infiniband").mkdir(parents=True)
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidia3"):
        (root / "dev" / name).touch()
    (root / "proc" / "sys" / "kernel" / "random").mkdir(parents=True)
    (root / "proc" / "sys" / "kernel" / "random" / "boot_id").write_text("11111111-2222-3333-4444-555555555555\n")
    return root


@pytest.fixture
def rank(tree):
    """rank(3, SPINS) is a process of the job that has a GPU open; all are killed at the end."""
    running = []

    def start(number, program, gpu="nvidia0", **env):
        env = {"RANK": number, "WORLD_SIZE": 4, "ASSAY_JOB": JOB, "SECRET": CANARY, **env}
        held = os.open(tree / "dev" / gpu, os.O_RDONLY)
        process = subprocess.Popen([sys.executable, "-c", program, CANARY], pass_fds=[held], cwd="/",
                                   env={"PATH": os.environ["PATH"], **{k: str(v) for k, v in env.items() if v is not None}})
        os.close(held)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def told(stub):
    """The documents received, in order."""
    came = []

    def on_hang(path, body):
        came.append((path, body))
        return Answer(told.status)

    def told():
        return [json.loads(body) for _, body in came]

    told.came = came
    told.status = 204
    stub.on_hang = on_hang
    return told


def order(stub, number, job=JOB, seconds=60):
    """The order `look`, issued now."""
    def stamp(at):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))

    with stub.lock:
        stub.orders.append({"id": f"look-{number}", "kind": "look", "job": job, "now": stamp(time.time()),
                            "deadline": stamp(time.time() + seconds)})


def states(document):
    return {r["rank"]: r["process"]["state"] for r in document["ranks"]}


def test_what_each_rank_does_is_told_when_it_is_asked_for(assayd, stub, told, rank, tree, tmp_path):
    stopped, spins, _, ends = rank(0, SLEEPS), rank(1, SPINS, "nvidia1"), rank(2, LOCKED, "nvidia2"), rank(3, SLEEPS, "nvidia3")
    rank(7, SLEEPS, ASSAY_JOB="other/job")
    rank(8, SLEEPS, ASSAY_JOB=None)   # of no job
    rank(None, SLEEPS)                # without a rank
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    stopped.send_signal(signal.SIGSTOP)
    assert wait_for(lambda: stub.times_held), daemon.log()
    order(stub, 1)
    assert wait_for(lambda: told()), daemon.log()
    (path, body), document = told.came[0], told()[0]
    assert path == f"/v1/nodes/{NODE}/hang"
    assert {k: document[k] for k in ("format", "node", "boot_id", "job", "run", "world")} == {
        "format": "assay-hang/1", "node": NODE, "boot_id": "11111111-2222-3333-4444-555555555555", "job": JOB, "run": 1, "world": 4}
    assert states(document) == {0: "stopped", 1: "spinning", 2: "futex", 3: "sleeping"}, document
    by_rank = {r["rank"]: r for r in document["ranks"]}
    assert [by_rank[i]["gpu"] for i in range(4)] == ["gpu 0", "gpu 1", "gpu 2", "gpu 3"]
    assert by_rank[0]["pid"] == stopped.pid and by_rank[0]["process"]["for_s"] >= 0
    assert by_rank[2]["process"]["syscall"] == "futex"
    assert all("process" in r["sources"] for r in document["ranks"])
    assert CANARY.encode() not in body and b"time.sleep" not in body
    assert json.loads((tmp_path / "run" / "hang.json").read_text()) == document
    # It continues until the deadline, and notices changes.
    stopped.send_signal(signal.SIGCONT)
    ends.kill()
    assert wait_for(lambda: len(told()) > 1 and states(told()[-1])[0] == "sleeping"), (daemon.log(), told()[-1])
    assert states(told()[-1])[3] == "zombie"
    ends.wait()
    assert wait_for(lambda: states(told()[-1])[3] == "gone"), told()[-1]
    assert spins.poll() is None
    assert all(document["job"] == JOB for document in told())


def test_what_is_found_in_logs_of_the_job_is_told_with_it(assayd, config, stub, told, rank, tree, tmp_path, top):
    logs = tmp_path / "logs"
    logs.mkdir()
    config(traces={"logs": str(logs / "*.log")})
    rank(0, SLEEPS)
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree), "ASSAY_POLICY_DIR": str(top / "policies")})
    assert wait_for(lambda: stub.times_held), daemon.log()
    (logs / "rank0.log").write_text(f"{CANARY} CUDA out of memory\n")  # its owner is the user of the rank
    assert wait_for(lambda: "pattern=cuda-out-of-memory" in daemon.log()), daemon.log()
    order(stub, 1)
    assert wait_for(lambda: told()), daemon.log()
    (found,) = told()[0]["logs"]
    assert (found["pattern"], found["count"]) == ("cuda-out-of-memory", 1) and 0 <= found["last_s"] < 60
    assert CANARY.encode() not in told.came[0][1]


def test_who_is_not_here_is_not_told_of_and_an_order_is_of_one_job(assayd, stub, told, rank, tree):
    rank(0, SLEEPS)
    rank(7, SLEEPS, ASSAY_JOB="other/job", ASSAY_RUN=3)
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    order(stub, 1, "research/elsewhere")
    assert wait_for(lambda: "asked about a job that has no rank here" in daemon.log()), daemon.log()
    order(stub, 2, "other/job")
    assert wait_for(told), daemon.log()
    assert [(d["job"], d["run"], list(states(d))) for d in told()] == [("other/job", 3, [7])]


def test_orders_that_are_none_are_declined(assayd, stub, told, rank, tree):
    rank(0, SLEEPS)
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    with stub.lock:
        stub.orders += [{"id": "a", "kind": "look"}, {"id": "b", "kind": "look", "job": "x" * 300},
                        {"id": "c", "kind": "look", "job": JOB, "deadline": "2020-01-01T00:00:00Z"}]
    assert wait_for(lambda: daemon.log().count("order declined") == 3), daemon.log()
    assert told() == []


@pytest.mark.long
@pytest.mark.once
def test_ten_orders_make_no_more_documents_than_one(assayd, stub, told, rank, tree):
    rank(0, SLEEPS)
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    times = []
    on_hang = stub.on_hang
    stub.on_hang = lambda *given: (times.append(time.monotonic()), on_hang(*given))[1]
    for i in range(10):
        order(stub, i)
        assert wait_for(lambda n=i: daemon.log().count("asked where the ranks") > n), daemon.log()
    assert wait_for(lambda: len(times) >= 3), daemon.log()
    # Each is made 15 s after the previous one, and takes less than 10 s to arrive.
    assert all(b - a > 5 for a, b in zip(times, times[1:])), times


def test_an_older_controller_is_asked_once(assayd, stub, told, rank, tree):
    rank(0, SLEEPS)
    told.status = 404
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    order(stub, 1, seconds=1)
    assert wait_for(lambda: "cannot report where the ranks of a job are" in daemon.log()), daemon.log()
    order(stub, 2, seconds=1)
    assert wait_for(lambda: daemon.log().count("asked where the ranks") == 2), daemon.log()
    order(stub, 3, "research/elsewhere")
    assert wait_for(lambda: "asked about a job that has no rank here" in daemon.log()), daemon.log()
    assert len(told()) == 1


@pytest.mark.long
@pytest.mark.once
def test_a_rank_that_stands_for_a_minute_is_told_without_being_asked_until_it_goes_on(assayd, told, rank, tree):
    process, other = rank(0, SLEEPS), rank(1, SLEEPS, "nvidia1")
    process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    assert wait_for(told, 180), daemon.log()
    assert time.monotonic() - begun > 60
    document = told()[0]
    assert states(document) == {0: "stopped", 1: "sleeping"}
    assert document["ranks"][0]["process"]["for_s"] > 60
    assert other.poll() is None


# --- dumps of the flight recorder ---

def recorded(rank, enqueued, completed):
    """A rank's flight recorder dump: it waits in an all-reduce of the default group."""
    entry = {"record_id": 0, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": enqueued, "p2p_seq_id": 0, "op_id": enqueued,
             "profiling_name": "nccl:all_reduce", "time_created_ns": 1, "input_sizes": [[1024]], "input_dtypes": ["Float"],
             "output_sizes": [[1024]], "output_dtypes": ["Float"], "state": "scheduled", "time_discovered_started_ns": None,
             "time_discovered_completed_ns": None, "retired": False, "timeout_ms": 600000, "is_p2p": False,
             "frames": [{"name": CANARY, "filename": "/x.py", "line": 3}]}
    return {"version": "2.9", "nccl_version": "2.27.3", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
            "pg_status": {"0": {"last_enqueued_collective": enqueued, "last_started_collective": -1, "last_completed_collective": completed}},
            "entries": [entry] if enqueued > completed else [], "rank": rank}


@pytest.fixture
def dump(tmp_path, config):
    """dump(3, 411, 410) writes the file of rank 3, as its process would."""
    (tmp_path / "dumps").mkdir()
    config(hang={"dumps": [str(tmp_path / "dumps" / "rank_")]})

    def put(rank, enqueued, completed, data=None):
        path = tmp_path / "dumps" / f"rank_{rank}"
        path.write_bytes(pickle.dumps(recorded(rank, enqueued, completed), 2) if data is None else data)
        return path

    return put


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("only root may become the owner of a dump")


@pytest.mark.once  # the sanitizers need more memory than the reader of a dump is allowed
def test_dumps_at_hand_are_read_as_their_owner_and_only_those_of_its_ranks(assayd, stub, told, rank, dump, tree, tmp_path):
    needs_root()
    for number in range(4):
        rank(number, SLEEPS, f"nvidia{number}")
    # Older than the run: from another run. Rank 1 has another user's file, rank 2 a link, rank 3 a pickle that would run a program.
    os.utime(dump(0, 5, 5), (0, 0))
    os.chown(dump(1, 411, 410), 12345, 12345)
    dump(9, 411, 410).rename(tmp_path / "target")
    (tmp_path / "dumps" / "rank_2").symlink_to(tmp_path / "target")
    ran = tmp_path / "ran"
    dump(3, 0, 0, b"\x80\x02cposix\nsystem\n" + pickle.dumps(f"touch {ran}", 0)[:-1] + b"\x85R.")
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    order(stub, 1, seconds=1)
    assert wait_for(told), daemon.log()
    document = told()[0]
    assert all("flight-recorder" not in r["sources"] and not r.get("positions") for r in document["ranks"])
    missing = "\n".join(document["missing"])
    assert "rank 1: flight recorder: " in missing and "is not owned by the user" in missing
    assert "rank 2: flight recorder: " in missing and "symbolic link" in missing
    assert "rank 3: flight recorder: " in missing and "GLOBAL" in missing
    assert "rank 0" not in missing
    assert not ran.exists()
    (tmp_path / "dumps" / "rank_2").unlink()
    for number in range(4):
        (tmp_path / "dumps" / f"rank_{number}").unlink(missing_ok=True)
        dump(number, 411 - (number == 3), 410)
    order(stub, 2)
    assert wait_for(lambda: any("flight-recorder" in r["sources"] for r in told()[-1]["ranks"])), (daemon.log(), told()[-1])
    document = told()[-1]
    assert document["missing"] == []
    (group,) = document["groups"]
    assert group["name"] == "0" and group["ranks"] == [0, 1, 2, 3]
    for r in document["ranks"]:
        assert r["sources"] == ["process", "flight-recorder"]
        (position,) = r["positions"]
        assert (position["enqueued"], position["completed"]) == (410 if r["rank"] == 3 else 411, 410)
        assert len(r.get("ops", [])) == (r["rank"] != 3)
    assert all(CANARY.encode() not in body for _, body in told.came)


@pytest.mark.once
def test_a_new_dump_is_told_of_without_being_asked(assayd, told, rank, dump, tree):
    needs_root()
    rank(0, SLEEPS)
    daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
    dump(0, 411, 410)
    assert wait_for(told, 150), daemon.log()
    assert [r["sources"] for r in told()[0]["ranks"]] == [["process", "flight-recorder"]]


# --- what does not answer ---

@pytest.mark.once
def test_a_file_system_that_does_not_answer_keeps_assayd_from_nothing(assayd, stub, told, rank, tree, tmp_path, config):
    """A dead file system in the place of the dumps, in its own mount namespace: FUSE whose server never answers."""
    needs_root()
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    dead = tmp_path / "dead"
    dead.mkdir()
    fuse = os.open("/dev/fuse", os.O_RDWR)
    made = subprocess.run(["mount", "-i", "-t", "fuse", "-o", f"fd={fuse},rootmode=40000,user_id=0,group_id=0", "dead", dead],
                          pass_fds=[fuse], capture_output=True, text=True)
    if made.returncode:
        os.close(fuse)
        pytest.skip(f"cannot mount: {made.stderr}")
    try:
        config(hang={"dumps": [f"{dead}/rank_"]})
        rank(0, SLEEPS)
        daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
        order(stub, 1, seconds=1)
        assert wait_for(lambda: stub.times_held >= 2, 60), daemon.log()  # it asks for orders while it waits
        assert wait_for(told, 90), daemon.log()
        assert states(told()[0])[0] == "sleeping"
        # assayd also looks on its own, without reporting; while that look waits, an ordered one reports that it has not ended.
        for number in range(2, 8):
            if wait_for(lambda: any("did not answer" in "".join(look["missing"]) for look in told()), HANG_CHILD_WALL_S):
                break
            order(stub, number, seconds=1)
        else:
            pytest.fail(f"nobody was told that the file system does not answer: {[look['missing'] for look in told()]}")
    finally:
        subprocess.run(["umount", "-l", dead], check=True)
        os.close(fuse)


# --- what touches the job, where it is switched on ---

@pytest.mark.long
@pytest.mark.once
def test_py_spy_looks_only_where_it_is_on_and_only_at_what_has_stood_for_long(assayd, stub, told, rank, tree, tmp_path, config):
    needs_root()
    calls = tmp_path / "calls"
    # assayd runs a program only from a place where only root could have put it.
    private = tempfile.mkdtemp(prefix="assay-spy-", dir="/root")
    spy = os.path.join(private, "py-spy")
    stack = [{"pid": 1, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": None, "active": False, "owns_gil": False,
              "frames": [{"name": "next", "filename": "/x/loader.py", "module": None, "short_filename": "loader.py", "line": 31, "locals": None}]}]
    with open(spy, "w", encoding="ascii") as script:
        script.write(f"#!/bin/sh\necho \"$@\" >>{calls}\nsed 's/\"os_thread_id\": null/\"os_thread_id\": '\"$5\"'/;s/\"pid\": 1,/\"pid\": '\"$5\"',/' "
                     f"<<'END'\n{json.dumps(stack)}\nEND\n")
    os.chmod(spy, 0o755)
    try:
        config(hang={"pyspy": "on", "pyspy_path": spy})
        still, works = rank(0, SLEEPS), rank(1, "import time\nwhile True:\n    for i in range(100000): pass\n    time.sleep(0.001)\n", "nvidia1")
        still.send_signal(signal.SIGSTOP)
        daemon = assayd(env={"ASSAY_SYSROOT": str(tree)})
        order(stub, 1, seconds=150)
        assert wait_for(told), daemon.log()
        assert not calls.exists()  # no rank has been still for long yet
        assert wait_for(lambda: "stack" in told()[-1]["ranks"][0]["sources"], 120), (daemon.log(), told()[-1])
        ranks = told()[-1]["ranks"]
        assert ranks[0]["process"]["where"] == "next (loader.py:31)"
        assert "stack" not in ranks[1]["sources"] and "where" not in ranks[1]["process"]
        assert str(works.pid) not in calls.read_text().split()
        assert "--nonblocking" in calls.read_text()
    finally:
        shutil.rmtree(private)
